import type { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import type { RecordingIndex } from "#shared/recording/index-of.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** Sessions that were no job's own, and what is recorded of runs. */
export function defineSessionTables(c: ColumnKit) {
  /** A session that was no job's own (rules/sessions#past-sessions); `ended_at` is null while it is open. */
  const sessions = c.table(
    "sessions",
    {
      session_id: c.str("session_id").primaryKey(),
      kind: c.str("kind").$type<"sdk" | "kept">().notNull(),
      /** The job that left it open, or that ran in it last. */
      job_id: c.str("job_id"),
      worker_id: c.str("worker_id").notNull(),
      lane_idx: c.int("lane_idx").notNull(),
      /** Who opened it, as the audit log calls it; null for one that a job left open. */
      opened_by: c.str("opened_by"),
      headless: c.bool("headless").notNull(),
      created_at: c.time("created_at").notNull(),
      ended_at: c.time("ended_at"),
      end_reason: c.str("end_reason"),
      /** Of the active tab at the end. */
      url: c.str("url").notNull(),
      title: c.str("title").notNull(),
      actions: c.int("actions").notNull().default(0),
    },
    (t) => [c.index("sessions_ended_idx").on(t.ended_at, t.session_id)],
  );

  /**
   * The recording of a run (rules/recordings#storage): its sealed parts, which are in the object store under
   * `recordings/<run_id>/`. What follows them is on the disk of the hub to which the worker sends it.
   */
  const recordings = c.table(
    "recordings",
    {
      run_id: c.str("run_id").primaryKey(),
      /** Null for a session that no job owns. */
      job_id: c.str("job_id"),
      session_id: c.str("session_id").notNull(),
      mode: c.str("mode").$type<RecordMode>().notNull(),
      state: c.str("state").$type<"live" | "whole" | "cut">().notNull(),
      started_at: c.time("started_at").notNull(),
      ended_at: c.time("ended_at"),
      /** Bytes of all parts, and where each of them ends. */
      sealed: c.big("sealed").notNull(),
      /** Of a session: bytes of the bodies that are kept beside it. */
      body_bytes: c.big("body_bytes").notNull().default(0),
      /** Whether a picture of the screen is among what is sealed. */
      has_screen: c.bool("has_screen").notNull().default(false),
      parts: c.json<number[]>("parts").notNull(),
      contents: c.json<RecordingIndex>("contents").notNull(),
    },
    (t) => [
      c.index("recordings_job_idx").on(t.job_id, t.started_at),
      c.index("recordings_session_idx").on(t.session_id),
      c.index("recordings_ended_idx").on(t.ended_at, t.run_id),
    ],
  );

  return { sessions, recordings };
}
