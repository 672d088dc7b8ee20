import type { JobStatus } from "#shared/protocol/schema/job.ts";
import type { ChangePart } from "#shared/protocol/schema/job-changes.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** Pages that are captured again and again (rules/watches#watch-record). Times epoch ms. */
export function defineWatchTables(c: ColumnKit) {
  const watches = c.table(
    "watches",
    {
      watch_id: c.str("watch_id").primaryKey(),
      name: c.str("name").notNull(),
      url: c.str("url").notNull(),
      /** As given, without defaults. */
      options: c.json<Record<string, unknown>>("options").notNull(),
      cron: c.str("cron"),
      cron_tz: c.str("cron_tz").notNull(),
      every_s: c.int("every_s"),
      paused: c.bool("paused").notNull(),
      compare: c.json<ChangePart[]>("compare").notNull(),
      ignore_text: c.json<string[]>("ignore_text").notNull(),
      ignore_assets: c.json<string[]>("ignore_assets").notNull(),
      keep: c.int("keep").notNull(),
      webhook_url: c.str("webhook_url"),
      /** Null while it is paused. It moves on in the transaction that stores the job of its time. */
      next_at: c.time("next_at"),
      /** The capture under way: it has not ended, or what it changed is not decided yet. */
      capturing: c.str("capturing"),
      /** Until then one hub decides that; one that died in the middle leaves it to the next. */
      taken_until: c.time("taken_until").notNull().default(0),
      baseline: c.str("baseline"),
      last_job_id: c.str("last_job_id"),
      last_status: c.str("last_status").$type<JobStatus>(),
      last_at: c.time("last_at"),
      last_changed: c.bool("last_changed"),
      changed_job_id: c.str("changed_job_id"),
      changed_at: c.time("changed_at"),
      failing_since: c.time("failing_since"),
      failures: c.int("failures").notNull().default(0),
      last_error: c.str("last_error"),
      captures: c.int("captures").notNull().default(0),
      changes: c.int("changes").notNull().default(0),
      created_at: c.time("created_at").notNull(),
      /** Grows with every write of what people decide, so that no two of them undo each other. */
      updated_at: c.time("updated_at").notNull(),
    },
    (t) => [
      c.index("watches_next_idx").on(t.next_at),
      // Retention asks of every job it would delete whether a watch needs it.
      c.index("watches_baseline_idx").on(t.baseline),
    ],
  );
  return { watches };
}
