import type { JobStatus } from "#shared/protocol/schema/job.ts";
import type { JobChanges } from "#shared/protocol/schema/job-changes.ts";
import type { PutWatch } from "#shared/protocol/schema/watch.ts";
import type { WatchRow } from "./rows.ts";

/** What people decide about a watch. */
type WatchFields = PutWatch;

/** What is decided of a capture that has ended. */
export interface CaptureOutcome {
  status: JobStatus;
  /** When it ended. */
  at: number;
  /** What its job's record says. */
  changed: boolean | null;
  changes: JobChanges | null;
  /** Null leaves the count of failures in a row as it is. */
  failed: boolean | null;
  /** The next capture is compared with this one, if it still is of the watch's page. */
  is_baseline: boolean;
  last_error: string | null;
}

/** Pages that are captured again and again. Every race is decided by one conditional statement. */
export interface WatchesRepo {
  /** False, and nothing stored, when there are `most` already. */
  insert(row: WatchRow, most: number): Promise<boolean>;
  get(watch_id: string): Promise<WatchRow | null>;
  /** In the order of their creation. */
  list(): Promise<WatchRow[]>;
  /** Changes what people decide; null when somebody else wrote it after `was`, or it is gone. */
  change(
    watch_id: string,
    was: number,
    fields: Partial<WatchFields> &
      Pick<WatchRow, "updated_at"> &
      Partial<Pick<WatchRow, "next_at" | "baseline" | "failing_since" | "failures" | "last_error">>,
  ): Promise<WatchRow | null>;
  delete(watch_id: string): Promise<boolean>;
  /**
   * Those that are due or will be, and those with a capture under way, each with what has become of that: `job_status` is
   * null without one, and when its job is gone.
   */
  pending(): Promise<
    (Pick<WatchRow, "watch_id" | "next_at" | "capturing"> & {
      job_status: JobStatus | null;
      finished_at: number | null;
    })[]
  >;
  /** The time `due_at` passes without a capture; false when it has passed already. */
  pass(
    watch_id: string,
    due_at: number,
    left: Pick<WatchRow, "next_at" | "last_error">,
  ): Promise<boolean>;
  /** For the one hub that decides what this capture changed, until `until`; null for the others. */
  take(watch_id: string, job_id: string, now: number, until: number): Promise<WatchRow | null>;
  /**
   * Stores what is decided of the capture that is under way, with its job's record, in one transaction. Null, and nothing
   * stored, when it is not under way any more. Without an outcome its job is gone, and nothing is known of it.
   */
  settle(
    watch_id: string,
    job_id: string,
    outcome: CaptureOutcome | null,
  ): Promise<WatchRow | null>;
  /** Ended captures beyond the newest `keep` that completed and the newest `keep` that did not, at most `limit`. */
  beyond(watch_id: string, keep: number, limit: number): Promise<string[]>;
}
