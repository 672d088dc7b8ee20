import type { Best } from "#hub/platform/cluster/messages.ts";
import { betterPeer, type Peer } from "#hub/platform/cluster/peers.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { FleetContext } from "../context.ts";
import { assignsNothing } from "./hub-shortage.ts";
import type { CandidateTeller } from "./parts.ts";
import { isCandidate } from "./schedule.ts";
import type { WorkerLink } from "./worker-link.ts";

type CandidateContext = Pick<
  FleetContext,
  "cluster" | "clock" | "links" | "draining" | "disk_room"
>;

/** Changes this close together share one message. */
const COALESCE_MS = 20;
/** How long a job is left to a hub with a better candidate before this one takes it after all. */
export const LEAVE_MS = 250;

const canTake = (link: WorkerLink, now: number): boolean =>
  link.open && isCandidate(link, now) && link.freeCount() > 0;

/** Negative when `a` comes first (rules/scheduling#order-of-candidates). */
const order = (a: Omit<Best, "workers">, b: Omit<Best, "workers">): number =>
  a.in_flight - b.in_flight || b.max_concurrent - a.max_concurrent;

/**
 * The workers of this hub that come first by rules/scheduling#order-of-candidates, and how many tie; null when none can
 * take a job.
 */
function bestCandidate(
  ctx: Pick<FleetContext, "links" | "clock" | "draining" | "disk_room">,
): Best | null {
  const { links, clock } = ctx;
  if (assignsNothing(ctx)) return null;
  const now = clock.monotonic();
  let best: Best | null = null;
  for (const link of links.values()) {
    const before = best ? order(link, best) : -1;
    if (before > 0 || !canTake(link, now)) continue;
    const { in_flight, max_concurrent } = link;
    if (best && before === 0) best.workers += 1;
    else best = { in_flight, max_concurrent, workers: 1 };
  }
  return best;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * The hub, other than those in `lost`, that has a strictly better candidate than this one
 * (rules/scheduling#order-of-candidates).
 */
export function betterHub(ctx: CandidateContext, lost: ReadonlySet<string> = NONE): Peer | null {
  const reached = [...ctx.cluster.peers.values()].filter(({ hub_id }) => !lost.has(hub_id));
  const now = ctx.clock.monotonic();
  // There are few hubs and many workers: usually the first free worker is as good as any other hub's.
  const better = betterPeer(reached, null, now);
  return better?.best && !hasAsGood(ctx, better.best, now) ? better : null;
}

/** Whether a hub to which a job was left still has a strictly better candidate, if it is there at all. */
export function isStillBetter(ctx: CandidateContext, hub_id: string): boolean {
  const best = ctx.cluster.peers.get(hub_id)?.best;
  return best != null && !hasAsGood(ctx, best, ctx.clock.monotonic());
}

function hasAsGood(
  ctx: Pick<FleetContext, "links" | "draining" | "disk_room">,
  best: Best,
  now: number,
): boolean {
  const { links } = ctx;
  if (assignsNothing(ctx)) return false;
  for (const link of links.values()) if (order(link, best) <= 0 && canTake(link, now)) return true;
  return false;
}

export function createCandidateTeller(
  clock: Clock,
  context: () => CandidateContext & Pick<FleetContext, "dispatcher">,
): CandidateTeller {
  const stopped = new AbortController();
  let told = "";
  let soon = false;
  const tell = (always: boolean) => {
    const ctx = context();
    const best = bestCandidate(ctx);
    const text = JSON.stringify(best);
    if (!always && text === told) return;
    told = text;
    ctx.cluster.tell({ type: "candidate", best });
  };
  return {
    changed: () => {
      if (soon || stopped.signal.aborted || context().cluster.peers.size === 0) return;
      soon = true;
      void clock
        .sleep(COALESCE_MS, stopped.signal)
        // A hub that hears of a lane before the job on it is claimed would claim the job itself.
        .then(() => context().dispatcher.exclusive(async () => {}))
        .then(() => {
          soon = false;
          if (!stopped.signal.aborted) tell(false);
        });
    },
    tell: () => {
      if (context().cluster.peers.size > 0) tell(true);
    },
    stop: () => stopped.abort(),
  };
}
