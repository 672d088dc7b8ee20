import type { TimedEvent } from "#shared/recording/events.ts";
import type { Act } from "./happenings.ts";
import { actAt } from "./moment.ts";

/** Stands in the address for the moment at which a run failed: who makes the link need not know when that was. */
export const FAILURE = "failure";

/**
 * The moment at which a run failed: where the last act that failed was over, else the last error of the page, else the
 * end. A page can break without the run minding, so that its errors come second.
 */
export function failureMs(
  events: readonly TimedEvent[],
  acts: readonly Act[],
  whole_ms: number,
): number {
  const act = acts.findLast(({ failed }) => failed);
  // Another act that had begun by its end would be shown in its place.
  if (act) return actAt(acts, act.at_ms) === act ? act.at_ms : act.from_ms;
  return events.findLast(({ type }) => type === "error")?.at_ms ?? whole_ms;
}
