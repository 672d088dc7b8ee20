import { Cron } from "croner";
import { errorMessage, invalid } from "#shared/kit/errors.ts";

/**
 * Computes when a cron pattern is due; it starts nothing. Times are epoch ms, for local times of `timezone` (this
 * machine's by default).
 */
export interface CronSpec {
  pattern: string;
  timezone?: string;
}

/** Where a caller wrote it. */
type Place = "body" | "query";

/** Means "no further tick" where a time is needed; far beyond every date. */
export const NEVER = 9e15;

const cronOf = ({ pattern, timezone }: CronSpec) => new Cron(pattern, { timezone, paused: true });

/** The first tick after `ms`; NEVER when there is none. @throws what is wrong with the pattern */
export const tickAfter = (spec: CronSpec, ms: number): number =>
  cronOf(spec).nextRun(new Date(ms))?.getTime() ?? NEVER;

/** The next `n` ticks after `ms`; fewer when there are no more. @throws what is wrong with the pattern */
export const ticksAfter = (spec: CronSpec, ms: number, n: number): number[] =>
  cronOf(spec)
    .nextRuns(n, new Date(ms))
    .map((at) => at.getTime());

/** The last tick at or before `ms`; croner's own "previous" leaves `ms` itself out. */
export const tickUpTo = (spec: CronSpec, ms: number): number | null =>
  cronOf(spec)
    .previousRuns(1, new Date(ms + 1))[0]
    ?.getTime() ?? null;

/** @throws AppError invalid naming the field of the zone when there is no such zone */
export function checkZone(zone: string, field: string, place: Place = "body"): void {
  try {
    Intl.DateTimeFormat("en", { timeZone: zone });
  } catch {
    throw invalid([place, field], `${zone} is not a time zone such as Europe/Berlin`);
  }
}

/**
 * @param field names the pattern's field in the error
 * @throws AppError invalid when the pattern cannot be read, or has no tick after `now`
 */
export function checkPattern(
  spec: CronSpec,
  field: string,
  now: number,
  place: Place = "body",
): void {
  let next: number;
  try {
    next = tickAfter(spec, now);
  } catch (err) {
    throw invalid([place, field], errorMessage(err));
  }
  if (next === NEVER) throw invalid([place, field], "matches no future time");
}
