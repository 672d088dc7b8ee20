import { sql } from "drizzle-orm";
import type { ColumnKit } from "../kit.pg.ts";

/** `runs.outcome` as stored, in the order of the wire's names. */
export const RUN_OUTCOMES = [
  "success",
  "error",
  "timeout",
  "lease_expired",
  "crashed",
  "cancelled",
] as const;

/** Attempts and what they said (rules/pipeline-runs#fields-of-a-run). Times epoch ms. */
export function defineRunTables(c: ColumnKit) {
  /** One row for every attempt that ended (rules/pipeline-runs#fields-of-a-run). (task_id, epoch) names an attempt forever. */
  const runs = c.table(
    "runs",
    {
      run_id: c.key("run_id"),
      workload_id: c.big("workload_id").notNull(),
      task_id: c.big("task_id").notNull(),
      pk: c.str("pk").notNull(),
      attempt: c.int("attempt").notNull(),
      epoch: c.big("epoch").notNull(),
      outcome: c.int("outcome").notNull(),
      worker_id: c.str("worker_id"),
      started_at: c.time("started_at").notNull(),
      finished_at: c.time("finished_at").notNull(),
      duration_ms: c.big("duration_ms").notNull(),
      output: c.json<unknown>("output"),
      error: c.str("error"),
      truncated: c.bool("truncated").notNull().default(false),
      /** Null for a success, a cancelled run, and what was recorded before there were fingerprints. */
      fingerprint: c.str("fingerprint"),
    },
    (t) => [
      c.uniqueIndex("runs_attempt_idx").on(t.task_id, t.epoch),
      c.index("runs_workload_idx").on(t.workload_id, t.run_id),
      // Failures among millions of successes; successes pay nothing for it.
      // All that grouping them reads, because a row holds what the run put out.
      c
        .index("runs_failed_idx")
        .on(t.finished_at, t.run_id, t.fingerprint, t.workload_id, t.worker_id, t.outcome)
        .where(sql`outcome <> 0`),
      c
        .index("runs_fingerprint_idx")
        .on(t.fingerprint, t.run_id)
        .where(sql`fingerprint is not null`),
      c.index("runs_workload_failed_idx").on(t.workload_id, t.run_id).where(sql`outcome <> 0`),
      c.index("runs_failed_pk_idx").on(t.pk).where(sql`outcome <> 0`),
    ],
  );

  return { runs };
}
