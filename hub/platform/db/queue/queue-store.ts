import type { Labels } from "#shared/protocol/schema/labels.ts";
import type { Backoff, RateLimit } from "#shared/protocol/schema/workload.ts";
import type { FailureColumns, SuccessColumns } from "./run-columns.ts";

/** JSON as text: the queue stores it and passes it on, and never looks into it. */
type JsonText = string;

/** Identifies one attempt forever. `epoch` is odd, because the task got it when it was claimed. */
export interface AttemptRef {
  task_id: number;
  epoch: number;
}

export interface NewTask {
  pk: string;
  extra: JsonText | null;
  priority: number;
  max_attempts: number;
  /** The task has no limit of its own: the workload's counts, even if that changes while the task is queued. */
  follows_workload?: boolean;
  /** Epoch ms; null: now. */
  run_at: number | null;
  labels?: Labels | null;
  /** A duplicate too if its key was taken once before. */
  once?: boolean;
}

/** A claimed task. Durations are relative, so the worker's clock need not be right. */
export interface ClaimedTask extends AttemptRef {
  workload_id: number;
  pk: string;
  extra: JsonText | null;
  attempt: number;
  /** Null: the workload's. */
  max_attempts: number | null;
  priority: number;
  claimed_at: number;
  /** The span that its attempt happens within; not stored. */
  traceparent?: string;
}

interface Printed {
  duration_ms: number;
  stdout: string;
  stderr: string;
}

export interface DoneTask extends AttemptRef, Printed, SuccessColumns {
  /** Tasks the run emits: submitted in the transaction that records it, and only when it is recorded now. */
  emit?: { workload_id: number; tasks: NewTask[] }[];
}

export interface FailedTask extends AttemptRef, Printed, FailureColumns {
  outcome: "error" | "timeout" | "crashed";
  error: string;
  /** Instead of the workload's backoff. */
  retry_after_ms: number | null;
  no_retry: boolean;
}

/** A task that is given back with its attempt; it waits `retry_after_ms`, for `reason`. */
export interface ReleasedTask extends AttemptRef {
  retry_after_ms: number | null;
  reason: string;
}

/**
 * The answer to a report. `ok` also when the same report comes again (its answer was lost); `stale` when the attempt
 * was no longer this worker's, and nothing changed.
 */
export interface Report extends AttemptRef {
  status: "ok" | "stale";
  run_id: number | null;
}

export interface ClaimOp {
  op: "claim";
  /** The incarnation that will hold them, and its name for people. */
  worker: string;
  worker_id: string;
  workload_id: number;
  max: number;
  lease_ms: number;
  timeout_ms: number | null;
  /** At most this many tasks of the workload are claimed at a time. */
  max_in_flight: number | null;
  /** At most `count` tasks of the workload are claimed in every `per_s` seconds, whenever those begin. */
  rate_limit: RateLimit | null;
}

/** What a workload's limits leave after a claim, and with nothing left, what further claims wait for. */
export type ClaimLimit =
  | { by: "in_flight"; left: number }
  /** `opening` claims are forgotten in `opens_in_ms`, which frees as many places. */
  | { by: "rate"; left: number; opens_in_ms: number; opening: number };

export interface Claim {
  /** In the order of claiming: priority, then age. */
  tasks: ClaimedTask[];
  /** Null for a workload without limits. */
  limit: ClaimLimit | null;
}

/** Calls of the hot path. All calls that arrive in one turn of the event loop are one transaction. */
export type QueueOp =
  | { op: "submit"; workload_id: number; tasks: NewTask[] }
  | { op: "complete"; worker: string; items: DoneTask[] }
  | { op: "fail"; worker: string; workload_id: number; backoff: Backoff; items: FailedTask[] }
  | { op: "release"; worker: string; items: ReleasedTask[] }
  | { op: "renew"; worker: string; items: AttemptRef[]; lease_ms: number }
  | ClaimOp;

