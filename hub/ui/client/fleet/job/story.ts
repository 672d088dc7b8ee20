import type { AttemptSummary } from "#shared/protocol/schema/attempt.ts";
import type { Job, JobEvent } from "#shared/protocol/schema/job.ts";
import type { TimedStage } from "../player/model/story.ts";
import { goingTitle, type Stage, stagesOf, stageTitle } from "./stages.ts";
import { verdictOf } from "./verdict.ts";

/** Stages that belong to one attempt of a script. */
const OF_ATTEMPT = new Set(["plan", "check", "run", "judge"]);
const TONES = { info: "ok", warn: "warn", error: "bad" } as const;

/** How long an attempt took, as its panel says it; null while it runs. */
const attemptMs = (attempt: Pick<AttemptSummary, "started_at" | "finished_at">) =>
  attempt.finished_at === null
    ? null
    : Math.max(0, Date.parse(attempt.finished_at) - Date.parse(attempt.started_at));

function plainStage(stage: Stage, start: number, failed: boolean): TimedStage {
  const { key, name, from_ms, until_ms, said, worst } = stage;
  return {
    key,
    title: until_ms === null ? goingTitle(name) : stageTitle(name),
    from: start + from_ms,
    until: until_ms === null ? null : start + until_ms,
    took_ms: until_ms === null ? null : until_ms - from_ms,
    tone: until_ms === null ? "live" : failed ? "bad" : TONES[worst],
    said,
  };
}

function attemptStage(attempt: AttemptSummary, of: number): TimedStage {
  const { n, started_at, finished_at, verdict, state } = attempt;
  const ok = verdict?.ok ?? false;
  return {
    key: `attempt ${n}`,
    title: of > 1 ? `Script, attempt ${n}` : "Script",
    from: Date.parse(started_at),
    until: finished_at === null ? null : Date.parse(finished_at),
    took_ms: attemptMs(attempt),
    tone: state === "running" ? "live" : ok ? "ok" : "bad",
    said: ok ? "" : (verdict?.reason ?? verdictOf(attempt).title),
  };
}

/**
 * What a job went through, in times of day: its stages, with those of each attempt as one that its own record tells of.
 */
export function storyOfJob(
  job: Job,
  events: readonly JobEvent[],
  attempts: readonly AttemptSummary[],
): TimedStage[] {
  const start = Date.parse(job.created_at);
  const told = stagesOf(job, events);
  const plain = told.filter(({ name }) => attempts.length === 0 || !OF_ATTEMPT.has(name));
  const ended = job.finished_at !== null;
  const shown = plain
    // The line that says how it ended is no stage.
    .filter(({ name }) => !(ended && (name === "done" || name === "failed")))
    .map((stage) => plainStage(stage, start, job.status === "failed" && stage.name === job.stage));
  const tried = attempts.map((attempt) => attemptStage(attempt, attempts.length));
  const stages = [...shown, ...tried];
  return stages.sort((a, b) => a.from - b.from);
}
