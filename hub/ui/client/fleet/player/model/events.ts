import type { TimedEvent } from "#shared/recording/events.ts";

/**
 * From where events of a live recording are read on. Several may have happened in one millisecond, and not all of them need
 * have been there the last time: those of the last one are read again.
 */
export const readOnFrom = (events: readonly TimedEvent[]): number =>
  (events.at(-1)?.at_ms ?? 0) - 1;

/** The events with those after a moment, which replace the ones that were known. */
export function mergeEvents(
  events: readonly TimedEvent[],
  after_ms: number,
  more: readonly TimedEvent[],
): readonly TimedEvent[] {
  const kept = events.filter(({ at_ms }) => at_ms <= after_ms);
  // Nothing new: whatever is made of them stays as it is.
  if (kept.length + more.length === events.length) return events;
  return [...kept, ...more];
}
