import { attempt, type Shot, stepMs } from "./shot.ts";
import { waitForEvent } from "./wait-for-event.ts";
import { waitForFunction } from "./wait-for-function.ts";

/** Waits for each of the given conditions, one after the other (rules/one-shot-calls#waits). */
export async function waitForAll(shot: Shot): Promise<void> {
  const { call, page, act, left } = shot;
  const { wait_for_seconds, wait_for_function, wait_for_selector, wait_for_event } = call;
  if (wait_for_seconds !== undefined)
    // Playwright does the waiting: the deadline of the whole call ends it.
    await act("wait", { seconds: Math.min(wait_for_seconds, left() / 1_000) });
  if (wait_for_function) {
    const { code, timeout_s } = wait_for_function;
    await attempt(shot, waitForFunction(shot, code, stepMs(shot, timeout_s)));
  }
  if (wait_for_selector) {
    const { selector, state, timeout_s } = wait_for_selector;
    await attempt(shot, act("wait", { selector, state }, stepMs(shot, timeout_s)));
  }
  if (wait_for_event)
    await attempt(shot, waitForEvent(page, stepMs(shot, wait_for_event.timeout_s)));
}
