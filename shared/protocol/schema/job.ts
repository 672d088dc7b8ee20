import { z } from "@hono/zod-openapi";
import { LIST_LIMIT, MAX_URL_LENGTH } from "../limits.ts";
import { targetFault } from "../target-url.ts";
import { BlockedReport } from "./block.ts";
import { RegistrySlug } from "./engine.ts";
import { Fingerprint } from "./fingerprint.ts";
import { JobChanges } from "./job-changes.ts";
import { JobMode, JobOptions, SubmitOptions } from "./job-options.ts";
import { LabelChanges, LabelQuery, Labels } from "./labels.ts";
import { QueryBoolean } from "./page.ts";
import { ReplayReport } from "./replay.ts";

export { JobMode, JobOptions, SubmitOptions };

const JOB_STATUSES = ["queued", "running", "completed", "failed", "cancelled"] as const;
export const JobStatus = z.enum(JOB_STATUSES);
export type JobStatus = z.infer<typeof JobStatus>;
export const TERMINAL: readonly JobStatus[] = ["completed", "failed", "cancelled"];
export const isTerminal = (status: JobStatus): boolean => TERMINAL.includes(status);

/** An absolute http or https URL, kept as the client wrote it (rules/jobs#submit-a-job). */
export const TargetUrl = z
  .string()
  .max(MAX_URL_LENGTH, { error: `must be at most ${MAX_URL_LENGTH} characters` })
  .superRefine((raw, ctx) => {
    const message = targetFault(raw);
    if (message !== undefined) ctx.addIssue({ code: "custom", message });
  });

/**
 * Body of POST /jobs (rules/jobs#submit-a-job). `preset` names options of the registry (rules/library#presets), which
 * the job's own `options` override.
 */
export const SubmitJob = z
  .strictObject({
    url: TargetUrl,
    preset: RegistrySlug.nullable().default(null),
    options: SubmitOptions.prefault({}),
    labels: Labels.default({}).meta({
      description: "Words of your own to find the job by, such as team: growth",
    }),
  })
  .openapi("SubmitJob");
export type SubmitJob = z.infer<typeof SubmitJob>;

/** Body of PATCH /jobs/{id} (rules/labels#change-the-labels-of-a-job). */
export const PatchJob = z.strictObject({ labels: LabelChanges }).openapi("PatchJob");
export type PatchJob = z.infer<typeof PatchJob>;

/**
 * What became of the bodies the browser received. `seen = captured + partial + lost`, counting only
 * responses that carry a body; `ratio = captured / seen` (1 when nothing was seen). `reasons` counts partial and
 * lost bodies by cause: evicted, target_gone, aborted, empty_reply, too_large, timeout, unread, protected, upload_failed,
 * spool_full.
 * protected: from an address that must not be read, or kept from the page by the browser (CORS, ORB).
 * `skipped` counts bodies left out on purpose: below min_asset_size_bytes. `late` counts requests that began after the
 * wait was over and before the page was saved: they are not part of the job, so no other count has them. `unanswered` counts
 * requests without an answer at the end: not sent yet, or not answered; whether they have a body, nobody knows. `page` is null
 * when the job's page could not be saved; `warnings` say what else is missing, and why.
 */
export const CaptureReport = z
  .object({
    seen: z.int(),
    captured: z.int(),
    partial: z.int(),
    lost: z.int(),
    skipped: z.int().default(0),
    late: z.int().optional().meta({
      description:
        "Requests that began after the wait was over and before the page was saved; in no other count",
    }),
    unanswered: z.int().optional().meta({
      description:
        "Requests that had no answer when the job ended, so it is unknown whether they have a body; in no other count",
    }),
    ratio: z.number(),
    reasons: z.record(z.string(), z.int()),
    /** How bodies were read: `durable` buffers, or `buffered` where the browser has none. */
    method: z.enum(["durable", "buffered"]).default("durable"),
    page: z
      .literal("page.html")
      .nullish()
      .meta({ description: "The saved page; null when there is none" }),
    warnings: z
      .array(z.string().max(1_000))
      .max(20)
      .optional()
      .meta({ description: "What is missing although the job completed, and why" }),
    imported: z
      .object({
        format: z.enum(["warc", "wacz"]),
        software: z
          .string()
          .nullable()
          .meta({ description: "What made the archive, if it says so" }),
        records: z.int(),
        left_out: z
          .record(z.string(), z.int())
          .meta({ description: "Records that a job has no place for, by what they are" }),
      })
      .optional()
      .meta({ description: "Of a job that was imported from a web archive" }),
    replay: ReplayReport.optional().meta({
      description: "How the replay went, for a job with the option replay",
    }),
    blocked: BlockedReport.optional().meta({
      description: "What was not requested, for a job with the option block",
    }),
    traffic: z.object({ received_bytes: z.int(), sent_bytes: z.int() }).optional().meta({
      description:
        "Bytes on the network between the job's browser and servers, or the proxy in front of them, including TLS and the downloads of videos. Absent in a browser that is not the fleet's.",
    }),
  })
  .openapi("CaptureReport");
