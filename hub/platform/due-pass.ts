import type { Clock } from "#shared/kit/clock.ts";

/** What was just written is noticed within this time. */
export const LOOK_EVERY_MS = 5_000;
const LEAST_WAIT_MS = 100;

/**
 * A pass that first waits until something is due, or until it is time to look for what is new; for a loop without a wait.
 * `once` does what is due, and resolves with when the next thing is.
 */
export function createDuePass(
  clock: Clock,
  once: () => Promise<number>,
): (signal: AbortSignal) => Promise<void> {
  let wait_ms = LEAST_WAIT_MS;
  return async (signal) => {
    await clock.sleep(wait_ms, signal);
    if (signal.aborted) return;
    wait_ms = LOOK_EVERY_MS;
    const next = await once();
    wait_ms = Math.max(LEAST_WAIT_MS, Math.min(LOOK_EVERY_MS, next - clock.now()));
  };
}
