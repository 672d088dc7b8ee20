import { isoTime } from "#shared/kit/clock.ts";
import { MAX_MISSED, type ReplayReport } from "#shared/protocol/schema/replay.ts";

const MAX_URL = 2_000;
const MAX_REASON = 500;

/** Counts what a replay answered, and lists what it did not (rules/replay#the-report). */
export interface Tally {
  answered(): void;
  /** @returns whether it is told for the first time. */
  missed(method: string, url: string, reason: string): boolean;
  report(): ReplayReport;
}

/** @param clock_began when the clock of its pages began, in milliseconds; null: they see the present time */
export function createTally(job_id: string, clock_began: number | null = null): Tally {
  const missed = new Map<string, ReplayReport["missed"][number]>();
  let answered = 0;
  let missed_count = 0;
  return {
    answered: () => {
      answered += 1;
    },
    missed: (method, url, reason) => {
      missed_count += 1;
      const key = `${method} ${url.slice(0, MAX_URL)}`;
      if (missed.size >= MAX_MISSED || missed.has(key)) return false;
      missed.set(key, {
        method: method.slice(0, 40),
        url: url.slice(0, MAX_URL),
        reason: reason.slice(0, MAX_REASON),
      });
      return true;
    },
    report: () => ({
      job_id,
      answered,
      missed_count,
      missed: [...missed.values()],
      ...(clock_began !== null && { clock_began: isoTime(clock_began) }),
    }),
  };
}