export type CaptureReport = z.infer<typeof CaptureReport>;

/**
 * What a worker took of the page at the end of a run (rules/documents#final-state): whether the two pictures are stored,
 * and the name of the asset that is the page's icon.
 */
export const FinalState = z.object({
  screenshot: z.boolean(),
  thumbnail: z.boolean(),
  favicon: z.string().max(1_000).nullable(),
});
export type FinalState = z.infer<typeof FinalState>;

const WAITING_REASONS = [
  "stopping",
  "no_worker",
  "workers_paused",
  "hub_disk_full",
  "disk_full",
  "no_lane",
  "lanes_busy",
  "lane_reserve",
  "runners_busy",
  "browser_in_use",
  "no_local_worker",
  "redrive",
  "starting",
] as const;

/** What a queued job waits for: `reason` for programs, `detail` for people. */
export const WaitingFor = z
  .object({ reason: z.enum(WAITING_REASONS), detail: z.string() })
  .openapi("WaitingFor");
export type WaitingFor = z.infer<typeof WaitingFor>;

/** The job record (rules/jobs#job-record). Times ISO 8601 UTC. */
export const Job = z
  .object({
    job_id: z.string(),
    status: JobStatus,
    mode: JobMode,
    url: z.string(),
    options: z
      .record(z.string(), z.unknown())
      .openapi({ description: "JobOptions with every default filled in" }),
    novnc_url: z.string().nullable(),
    worker_id: z.string().nullable(),
    lane_idx: z.int().nullable(),
    session_id: z.string().nullable(),
    error: z.string().nullable(),
    stage: z.string().nullable(),
    http_status: z.int().nullable(),
    final_url: z.string().nullable(),
    title: z.string().nullable(),
    created_at: z.string(),
    started_at: z.string().nullable(),
    finished_at: z.string().nullable(),
    duration_ms: z.int().nullable(),
    asset_count: z.int(),
    asset_bytes: z.int(),
    attempts: z.int(),
    queue_position: z.int().nullable(),
    waiting_for: WaitingFor.nullable().openapi({
      description:
        "What a queued job is waiting for at the time of the call; null otherwise, and while the state of the workers is unknown",
    }),
    capture: CaptureReport.nullable(),
    source: z.enum(["browser", "import"]).meta({
      description: "Where its capture comes from: a browser of the fleet, or a web archive",
    }),
    screenshot_href: z
      .string()
      .nullable()
      .openapi({ description: "The whole page at the end of the job; null where there is none" }),
    thumbnail_href: z
      .string()
      .nullable()
      .openapi({ description: "A small picture of it, 320 pixels wide" }),
    favicon_href: z.string().nullable().openapi({ description: "The asset that is its icon" }),
    answer: z.unknown().openapi({
      description:
        "What the job's script answered, any JSON value of at most 64 KiB; null where there is none, and for a longer one, which is the asset result.json",
    }),
    idempotency_key: z.string().nullable(),
    watch_id: z.string().nullable().openapi({ description: "The watch that made it" }),
    changed: z.boolean().nullable().openapi({
      description:
        "Whether a capture of a watch has changed; null until it is compared, for a watch's first one and for all other jobs",
    }),
    changes: JobChanges.nullable(),
    fingerprint: z.string().nullable().openapi({
      description:
        "Names its failure: the same for jobs that failed alike; null for others, and for failures recorded before there were fingerprints",
    }),
    retried_as: z.string().nullable().openapi({
      description: "The job that runs it again, once somebody has retried it by a filter",
    }),
    labels: z.record(z.string(), z.string()).openapi({
      description: "What it is found by, as given with POST /jobs or PATCH /jobs/{id}",
    }),
  })
  .openapi("Job");
