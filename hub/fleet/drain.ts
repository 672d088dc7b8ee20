import type { HubContext } from "../context.ts";

/** How often a stopping hub looks whether anything still runs. */
const LOOK_MS = 100;

/** Lanes that run a job or hold a session open, and jobs that upload without one. */
const inUse = ({ links }: HubContext): number =>
  [...links.values()].reduce((sum, { held, uploading }) => {
    const late = [...uploading.values()].filter((lane) => !lane.done);
    return sum + new Set([...held.values(), ...late]).size;
  }, 0);

/**
 * The hub was asked to stop: it goes on serving everybody, and assigns nothing any more, until nothing runs and no session is
 * open, or SVC_DRAIN_TIMEOUT_S have passed. What is left then is for the next hub (`leaveLink` in `registry.ts`).
 */
export async function drainHub(ctx: HubContext): Promise<void> {
  const { clock, config, log } = ctx;
  const until = clock.monotonic() + config.drain_ms;
  if (inUse(ctx) > 0)
    log.info(
      { in_use: inUse(ctx), drain_ms: config.drain_ms },
      "hub draining; nothing is assigned",
    );
  for (let left = config.drain_ms; inUse(ctx) > 0 && left > 0; left = until - clock.monotonic())
    await clock.sleep(Math.min(LOOK_MS, left));
  if (inUse(ctx) > 0) log.warn({ in_use: inUse(ctx) }, "what still runs is left to the next hub");
}
