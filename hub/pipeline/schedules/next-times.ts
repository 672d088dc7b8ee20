import { toString as cronWords } from "cronstrue";
import { checkPattern, checkZone, ticksAfter } from "#hub/platform/cron.ts";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import type { SchedulePreview, SchedulePreviewQuery } from "#shared/protocol/schema/schedule.ts";

/** Times of a record. */
const SHOWN = 5;
/** Records are read often, and a tick in a zone takes a tenth of a millisecond to find. */
const MOST_KEPT = 2_000;

interface Kept {
  from: number;
  ticks: number[];
}
const kept = new Map<string, Kept>();

function ticksOf(schedule: string, schedule_tz: string, now: number): number[] {
  const key = `${schedule} ${schedule_tz}`;
  const known = kept.get(key);
  const [first] = known?.ticks ?? [];
  if (known && known.from <= now && (first === undefined || now < first)) return known.ticks;
  const ticks = ticksAfter({ pattern: schedule, timezone: schedule_tz }, now, SHOWN);
  if (kept.size >= MOST_KEPT) kept.clear();
  kept.set(key, { from: now, ticks });
  return ticks;
}

/** When a workload's schedule is due next (rules/pipeline-schedules#next-times). */
export function nextTimes(
  { schedule, schedule_tz }: Pick<WorkloadRow, "schedule" | "schedule_tz">,
  now: number,
): string[] {
  if (schedule === null) return [];
  try {
    return ticksOf(schedule, schedule_tz, now).map(isoTime);
  } catch {
    // It was checked when it was written: a hub of another version may read it differently.
    return [];
  }
}

/** "UTC+1" at that moment. */
function offsetAt(zone: string, at: number): string {
  const parts = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "shortOffset" });
  const name = parts.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "";
  return name.replace("GMT", "UTC");
}

/** "Thu 26 Nov 2026, 10:30:00", as a clock in the zone shows it. */
const localTime = (zone: string, at: number): string =>
  new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  }).format(at);

function wordsOf(schedule: string): string {
  if (Number.isFinite(Date.parse(schedule)) && /^\d{4}-/.test(schedule)) return "Once";
  try {
    return cronWords(schedule, { use24HourTimeFormat: true });
  } catch {
    return "At the times below";
  }
}

/** @throws AppError invalid naming `schedule` or `schedule_tz` */
export function previewSchedule(
  { schedule, schedule_tz, n }: SchedulePreviewQuery,
  now: number,
): SchedulePreview {
  const spec = { pattern: schedule, timezone: schedule_tz };
  checkZone(schedule_tz, "schedule_tz", "query");
  checkPattern(spec, "schedule", now, "query");
  const ticks = ticksAfter(spec, now, n);
  const offset = offsetAt(schedule_tz, ticks[0] ?? now);
  const clock = schedule_tz === "UTC" ? "UTC" : `${schedule_tz} (${offset})`;
  return {
    schedule,
    schedule_tz,
    words: `${wordsOf(schedule)}, by the clock of ${clock}`,
    next_times: ticks.map((at) => ({
      at: isoTime(at),
      local: localTime(schedule_tz, at),
      offset: offsetAt(schedule_tz, at),
    })),
  };
}
