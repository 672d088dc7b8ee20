import type { ToldNotes } from "#shared/protocol/schema/executor.ts";

/** A claimed task as an executor gets it. */
export interface TaskInput {
  task_id: number;
  epoch: number;
  attempt: number;
  max_attempts: number;
  pk: string;
  extra: unknown;
  /** The span of its attempt, as W3C Trace Context writes it; absent without traces. */
  traceparent?: string | undefined;
}

/**
 * How an attempt ended. `not_run`: it was never begun, so no attempt is consumed; `broken` when that is because the code of
 * its workload does not load here, and not because the worker stops. A failure with `retry_after_ms` asked to be run later.
 */
export type TaskOutcome =
  | { kind: "done"; output: unknown }
  | {
      kind: "failed";
      outcome: "error" | "timeout" | "crashed";
      error: string;
      retry_after_ms: number | null;
      no_retry: boolean;
    }
  | { kind: "not_run"; reason: string; broken: boolean };

export type FailedOutcome = Extract<TaskOutcome, { kind: "failed" }>;

export interface TaskEnd {
  task: TaskInput;
  outcome: TaskOutcome;
  duration_ms: number;
  stdout: string;
  stderr: string;
  truncated: boolean;
  /** Its notes; null: none. */
  notes?: ToldNotes | null;
}

/** The last `bytes` of each stream of a running task. */
export type LookAtOutput = (bytes: number) => { stdout: string; stderr: string };

/** A running task's notes so far; null: none. */
export type ReadNotes = () => ToldNotes | null;

export interface RunOptions {
  /** How long each task may take; null: as long as its lease is renewed. */
  timeout_ms: number | null;
  /** Aborts tasks that no longer belong to this worker, and all of them when the worker must stop. */
  signal: AbortSignal;
  /** Called as each task begins, with access to its output and notes so far. */
  onBegin?(task: TaskInput, look: LookAtOutput, notes?: ReadNotes): void;
  /** Called as each task ends, in order. */
  onEnd(end: TaskEnd): void;
}

/** Runs the tasks of one workload in one slot, one batch at a time. */
export interface Executor {
  run(tasks: readonly TaskInput[], options: RunOptions): Promise<void>;
  /** Loads the workload's code without running a task. @throws BrokenExecutorError when it does not load here */
  load(): Promise<void>;
  /** Ends its processes. Idempotent. */
  close(): Promise<void>;
}

/** The code of a workload does not load on this worker, which consumes no attempt. */
export class BrokenExecutorError extends Error {
  /** What was printed in the meantime, such as the traceback. */
  readonly stderr: string;
  constructor(message: string, stderr = "") {
    super(message);
    this.name = "BrokenExecutorError";
    this.stderr = stderr;
  }
}

/** The error of a task that was stopped because it must not continue here. */
export const CANCELLED = "cancelled";

export const failed = (
  outcome: "error" | "timeout" | "crashed",
  error: string,
  more: { retry_after_ms?: number | null; no_retry?: boolean } = {},
): FailedOutcome => ({
  kind: "failed",
  outcome,
  error,
  retry_after_ms: more.retry_after_ms ?? null,
  no_retry: more.no_retry ?? false,
});

/** `what` took longer than its workload's `timeout_s`. Its error has the word that is searched for (rules/failures#groups). */
export const overTime = (what: string, timeout_ms: number): FailedOutcome =>
  failed("timeout", `${what} did not finish within the timeout of ${timeout_ms / 1_000} s`);

/** The end of a task that was never begun. `broken`: because the code of its workload does not load here. */
export const notRun = (task: TaskInput, reason: string, broken = false): TaskEnd => ({
  task,
  outcome: { kind: "not_run", reason, broken },
  duration_ms: 0,
  stdout: "",
  stderr: "",
  truncated: false,
});
