import { type CronSpec, checkPattern, checkZone, NEVER, tickAfter } from "#hub/platform/cron.ts";
import type { WatchRow } from "#hub/platform/db/rows.ts";
import { invalid } from "#shared/kit/errors.ts";

/** When a watch is due. */
export type Timing = Pick<WatchRow, "cron" | "cron_tz" | "every_s" | "paused">;

const specOf = ({ cron, cron_tz }: Timing): CronSpec => ({
  pattern: cron ?? "",
  timezone: cron_tz,
});

/** Of five fields, so that no watch is due more than once a minute. */
const FIVE_FIELDS = /^(@[a-z]+|\S+(\s+\S+){4})$/i;

/** @throws AppError invalid naming `cron` or `cron_tz` when the schedule cannot be read or has no future time */
export function checkTiming(timing: Timing, now: number): void {
  checkZone(timing.cron_tz, "cron_tz");
  if (timing.cron === null) return;
  if (!FIVE_FIELDS.test(timing.cron.trim()))
    throw invalid(["body", "cron"], "must have five fields, or be @daily or the like");
  checkPattern(specOf(timing), "cron", now);
}

/** When a watch that began at `from` is due after `now`; null when it never is. */
export function nextTime(timing: Timing, from: number, now: number): number | null {
  if (timing.paused) return null;
  if (timing.every_s !== null) {
    const every_ms = timing.every_s * 1_000;
    return from + every_ms * (Math.floor(Math.max(0, now - from) / every_ms) + 1);
  }
  const next = tickAfter(specOf(timing), now);
  return next === NEVER ? null : next;
}