export interface OpResults {
  submit: { submitted: number; duplicates: number };
  complete: Report[];
  fail: Report[];
  release: Report[];
  /** The lost attempts, which their worker stops. */
  renew: AttemptRef[];
  claim: Claim;
}
export type ResultOf<O extends QueueOp> = OpResults[O["op"]];

/** Rows of GET …/queue/peek. */
export interface QueueRow {
  task_id: number;
  pk: string;
  state: number;
  attempt: number;
  max_attempts: number;
  priority: number;
  run_at: number;
  worker_id: string | null;
  claimed_at: number | null;
  lease_until: number | null;
  last_error: string | null;
  extra: JsonText | null;
  created_at: number;
}

export interface QueueCounts {
  workload_id: number;
  ready: number;
  claimed: number;
  failed: number;
  delayed: number;
  last_runs: number;
  last_n: number;
}

export interface ExpiredTask extends AttemptRef {
  workload_id: number;
  worker: string;
}

/** What a transaction changed in a workload: fewer claimed tasks, and perhaps more ready ones. */
export interface FreedPlaces {
  workload_id: number;
  places: number;
  ready: number;
}

export interface CancelledTask {
  state: number;
  task_id: number;
  epoch: number;
  worker: string | null;
}

/** A task as it was found: a change applies only while it is still so. */
export interface FoundTask extends AttemptRef {
  workload_id: number;
  pk: string;
  state: number;
}

/**
 * What happens to many tasks at once (rules/failures#acting-by-filter). `retry`: failed ones become ready, with all
 * their attempts. `remove`: they leave the queue; a claimed one gets a run `cancelled`. `move`: they wait in another
 * workload's queue, with all their attempts, unless their key is there already.
 */
export type TaskChange =
  | { kind: "retry" | "remove" }
  | { kind: "move"; to: { workload_id: number; max_attempts: number } };

export interface Changed {
  /** Those that were changed; what is missing had moved on meanwhile, or is a duplicate. */
  tasks: FoundTask[];
  /** Not moved, because the other queue has their keys. */
  duplicates: number;
}

/**
 * The queue of one database. Every transition out of `claimed` is fenced by (task_id, epoch, worker); times are the
 * database's own (on SQLite: this process's). Delivery is at least once, recording exactly once.
 */
export interface QueueStore {
  /**
   * Runs the calls in one transaction: reports, then submits, renewals and claims, so freed slots are filled at once.
   * Resolves after the commit, with a result per call.
   */
  flush(ops: QueueOp[]): Promise<OpResults[QueueOp["op"]][]>;
  /** Returns up to `limit` attempts whose lease or deadline is over to the queue, each with a run that says so. */
  expire(limit: number): Promise<ExpiredTask[]>;
  /** Makes due tasks ready; how many of each workload. */
  promote(limit: number): Promise<Map<number, number>>;
  /** Removes a task; a claimed one gets a run `cancelled`, and its late report is stale. Null: no such task. */
  cancel(workload_id: number, pk: string): Promise<CancelledTask | null>;
  /** Changes those of the tasks that are still as they were found, in one statement. */
  change(change: TaskChange, tasks: readonly FoundTask[]): Promise<Changed>;
  /** Makes up to `limit` failed tasks ready, or the one with this key, with all their attempts; returns how many. */
  resetFailed(workload_id: number, limit: number, pk?: string): Promise<number>;
  /** In the order of their ids. */
  peek(
    workload_id: number,
    states: readonly number[],
    limit: number,
    offset: number,
    /** Only tasks after this one. */
    after?: number,
  ): Promise<QueueRow[]>;
  /** Of one workload, or of all that ever had a task. */
  counts(workload_id?: number): Promise<QueueCounts[]>;
  /** The database's clock, epoch ms. */
  now(): Promise<number>;
  close(): Promise<void>;
}

/** After this many attempts without a result, the task is taken to kill its worker. */
export const MAX_CRASHES = 10;