export type Job = z.infer<typeof Job>;

export const JobList = z
  .object({ jobs: z.array(Job), next_cursor: z.string().nullable() })
  .openapi("JobList");
export type JobList = z.infer<typeof JobList>;

const isoMs = z.iso.datetime({ offset: true }).transform((s) => Date.parse(s));

/** What became of a job, told apart by what its page answered. */
const JOB_RESULTS = ["completed", "http_error", "failed", "cancelled"] as const;
const JobResultFilter = z.enum(JOB_RESULTS).openapi({
  description:
    "`completed`: its page answered with less than 400; `http_error`: it completed, and its page answered with 400 or more",
});

/** Query of GET /jobs: filters, newest first. `host` is the target's host name, `q` a part of the URL. */
export const JobListQuery = z.object({
  status: JobStatus.optional(),
  result: JobResultFilter.optional(),
  mode: JobMode.optional(),
  host: z.string().max(253).optional(),
  worker_id: z.string().max(64).optional(),
  watch: z.string().max(64).optional().openapi({ description: "Captures of this watch" }),
  fingerprint: Fingerprint.optional(),
  changed: QueryBoolean.optional().openapi({
    description: "Captures of watches that had changed, or had not",
  }),
  q: z.string().max(500).optional(),
  url: z.string().max(MAX_URL_LENGTH).optional().openapi({
    description: "Jobs of exactly this URL",
  }),
  words: z.string().min(1).max(500).optional().openapi({
    description:
      "Jobs that have words beginning with each of these, in their title, URL, error, labels or answer",
  }),
  label: LabelQuery.optional(),
  since: isoMs.optional(),
  until: isoMs.optional(),
  limit: z.coerce.number().int().min(1).max(LIST_LIMIT.max).default(LIST_LIMIT.default),
  cursor: z.string().max(200).optional(),
});
export type JobListQuery = z.infer<typeof JobListQuery>;

/** Jobs that are counted at most; a tab shows "1,000+". */
export const MAX_COUNTED = 1_000;
export const JobCountQuery = JobListQuery.omit({ limit: true, cursor: true });
export type JobCountQuery = z.infer<typeof JobCountQuery>;
/** Answer of GET /jobs/count. */
export const JobCount = z
  .object({
    count: z.int(),
    more: z.boolean().openapi({ description: `There are more than ${MAX_COUNTED}` }),
  })
  .openapi("JobCount");
export type JobCount = z.infer<typeof JobCount>;

const LOG_ENTRY_LEVELS = ["debug", "info", "warn", "error"] as const;

/** One line of the job's log, as the worker reports it. `ts` epoch ms. */
export const JobLogEntry = z.object({
  ts: z.number(),
  level: z.enum(LOG_ENTRY_LEVELS),
  stage: z.string().max(64),
  message: z.string().max(8_192),
  fields: z.record(z.string(), z.unknown()).default({}),
});
export type JobLogEntry = z.infer<typeof JobLogEntry>;

/** One message of WS /jobs/{id}/events (rules/events#event-stream). `seq` counts from 1 within the job. */
export const JobEvent = z
  .object({
    seq: z.int(),
    ts: z.string(),
    type: z.enum(["log", "done", "error"]),
    data: z.record(z.string(), z.unknown()),
  })
  .openapi("JobEvent");
export type JobEvent = z.infer<typeof JobEvent>;

/** Query of GET /jobs/{id}/events.json: `since` is the last seq already seen. */
export const JobEventQuery = z.object({
  since: z.coerce.number().int().min(0).max(999_999_999).openapi({ type: "integer" }).default(0),
  limit: z.coerce.number().int().min(1).max(1_000).default(500),
});
export const JobEventList = z
  .object({ job_id: z.string(), events: z.array(JobEvent) })
  .openapi("JobEventList");
export type JobEventList = z.infer<typeof JobEventList>;
