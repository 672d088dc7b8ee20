import type { Stopping } from "#shared/protocol/schema/health.ts";
import type { FleetContext } from "../context.ts";

/** How often a stopping hub checks whether anything is still running. */
const LOOK_MS = 100;

/** Lanes that run a job or hold a session open, and jobs that upload without one. */
const inUse = ({ links }: Pick<FleetContext, "links">): number =>
  [...links.values()].reduce((sum, { held, uploading }) => {
    const late = [...uploading.values()].filter((lane) => !lane.done);
    return sum + new Set([...held.values(), ...late]).size;
  }, 0);

/** What a hub that was asked to stop is waiting for; null before it is asked. */
export function stoppingOf(
  ctx: Pick<FleetContext, "draining" | "links" | "sessions" | "clock">,
): Stopping | null {
  const { draining, links, sessions, clock } = ctx;
  if (!draining.aborted) return null;
  const lanes = [...links.values()].flatMap((link) => link.jobLanes());
  const until: unknown = draining.reason;
  const left_ms = typeof until === "number" ? until - clock.monotonic() : 0;
  return {
    jobs: lanes.filter(({ done }) => !done).length,
    sessions: [...sessions.values()].filter(({ kind }) => kind !== "job").length,
    left_s: Math.max(0, Math.ceil(left_ms / 1_000)),
  };
}

/**
 * The hub was asked to stop: it still serves everybody but assigns nothing, until nothing runs and no session is open,
 * or SVC_DRAIN_TIMEOUT_S have passed. The next hub takes what is left then (`leaveLink` in `registry.ts`).
 */
export async function drainHub(
  ctx: Pick<FleetContext, "clock" | "config" | "log" | "changes" | "links">,
  draining: AbortController,
): Promise<void> {
  const { clock, config, log } = ctx;
  const until = clock.monotonic() + config.drain_ms;
  draining.abort(until);
  ctx.changes.touch("health");
  if (inUse(ctx) > 0)
    log.info(
      { in_use: inUse(ctx), drain_ms: config.drain_ms },
      "hub draining; nothing is assigned",
    );
  for (let left = config.drain_ms; inUse(ctx) > 0 && left > 0; left = until - clock.monotonic())
    await clock.sleep(Math.min(LOOK_MS, left));
  if (inUse(ctx) > 0) log.warn({ in_use: inUse(ctx) }, "what still runs is left to the next hub");
}
