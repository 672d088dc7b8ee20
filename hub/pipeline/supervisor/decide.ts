import { RUN_OUTCOMES } from "#drizzle/tables/runs.ts";
import type { SupervisedChange } from "#hub/platform/db/pipeline-types.ts";
import type { SupervisedRow } from "#hub/platform/db/rows.ts";
import type { SupervisedAction, SupervisedProblem } from "#shared/protocol/schema/supervisor.ts";

/** Runs that must have failed in a row before a workload is paused. */
export const STREAK = 20;
/** How long a problem must have lasted before it is acted on. */
export const LASTED_MS: Record<SupervisedProblem, number> = {
  no_worker: 60_000,
  dead_instances: 60_000,
  // A worker has already tried to load it, so there is no need to wait.
  broken_executor: 0,
  stuck: 300_000,
};
/** After this time, dead instances that were restarted in vain are restarted again. */
export const RESTART_AGAIN_MS = 900_000;
const MAX_ERROR = 200;

/** A supervised workload as it is at `now`. */
export interface Facts {
  now: number;
  enabled: boolean;
  ready: number;
  claimed: number;
  failed: number;
  /** Runs since the last intervention, newest first, at most STREAK. */
  runs: readonly { run_id: number; outcome: number; error: string | null; finished_at: number }[];
  /** Live workers that may run it, and how many of their slots are idle. */
  workers: number;
  idle_slots: number;
  /** One of its own limits holds tasks back. */
  limited: boolean;
  /** Instances that may run it and should run, but that their agent has given up on. */
  dead_instances: number;
  /** Where the code does not load and why, in a sentence; null where it does. */
  broken: string | null;
}

/** What to write, and what to do once it is written. `act` is null when there is only something to remember. */
export interface Decision {
  act: SupervisedAction | null;
  reason: string;
  set: SupervisedChange;
}

const outcomeOf = ({ outcome }: { outcome: number }) => RUN_OUTCOMES[outcome];
const succeeded = (run: { outcome: number }) => outcomeOf(run) === "success";
/** Cancelled by a person, which says nothing about the workload. */
const failed = (run: { outcome: number }) => !succeeded(run) && outcomeOf(run) !== "cancelled";

const act = (
  action: SupervisedAction,
  now: number,
  reason: string,
  set: SupervisedChange,
): Decision => ({ act: action, reason, set: { ...set, action, reason, action_at: now } });
const remember = (reason: string, set: SupervisedChange): Decision => ({ act: null, reason, set });
const NO_PROBLEM = { problem: null, problem_at: null, told: false } as const;

/**
 * What the supervisor does about a workload (rules/pipeline-supervision#pause); null: nothing. A pause lasts until
 * somebody switches the workload on again; the first success after that retries its failed tasks, once.
 */
export function decide(row: SupervisedRow, facts: Facts): Decision | null {
  const { now, enabled, runs } = facts;
  if (!enabled) {
    if (row.problem === null) return null;
    return remember("the workload is off", NO_PROBLEM);
  }
  if (row.paused_at !== null) return remember("switched on again", { paused_at: null });
  const last_run_id = runs[0]?.run_id ?? row.last_run_id;
  if (!row.reset && runs.some(succeeded)) {
    const set = { reset: true, last_run_id };
    if (facts.failed === 0) return remember("it succeeds again", set);
    return act(
      "reset",
      now,
      `it succeeds again; ${facts.failed} failed tasks get another try`,
      set,
    );
  }
  if (runs.length >= STREAK && runs.every(failed))
    return act("pause", now, `the last ${STREAK} runs failed; ${lastError(runs[0]?.error)}`, {
      last_run_id,
      reset: false,
      ...NO_PROBLEM,
    });
  return judgeProblem(row, facts);
}

const lastError = (error: string | null | undefined): string =>
  error ? `the last one: ${error.slice(0, MAX_ERROR)}` : "the last one gave no error";

function judgeProblem(row: SupervisedRow, facts: Facts): Decision | null {
  const { now } = facts;
  const problem = seen(row, facts);
  if (problem === "undecided") return null;
  if (problem === "broken_executor" && (problem !== row.problem || !row.told))
    return act("report", now, facts.broken ?? problem, { problem, problem_at: now, told: true });
  if (problem !== row.problem)
    return remember(problem === null ? `no longer ${row.problem}` : `${problem} since now`, {
      problem,
      told: false,
      problem_at: problem === null ? null : now,
    });
  if (problem === null || now - (row.problem_at ?? now) < LASTED_MS[problem]) return null;
  if (problem === "broken_executor") return null;
  if (problem === "stuck")
    return row.told ? null : act("report", now, stuckReason(facts), { told: true });
  if (facts.dead_instances > 0) {
    // No matter what was seen in between: an instance that dies at once is alive for a moment.
    if (row.action === "restart" && now - (row.action_at ?? 0) < RESTART_AGAIN_MS) return null;
    return act("restart", now, deadReason(facts), { told: true });
  }
  if (row.told) return null;
  return act("report", now, `${facts.ready} tasks are ready, but no live worker may run them`, {
    told: true,
  });
}

const deadReason = ({ ready, workers, dead_instances }: Facts): string =>
  `${ready} tasks are ready for ${workers} live workers; ${dead_instances} instances were given up by their agents`;
const stuckReason = ({ ready, idle_slots }: Facts): string =>
  `${ready} tasks are ready and ${idle_slots} slots are idle, but nothing has run for ${LASTED_MS.stuck / 60_000} minutes: the executor may be broken`;

/** `undecided`: a task is claimed now, which proves neither that the workload is stuck nor that it is not. */
function seen(row: SupervisedRow, facts: Facts): SupervisedProblem | null | "undecided" {
  if (facts.ready === 0) return null;
  if (facts.workers === 0) return "no_worker";
  if (facts.dead_instances > 0) return "dead_instances";
  if (facts.broken !== null) return "broken_executor";
  const ended_at = facts.runs[0]?.finished_at ?? 0;
  if (facts.limited || facts.idle_slots === 0) return null;
  if (row.problem === "stuck" && ended_at > (row.problem_at ?? 0)) return null;
  if (facts.claimed > 0) return row.problem === "stuck" ? "undecided" : null;
  return "stuck";
}
