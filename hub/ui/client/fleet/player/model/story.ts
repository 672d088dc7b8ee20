import type { Act } from "./happenings.ts";

/** What a run went through, as its page knows it; times of day in milliseconds. */
export interface TimedStage {
  key: string;
  title: string;
  from: number;
  /** Null while it goes on. */
  until: number | null;
  /** How long it took, from the record that says so; null while it goes on. */
  took_ms: number | null;
  tone: "ok" | "warn" | "bad" | "live";
  /** What it said last. */
  said: string;
}

/** A stage in the time of the recording, with what was done in it. */
export interface StoryStage extends Omit<TimedStage, "from" | "until"> {
  from_ms: number;
  until_ms: number | null;
  acts: Act[];
}

export interface Story {
  stages: StoryStage[];
  /** Done outside of every stage, or where there are none. */
  loose: Act[];
}

/** In the order in which they began, because a row leads to the page before it. */
const byBegin = (a: Act, b: Act): number => a.from_ms - b.from_ms;

/** A stage that lasts this long after its last line still has what was done then. */
const LATE_MS = 100;

/** The stages in order, and the acts in those in which they began. */
export function storyOf(stages: readonly TimedStage[], acts: readonly Act[], began: number): Story {
  const told = stages.map(({ from, until, ...stage }): StoryStage => {
    const until_ms = until === null ? null : Math.max(0, until - began);
    return { ...stage, from_ms: Math.max(0, from - began), until_ms, acts: [] };
  });
  const loose: Act[] = [];
  for (const act of [...acts].sort(byBegin)) {
    const within = ({ from_ms, until_ms }: StoryStage) =>
      from_ms <= act.from_ms && (until_ms === null || act.from_ms < until_ms);
    const after = ({ from_ms, until_ms }: StoryStage) =>
      from_ms <= act.from_ms && until_ms !== null && act.from_ms <= until_ms + LATE_MS;
    const stage = told.find(within) ?? told.findLast(after) ?? told.at(-1);
    (stage?.acts ?? loose).push(act);
  }
  return { stages: told, loose };
}

/** A part of the run that somebody chose: what the panels show. */
export interface Range {
  from_ms: number;
  until_ms: number;
}

/** What happened so shortly before or after belongs to it. */
const AROUND_MS = 400;

export const rangeOf = (from_ms: number, until_ms: number): Range => ({
  from_ms: Math.max(0, from_ms - AROUND_MS),
  until_ms: until_ms + AROUND_MS,
});

export const isIn = (range: Range | null, ms: number): boolean =>
  range === null || (range.from_ms <= ms && ms <= range.until_ms);
