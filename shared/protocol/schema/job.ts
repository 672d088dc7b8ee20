import { z } from "@hono/zod-openapi";
import { LIST_LIMIT, MAX_URL_LENGTH } from "../limits.ts";
import { withScheme } from "../missing-scheme.ts";
import { RegistrySlug } from "./engine.ts";
import { JobMode, JobOptions, SubmitOptions } from "./job-options.ts";

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
    const url = URL.canParse(raw) ? new URL(raw) : null;
    const fail = (message: string) => ctx.addIssue({ code: "custom", message });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: controls are exactly what is refused
    if (/[\u0000-\u0020\u007f]/.test(raw)) fail("must not contain spaces or control characters");
    else if (url?.protocol !== "http:" && url?.protocol !== "https:") {
      const meant = withScheme(raw);
      if (meant) fail(`must begin with http:// or https://: did you mean ${meant}?`);
      else if (url) fail(`scheme ${url.protocol.slice(0, 40)} is not allowed: only http and https`);
      else fail("must be an absolute URL");
    } else if (url.hostname === "") fail("must name a host");
  });

/**
 * Body of POST /jobs (rules/jobs#submit-a-job). `preset` names options of the registry (rules/library#presets): what
 * `options` say themselves wins over them.
 */
export const SubmitJob = z
  .strictObject({
    url: TargetUrl,
    preset: RegistrySlug.nullable().default(null),
    options: SubmitOptions.prefault({}),
  })
  .openapi("SubmitJob");
export type SubmitJob = z.infer<typeof SubmitJob>;

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
        "Requests that nobody had answered when the job ended, so that nothing is known of a body; in no other count",
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
      .meta({ description: "What is missing of a job that completed, and why" }),
    traffic: z.object({ received_bytes: z.int(), sent_bytes: z.int() }).optional().meta({
      description:
        "Bytes between the job's browser and servers, or the proxy before them, as they came over the network, TLS included; of the downloads of videos too. Absent in a browser that is not the fleet's.",
    }),
  })
  .openapi("CaptureReport");
export type CaptureReport = z.infer<typeof CaptureReport>;

const WAITING_REASONS = [
  "stopping",
  "no_worker",
  "workers_paused",
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
        "What a queued job waits for, when its record is read; null otherwise, and while the workers cannot be told",
    }),
    capture: CaptureReport.nullable(),
    idempotency_key: z.string().nullable(),
  })
  .openapi("Job");
export type Job = z.infer<typeof Job>;

export const JobList = z
  .object({ jobs: z.array(Job), next_cursor: z.string().nullable() })
  .openapi("JobList");
export type JobList = z.infer<typeof JobList>;

const isoMs = z.iso.datetime({ offset: true }).transform((s) => Date.parse(s));

/** Query of GET /jobs: filters, newest first. `host` is the target's host name, `q` a part of the URL. */
export const JobListQuery = z.object({
  status: JobStatus.optional(),
  mode: JobMode.optional(),
  host: z.string().max(253).optional(),
  worker_id: z.string().max(64).optional(),
  q: z.string().max(500).optional(),
  since: isoMs.optional(),
  until: isoMs.optional(),
  limit: z.coerce.number().int().min(1).max(LIST_LIMIT.max).default(LIST_LIMIT.default),
  cursor: z.string().max(200).optional(),
});
export type JobListQuery = z.infer<typeof JobListQuery>;

const LOG_ENTRY_LEVELS = ["debug", "info", "warn", "error"] as const;

/** One line of the job's story, as the worker tells it. `ts` epoch ms. */
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
