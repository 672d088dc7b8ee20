import type { FinishJob } from "#hub/platform/db/fleet-types.ts";
import type { EventRow, JobRow } from "#hub/platform/db/rows.ts";
import type { JobComparison } from "#shared/protocol/schema/comparison.ts";
import type { JobStatus } from "#shared/protocol/schema/job.ts";
import type { HeldLane, WorkerLink } from "../links/worker-link.ts";
/** Tells event streams, of this hub and of the others, that a job has new events. Carries none: streams read the store. */
export interface JobBus {
  publish(job_id: string): void;
  /** Calls `wake` after every publish of any hub, until the returned function is called. */
  subscribe(job_id: string, wake: () => void): () => void;
  /** Messages of other hubs may have been lost: every stream looks for itself. */
  wakeAll(): void;
}

/** The running script of a job, in this hub. */
interface RunningScript {
  /** The job or its session has ended: everything of the script ends. */
  stop(why: ScriptStopped): void;
  /** Settles when nothing of the script is left. */
  done: Promise<void>;
}

/** What a hub knows of the scripts it runs. */
export interface Scripted {
  /** Lanes that are leased to scripted jobs, with their worker. */
  readonly lanes: Map<HeldLane, WorkerLink>;
  /** Lanes whose worker has been ordered to end the run. */
  readonly ended: WeakSet<HeldLane>;
  /** Lanes of jobs that need another one, for the replay in which their scripts are proved. */
  readonly proving: WeakSet<HeldLane>;
  readonly runs: Map<string, RunningScript>;
  /** Jobs for the browser of an earlier one (attach_to_job) that wait for a runner. */
  readonly attached: Set<string>;
  /** The setting max_concurrent_runs as last read, and when that many were last seen running (epoch ms). */
  most: number;
  full_at: number;
  readonly reserve: LaneReserve;
}

/** The last free lane of several, which scripted jobs leave to fetch jobs for a while. */
interface LaneReserve {
  /** For how long: the setting lane_reserve_s as last read. */
  ms: number;
  /** When the queue was last looked at for jobs that are held back, and when it will be next (monotonic ms). */
  looked_at: number;
  due_at: number;
}

/** Tells another program of every job that ends (setting webhook_url). */
export interface Webhooks {
  /** Returns at once; the outcome goes only to the log. */
  jobEnded(row: JobRow): void;
  /** Tells the watch's own receiver, where it has one, that a capture has changed. */
  jobChanged(row: JobRow, url: string | null): void;
  /** Gives up what is under way and what waits. */
  stop(): Promise<void>;
}

/** Captures of watches that end at this hub (rules/watches#one-comparison). */
export interface Watching {
  /** Decides what the capture changed, and then has its end told, with the row as it is by then. Returns at once. */
  ended(row: JobRow, told: (row: JobRow) => Promise<void>): void;
  stop(): Promise<void>;
}

/** What does not count in a comparison. */
export interface Ignored {
  /** Takes these lines out of a text. */
  lines(lines: string[]): Promise<string[]>;
  asset(url: string): boolean;
}

/** Compares what two jobs captured. */
export interface Comparisons {
  /**
   * GET /jobs/{id}/diff/{other} (rules/comparison#compare-two-jobs).
   * @throws AppError not_found, conflict, timed_out; unavailable when too many wait
   */
  byId(before_id: string, after_id: string): Promise<JobComparison>;
  /** The same of two completed jobs, without what is ignored. @throws AppError timed_out, unavailable */
  rows(before: JobRow, after: JobRow, ignored: Ignored): Promise<JobComparison>;
}

/** A result the database could not store: the worker has reported it and keeps no copy. */
export interface UnstoredResult {
  job_id: string;
  end: FinishJob;
  /** Lines of its log that could not be stored either. */
  log: NewEvent[];
}

export type NewEvent = Pick<EventRow, "ts" | "type" | "data">;

/** Why a script is stopped: its job has this status by now. */
export class ScriptStopped extends Error {
  override readonly name = "ScriptStopped";
  readonly status: JobStatus;
  constructor(status: JobStatus) {
    super(`job ${status}`);
    this.status = status;
  }
}
