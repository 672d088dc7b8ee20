import { MAX_WAITING_SUBMITS } from "#shared/protocol/limits.ts";
import type { FleetContext } from "../context.ts";
import { freeCapacity, freeLane, holdLane } from "../links/lanes.ts";
import type { LaneContext } from "../links/link-contexts.ts";
import type { LanePlace } from "../links/parts.ts";
import type { LaneWanted } from "./hub-session.ts";

/**
 * Waits for a session's lane, at most `wait_ms`; the dispatcher gives it one in turn with the queued jobs.
 * @param since its place among the queued jobs.
 * @returns null when there was none in time, the signal aborted, or too many calls are waiting already.
 */
export async function waitForLane(
  ctx: Pick<FleetContext, "lanes_wanted" | "clock" | "dispatcher">,
  session_id: string,
  worker_id: string | null,
  fits: LaneWanted["fits"],
  wait_ms: number,
  signal: AbortSignal,
  since: number = ctx.clock.now(),
): Promise<LanePlace<null> | null> {
  if (ctx.lanes_wanted.size >= MAX_WAITING_SUBMITS || signal.aborted) return null;
  const given = new AbortController();
  let place: LanePlace<null> | null = null;
  let over = false;
  const wanted: LaneWanted = {
    since,
    session_id,
    worker_id,
    fits,
    take: (offered) => {
      if (over || place) return false;
      place = offered;
      given.abort();
      return true;
    },
  };
  ctx.lanes_wanted.add(wanted);
  try {
    ctx.dispatcher.kick();
    if (wait_ms > 0) await ctx.clock.sleep(wait_ms, AbortSignal.any([given.signal, signal]));
    // The requested pass may not have run yet.
    if (!given.signal.aborted && !signal.aborted) await ctx.dispatcher.exclusive(async () => {});
    return place;
  } finally {
    over = true;
    ctx.lanes_wanted.delete(wanted);
  }
}

/**
 * Gives free lanes to waiting sessions, oldest first. `first` hands lanes to the jobs that were queued before a given
 * time. Runs inside `ctx.dispatcher`.
 */
export async function serveWaiting(
  ctx: LaneContext & Pick<FleetContext, "lanes_wanted" | "signal">,
  first: (created_before: number) => Promise<unknown>,
): Promise<void> {
  for (const wanted of [...ctx.lanes_wanted]) {
    if (freeCapacity(ctx, 1) === 0) return;
    await first(wanted.since);
    if (!ctx.lanes_wanted.has(wanted)) continue;
    const { session_id, worker_id, fits } = wanted;
    const place = await holdLane(ctx, {
      job_id: null,
      session_id,
      only: worker_id,
      ...(fits && { fits }),
    });
    if (!place || wanted.take(place)) continue;
    place.settle();
    await freeLane(ctx, place.link, place.held);
  }
}
