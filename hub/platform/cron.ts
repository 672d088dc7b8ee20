import { Cron } from "croner";

/** When a cron pattern is due; nothing is started. Times epoch ms, as local times of `timezone` (this machine's by default). */
export interface CronSpec {
  pattern: string;
  timezone?: string;
}

/** Stands for "no tick any more" where a time is asked for; far beyond every date. */
export const NEVER = 9e15;

const cronOf = ({ pattern, timezone }: CronSpec) => new Cron(pattern, { timezone, paused: true });

/** The first tick after `ms`; NEVER when there is none. @throws what is wrong with the pattern */
export const tickAfter = (spec: CronSpec, ms: number): number =>
  cronOf(spec).nextRun(new Date(ms))?.getTime() ?? NEVER;

/** The last tick at or before `ms`; croner's own "previous" leaves `ms` itself out. */
export const tickUpTo = (spec: CronSpec, ms: number): number | null =>
  cronOf(spec)
    .previousRuns(1, new Date(ms + 1))[0]
    ?.getTime() ?? null;
