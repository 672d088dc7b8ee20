import { sql } from "drizzle-orm";
import type { AnyPgColumn } from "drizzle-orm/pg-core";
import type {
  CaptureReport,
  FinalState,
  JobMode,
  JobOptions,
  JobStatus,
} from "#shared/protocol/schema/job.ts";
import type { JobChanges } from "#shared/protocol/schema/job-changes.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** The key of jobs, for tables whose rows are deleted with their job. */
export type JobIds = { job_id: AnyPgColumn };

/** Job record (rules/jobs#job-record). `lease_token` names the current assignment; null while queued. */
export const defineJobs = (c: ColumnKit) =>
  c.table(
    "jobs",
    {
      job_id: c.str("job_id").primaryKey(),
      status: c.str("status").$type<JobStatus>().notNull(),
      mode: c.str("mode").$type<JobMode>().notNull(),
      url: c.str("url").notNull(),
      host: c.str("host").notNull(),
      options: c.json<JobOptions>("options").notNull(),
      novnc_url: c.str("novnc_url"),
      worker_id: c.str("worker_id"),
      lane_idx: c.int("lane_idx"),
      session_id: c.str("session_id"),
      lease_token: c.big("lease_token"),
      /** The hub that leads it, from the claim on; another one when it took the job up. */
      hub_id: c.str("hub_id"),
      error: c.str("error"),
      stage: c.str("stage"),
      http_status: c.int("http_status"),
      final_url: c.str("final_url"),
      title: c.str("title"),
      created_at: c.time("created_at").notNull(),
      started_at: c.time("started_at"),
      finished_at: c.time("finished_at"),
      asset_count: c.int("asset_count").notNull().default(0),
      asset_bytes: c.big("asset_bytes").notNull().default(0),
      /** Of its documents, which `documents` has one by one. */
      document_bytes: c.big("document_bytes").notNull().default(0),
      attempts: c.int("attempts").notNull().default(0),
      capture: c.json<CaptureReport>("capture"),
      /** Of the page at its end; null while there is none. */
      final_state: c.json<FinalState>("final_state"),
      /** What its script answered: in an object, because JSON's own null is an answer too. */
      answer: c.json<{ value: unknown }>("answer"),
      idempotency_key: c.str("idempotency_key"),
      /** The watch that made it. */
      watch_id: c.str("watch_id"),
      /** Null until it is compared, and where there was nothing to compare it with. */
      changed: c.bool("changed"),
      changes: c.json<JobChanges>("changes"),
      /** Of its failure (rules/failures#fingerprints). */
      fingerprint: c.str("fingerprint"),
      /** The job that runs it again: there is at most one, whoever retries it and however often. */
      retried_as: c.str("retried_as"),
      /** Null without labels; `job_labels` has them once more, for lists. */
      labels: c.json<Record<string, string>>("labels"),
    },
    (t) => [
      c.index("jobs_created_idx").on(t.created_at, t.job_id),
      c.index("jobs_status_created_idx").on(t.status, t.created_at, t.job_id),
      c.index("jobs_worker_created_idx").on(t.worker_id, t.created_at, t.job_id),
      c.index("jobs_host_created_idx").on(t.host, t.created_at, t.job_id),
      // Jobs without a watch pay nothing for these.
      c
        .index("jobs_watch_created_idx")
        .on(t.watch_id, t.created_at, t.job_id)
        .where(sql`watch_id is not null`),
      c
        .index("jobs_fingerprint_created_idx")
        .on(t.fingerprint, t.created_at, t.job_id)
        .where(sql`fingerprint is not null`),
      c
        .index("jobs_changed_created_idx")
        .on(t.changed, t.created_at, t.job_id)
        .where(sql`changed is not null`),
    ],
  );
