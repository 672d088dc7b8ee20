import { sql } from "drizzle-orm";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type {
  Attempt,
  AttemptTimings,
  Proof,
  TokenUsage,
  Verdict,
} from "#shared/protocol/schema/attempt.ts";
import type { BrowserOptions } from "#shared/protocol/schema/browser-options.ts";
import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import type {
  CaptureReport,
  FinalState,
  JobEvent,
  JobMode,
  JobOptions,
  JobStatus,
} from "#shared/protocol/schema/job.ts";
import type { JobChanges } from "#shared/protocol/schema/job-changes.ts";
import type { LoginRecipe, PopupPolicy, Recipe } from "#shared/protocol/schema/recipe.ts";
import type { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import type { WorkerStatus } from "#shared/protocol/schema/worker.ts";
import type { ColumnKit } from "./kit.pg.ts";
import { defineAccessTables } from "./tables/access.ts";
import { defineFileTables } from "./tables/files.ts";
import { defineFindTables } from "./tables/find.ts";
import { defineKeyTables } from "./tables/keys.ts";
import { defineLibraryTables } from "./tables/library.ts";
import { defineOperationsTables } from "./tables/operations.ts";
import { defineQueueTables } from "./tables/queue.ts";
import { defineSessionTables } from "./tables/sessions.ts";
import { defineVersionTables } from "./tables/versions.ts";
import { defineWatchTables } from "./tables/watches.ts";

/** The only table definition; `schema.pg.ts` and `schema.sqlite.ts` call it for their dialect. */
export function defineTables(c: ColumnKit) {
  /** Job record (rules/jobs#job-record). `lease_token` names the current assignment; null while queued. */
  const jobs = c.table(
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

  const found_by = defineFindTables(c, jobs);

  /** Proxies with their logins, of jobs that have not ended: a job's record has `***` in their place. */
  const job_proxies = c.table("job_proxies", {
    job_id: c.str("job_id").primaryKey(),
    proxy: c.json<ProxyOption>("proxy").notNull(),
    created_at: c.time("created_at").notNull(),
  });

  /** Stored events of a job (rules/events#stored-events); log.txt is rendered from them. */
  const job_events = c.table(
    "job_events",
    {
      job_id: c
        .str("job_id")
        .notNull()
        .references(() => jobs.job_id, { onDelete: "cascade" }),
      seq: c.int("seq").notNull(),
      ts: c.time("ts").notNull(),
      type: c.str("type").$type<JobEvent["type"]>().notNull(),
      data: c.json<Record<string, unknown>>("data").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.job_id, t.seq] })],
  );

  /** Attempts of codegen-loop and rerun jobs (rules/scripts#attempts); `n` counts from 1 within the job. */
  const attempts = c.table(
    "attempts",
    {
      job_id: c
        .str("job_id")
        .notNull()
        .references(() => jobs.job_id, { onDelete: "cascade" }),
      n: c.int("n").notNull(),
      state: c.str("state").$type<Attempt["state"]>().notNull(),
      engine: c.str("engine"),
      prompt: c.str("prompt"),
      reply: c.str("reply"),
      script: c.str("script"),
      stdout: c.str("stdout").notNull(),
      stderr: c.str("stderr").notNull(),
      result: c.json<{ value: unknown }>("result"),
      error: c.json<NonNullable<Attempt["error"]>>("error"),
      exit_code: c.int("exit_code"),
      verdict: c.json<Verdict>("verdict"),
      timings: c.json<AttemptTimings>("timings").notNull(),
      tokens: c.json<TokenUsage>("tokens"),
      sandbox: c.str("sandbox").$type<NonNullable<Attempt["sandbox"]>>(),
      screenshot: c.str("screenshot"),
      evidence: c.json<Attempt["evidence"]>("evidence").notNull(),
      /** Null where the job does not ask for one. */
      proof: c.json<Proof>("proof"),
      started_at: c.time("started_at").notNull(),
      finished_at: c.time("finished_at"),
    },
    (t) => [c.primaryKey({ columns: [t.job_id, t.n] })],
  );

  /** What must outlive a worker's registration: the operator's status and the last time it was seen. */
  const workers = c.table("workers", {
    worker_id: c.str("worker_id").primaryKey(),
    status: c.str("status").$type<WorkerStatus>().notNull(),
    address: c.str("address").notNull(),
    hostname: c.str("hostname").notNull(),
    version: c.str("version").notNull(),
    first_seen_at: c.time("first_seen_at").notNull(),
    last_seen_at: c.time("last_seen_at").notNull(),
  });

  /** Host settings (rules/hosts#host-record). Cookie values are kept here and never leave but to a worker. */
  const hosts = c.table("hosts", {
    host: c.str("host").primaryKey(),
    recipes: c.json<Recipe[]>("recipes").notNull(),
    login_recipe: c.json<LoginRecipe>("login_recipe"),
    popup_policy: c.str("popup_policy").$type<PopupPolicy>().notNull(),
    notes: c.str("notes").notNull(),
    cookies: c.json<StoredCookie[]>("cookies").notNull(),
    proxy: c.json<ProxyOption>("proxy"),
    record: c.str("record").$type<RecordMode>(),
    browser_options: c.json<BrowserOptions>("browser_options"),
    updated_at: c.time("updated_at").notNull(),
  });

  /** Browser profile (rules/profiles#profile-record); its archive is `profiles/p-<name>/<sha256>.tar.gz` in the store. */
  const profiles = c.table("profiles", {
    name: c.str("name").primaryKey(),
    size: c.big("size").notNull(),
    files: c.int("files").notNull(),
    sha256: c.str("sha256").notNull(),
    is_default: c.bool("is_default").notNull(),
    source_browser: c.str("source_browser"),
    created_at: c.time("created_at").notNull(),
    updated_at: c.time("updated_at").notNull(),
  });

  return {
    jobs,
    job_proxies,
    job_events,
    attempts,
    workers,
    hosts,
    profiles,
    ...found_by,
    ...defineSessionTables(c),
    ...defineFileTables(c, jobs),
    ...defineLibraryTables(c),
    ...defineQueueTables(c),
    ...defineOperationsTables(c),
    ...defineAccessTables(c),
    ...defineKeyTables(c),
    ...defineVersionTables(c),
    ...defineWatchTables(c),
  };
}

export type Tables = ReturnType<typeof defineTables>;
