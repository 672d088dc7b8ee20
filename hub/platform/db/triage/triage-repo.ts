import type { FoundTask } from "../queue/queue-store.ts";
import type { JobRow } from "../rows.ts";

/** Failures of one piece of time that are alike: `newest` is the id of the newest. */
interface FailureCount {
  /** Null: recorded before there were fingerprints. */
  fingerprint: string | null;
  workload_id: number;
  worker_id: string | null;
  bucket: number;
  n: number;
  first: number;
  last: number;
  newest: number;
}

export interface FailureFilter {
  workload_id?: number | undefined;
  worker_id?: string | undefined;
  /** Null: those without one. */
  fingerprint?: string | null | undefined;
  text?: string | undefined;
}

/** Where a walk through failures, newest first, has come to: what is before it is still to come. */
export interface RunPlace {
  finished_at: number;
  run_id: number;
}

/** A run as an example: `printed` is the end of what it printed. */
export interface RunExample {
  run_id: number;
  slug: string | null;
  pk: string;
  attempt: number;
  worker_id: string | null;
  duration_ms: number;
  finished_at: number;
  error: string | null;
  printed: string;
}

/** Tasks in the queue to act on together. */
export interface TaskFilter {
  /** Null: of all workloads, by their fingerprint. */
  workload_id: number | null;
  /** As stored. */
  states: readonly number[];
  /** Null: those without one. */
  fingerprint?: string | null | undefined;
  /** In the key or the last error. */
  text?: string | undefined;
  /** Of all workloads but this one. */
  except?: number | undefined;
  /** Where and when the last attempt failed. */
  worker_id?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
}

/** The last task that a walk has looked at. */
export type TaskPlace = Pick<FoundTask, "task_id" | "pk">;

interface JobFailureFilter {
  host?: string | undefined;
  worker_id?: string | undefined;
  /** Null: those without one. */
  fingerprint?: string | null | undefined;
  text?: string | undefined;
}

/** Without a job: everything before that time. */
export interface JobPlace {
  created_at: number;
  job_id: string | null;
}

type FailedJob = Pick<
  JobRow,
  "job_id" | "created_at" | "finished_at" | "fingerprint" | "host" | "worker_id"
> & { matches: boolean };

export type JobExample = Pick<
  JobRow,
  "job_id" | "url" | "stage" | "worker_id" | "error" | "finished_at"
>;

export interface TriageRepo {
  /** The place `n` failures before this one; null when there are not as many since `since`. */
  placeBefore(before: RunPlace, since: number, n: number): Promise<RunPlace | null>;
  /** Failed runs before `before`, and from `from` or `since` on, counted by what they have in common. */
  countFailures(
    within: { before: RunPlace; from: RunPlace | null; since: number; bucket_ms: number },
    filter: FailureFilter,
  ): Promise<FailureCount[]>;
  /** When the oldest kept run with each of these fingerprints ended. */
  firstSeen(fingerprints: readonly string[]): Promise<Map<string, number>>;
  examples(run_ids: readonly number[]): Promise<RunExample[]>;
  /** The next `limit` tasks after `after`, and those of them that match; `last` is null at the end. */
  findTasks(
    filter: TaskFilter,
    after: TaskPlace | null,
    limit: number,
  ): Promise<{ found: FoundTask[]; last: TaskPlace | null }>;
  /** The same, only counted. */
  countTasks(
    filter: TaskFilter,
    after: TaskPlace | null,
    limit: number,
  ): Promise<{ n: number; last: TaskPlace | null }>;
  /** The next `limit` failed jobs, newest first; those that the filter leaves out do not match. */
  failedJobs(
    within: { before: JobPlace; since: number; limit: number },
    filter: JobFailureFilter,
  ): Promise<FailedJob[]>;
  /** When the oldest kept job of each of these fingerprints ended. */
  firstJobs(fingerprints: readonly string[]): Promise<Map<string, number>>;
  jobExamples(job_ids: readonly string[]): Promise<JobExample[]>;
}
