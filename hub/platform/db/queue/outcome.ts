import { RUN_OUTCOMES } from "#drizzle/tables/runs.ts";
import { TASK_STATE } from "#drizzle/tables/tasks.ts";
import type { Backoff } from "#shared/protocol/schema/workload.ts";
import { fingerprintOf } from "../../failures/fingerprint.ts";
import { backoffMs } from "./backoff.ts";
import type { Counter } from "./deltas.ts";
import { type FailedTask, MAX_CRASHES, type ReleasedTask } from "./queue-store.ts";

/** The rules of an attempt's end that both databases follow. */

export const outcomeCode = (name: (typeof RUN_OUTCOMES)[number]): number =>
  RUN_OUTCOMES.indexOf(name);
export const SUCCESS = outcomeCode("success");
/** Outcomes that a worker reports itself; the control plane sets the others. */
export const REPORTED = (["success", "error", "timeout", "crashed"] as const).map(outcomeCode);

const COUNTER_OF: Record<number, Counter> = {
  [TASK_STATE.ready]: "ready",
  [TASK_STATE.claimed]: "claimed",
  [TASK_STATE.failed]: "failed",
  [TASK_STATE.delayed]: "delayed",
};
export const counterOf = (state: number): Counter => COUNTER_OF[state] ?? "ready";

/** Whether a peek at the queue asks only for failed tasks. */
export const onlyFailed = (states: readonly number[]): boolean =>
  states.length === 1 && states[0] === TASK_STATE.failed;

interface Attempted {
  attempt: number;
  max_attempts: number;
  crash_count: number;
}

/** The task's next state: failed for good, or tried again after `wait` ms. */
export interface Verdict {
  final: boolean;
  wait: number;
  crashes: number;
}

/** For an attempt whose worker reported a failure. `random` in [0, 1). */
export function afterFailure(
  task: Attempted,
  report: Pick<FailedTask, "outcome" | "no_retry" | "retry_after_ms">,
  backoff: Backoff,
  random: number,
): Verdict {
  const verdict = afterEnd(task, report.outcome === "crashed", backoff, random);
  const { retry_after_ms } = report;
  return {
    ...verdict,
    final: report.no_retry || verdict.final,
    wait: retry_after_ms ?? verdict.wait,
  };
}

const OVERDUE = "the run did not end within its timeout";
const EXPIRED = "lease expired";
const PRINTS = { [OVERDUE]: fingerprintOf(OVERDUE), [EXPIRED]: fingerprintOf(EXPIRED) };

/** For an attempt that ended without a report, because its lease or its time was over. */
export const afterExpiry = (
  task: Attempted,
  overdue: boolean,
  backoff: Backoff,
  random: number,
): Verdict & { outcome: number; error: string; fingerprint: string } => {
  const error = overdue ? OVERDUE : EXPIRED;
  return {
    ...afterEnd(task, true, backoff, random),
    outcome: outcomeCode(overdue ? "timeout" : "lease_expired"),
    error,
    fingerprint: PRINTS[error],
  };
};

/** For a task that is given back: ready at once, or after the time that it asked to wait. */
export const afterRelease = ({ retry_after_ms, reason }: ReleasedTask) => ({
  state: retry_after_ms ? TASK_STATE.delayed : TASK_STATE.ready,
  wait: retry_after_ms ?? 0,
  last_error: retry_after_ms === null ? null : reason,
});

function afterEnd(task: Attempted, crashed: boolean, backoff: Backoff, random: number): Verdict {
  const crashes = task.crash_count + (crashed ? 1 : 0);
  const final = task.attempt >= task.max_attempts || crashes >= MAX_CRASHES;
  return { final, crashes, wait: backoffMs(backoff, task.attempt, random) };
}
