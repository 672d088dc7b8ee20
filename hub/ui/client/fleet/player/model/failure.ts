import type { TimedEvent } from "#shared/recording/events.ts";
import type { Act } from "./happenings.ts";
import { actAt } from "./moment.ts";

/** Stands in the address for the moment at which a run failed: who makes the link need not know when that was. */
export const FAILURE = "failure";

/** Of an act that failed: where it was over. Another act that had begun by then would be shown in its place. */
const momentOf = (acts: readonly Act[], act: Act): number =>
  actAt(acts, act.at_ms) === act ? act.at_ms : act.from_ms;

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
  if (act) return momentOf(acts, act);
  return events.findLast(({ type }) => type === "error")?.at_ms ?? whole_ms;
}

/** Every error, in the order of time: acts that failed, and errors of the page that nothing caught. */
export function errorMoments(events: readonly TimedEvent[], acts: readonly Act[]): number[] {
  const failed = acts.filter(({ failed }) => failed).map((act) => momentOf(acts, act));
  const thrown = events.filter(({ type }) => type === "error").map(({ at_ms }) => at_ms);
  return [...failed, ...thrown].sort((a, b) => a - b);
}

/** Nearer errors count as the same one. */
const SAME_MS = 50;

/** The error behind a moment; behind the last one the first. */
export const nextError = (moments: readonly number[], ms: number): number | null =>
  moments.find((at) => at > ms + SAME_MS) ?? moments[0] ?? null;
