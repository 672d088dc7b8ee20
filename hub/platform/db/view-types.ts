import type { Tables } from "#drizzle/tables.ts";
import type { RunRow } from "./rows.ts";

/** Queries of the dashboard, the flow graph, schedules and retention (rules/pipeline-views#dashboard-overview). */

export type ScheduleRow = Tables["schedules"]["$inferSelect"];
type GpuMinuteRow = Tables["gpu_minutes"]["$inferSelect"];
type CpuMinuteRow = Tables["cpu_minutes"]["$inferSelect"];
export type PositionRow = Tables["flow_positions"]["$inferSelect"];

type LeaseRow = Pick<
  Tables["tasks"]["$inferSelect"],
  "task_id" | "workload_id" | "pk" | "epoch" | "attempt" | "claimed_at" | "lease_until"
>;

export interface ViewsRepo {
  /** How many tasks each worker holds, by workload. */
  claimed(): Promise<{ workload_id: number; worker_id: string | null; n: number }[]>;
  /** What a pull worker holds, by the end of the leases. */
  leases(worker_id: string, limit: number): Promise<LeaseRow[]>;
  /** When the oldest task that could run now was submitted; workloads without one are left out. */
  oldestReady(): Promise<{ workload_id: number; created_at: number }[]>;
  /** Newest first, without output and streams. */
  failures(finished_after: number, limit: number): Promise<RunRow[]>;
  /** The newest `n` runs of every workload, oldest first. */
  lastRuns(n: number): Promise<{ workload_id: number; outcome: number }[]>;
  /** Which worker ran what, among the newest `n` runs that ended after `finished_after`. */
  recentPairs(
    n: number,
    finished_after: number,
  ): Promise<{ workload_id: number; worker_id: string; n: number; oldest: number }[]>;
}

export interface RatePoint {
  minute: number;
  workload_id: number;
  metric: string;
  n: number;
}

export interface FlowRepo {
  /** Events by minute from `since` on, of every control process together; in the order of time. */
  rates(filter: {
    since: number;
    workload_id?: number | undefined;
    metric?: string | undefined;
  }): Promise<RatePoint[]>;
  /** Adds to a minute's count. */
  count(point: RatePoint & { node: string }): Promise<void>;
  positions(): Promise<PositionRow[]>;
  /** Replaces existing entries; the others stay, except the oldest beyond `max`. */
  savePositions(rows: PositionRow[], max: number): Promise<void>;
  forgetPositions(): Promise<void>;
}

export interface GpusRepo {
  /** The last reading of a minute stays. */
  put(rows: GpuMinuteRow[]): Promise<void>;
  /** By host and GPU, then time. */
  list(since: number): Promise<GpuMinuteRow[]>;
}

export interface CpuMinutesRepo {
  /** The first reading of a minute stays. */
  put(row: CpuMinuteRow): Promise<void>;
  /** By host, then time. */
  list(since: number): Promise<CpuMinuteRow[]>;
}

export interface SchedulesRepo {
  list(): Promise<ScheduleRow[]>;
  /** Creates the row, or starts again when its expression or zone has changed. */
  begin(row: Omit<ScheduleRow, "taken_until">): Promise<void>;
  /**
   * Takes the tick of `row` until `until`; false when another process has it at `now`, or had it, or the schedule has
   * changed. The process that has it calls `advance` or `leave`; after `until` the tick can be taken again.
   */
  take(row: ScheduleRow, now: number, until: number): Promise<boolean>;
  /** Moves on from `row`'s tick to `to`. */
  advance(row: ScheduleRow, to: number): Promise<void>;
  /** The tick stays due, for the next process. */
  leave(row: ScheduleRow): Promise<void>;
}

/** Each call deletes a bounded number of rows, so no other call waits long. */
export interface RetentionRepo {
  /**
   * Checks the `limit` oldest runs after `after`, and deletes those that ended before; `last` is the newest checked
   * run.
   */
  expireRuns(input: {
    after: number;
    finished_before: number;
    limit: number;
  }): Promise<{ deleted: number; last: number }>;
  /** The newest run beyond the newest `keep` of the workload; null when it has no more runs. */
  firstBeyond(workload_id: number, keep: number): Promise<number | null>;
  /** Deletes up to `limit` runs of the workload after `after`, up to and including `upto`. */
  trimRuns(input: {
    workload_id: number;
    after: number;
    upto: number;
    limit: number;
  }): Promise<{ deleted: number; last: number }>;
  /** Deletes minutes of rates, CPUs and GPUs before `minute`: the oldest hour of each; how many rows. */
  pruneMinutes(minute: number): Promise<number>;
  /** Deleted workloads that left something behind. */
  deletedWorkloads(): Promise<number[]>;
  /**
   * Deletes up to `limit` tasks, by key after `after`, of a deleted workload; returns the last key, null when none is
   * left.
   */
  purgeTasks(workload_id: number, after: string, limit: number): Promise<string | null>;
  /** The same for the keys that were taken once. */
  purgeKeys(workload_id: number, after: string, limit: number): Promise<string | null>;
  /** Deletes the other rows of a deleted workload: counters, windows, its schedule. */
  purgeRest(workload_id: number): Promise<void>;
}
