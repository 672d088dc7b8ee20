import { z } from "@hono/zod-openapi";
import {
  ATTEMPT_TIMEOUT_S,
  CODEGEN_ATTEMPTS,
  LIST_LIMIT,
  MAX_CODE_BYTES,
  MAX_URL_LENGTH,
  MAX_WAIT_S,
} from "../limits.ts";
import { RegistrySlug } from "./engine.ts";
import { Recipe } from "./recipe.ts";

export const JOB_MODES = ["fetch", "codegen-loop", "rerun"] as const;
export const JOB_STATUSES = ["queued", "running", "completed", "failed", "cancelled"] as const;
export const JobMode = z.enum(JOB_MODES);
export const JobStatus = z.enum(JOB_STATUSES);
export type JobMode = z.infer<typeof JobMode>;
export type JobStatus = z.infer<typeof JobStatus>;
export const TERMINAL: readonly JobStatus[] = ["completed", "failed", "cancelled"];
export const isTerminal = (status: JobStatus): boolean => TERMINAL.includes(status);

const nullableText = (max: number) => z.string().max(max).nullable().default(null);
const waitSeconds = (fallback: number) => z.number().min(0).max(MAX_WAIT_S).default(fallback);

/** §2.2 rule 1: at most one of these may be set. */
const BROWSER_SOURCES = ["use_profile", "attach", "clone_chrome_profile", "attach_to_job"] as const;

/** Options of a job (fleet spec §2.2), every default filled in after parsing. Durations in seconds, sizes in bytes. */
export const JobOptions = z
  .strictObject({
    mode: JobMode.default("fetch"),
    goal: nullableText(20_000),
    max_codegen_attempts: z
      .int()
      .min(CODEGEN_ATTEMPTS.min)
      .max(CODEGEN_ATTEMPTS.max)
      .default(CODEGEN_ATTEMPTS.default),
    attempt_timeout_s: z
      .int()
      .min(ATTEMPT_TIMEOUT_S.min)
      .max(ATTEMPT_TIMEOUT_S.max)
      .default(ATTEMPT_TIMEOUT_S.default),
    rerun_from: z
      .string()
      .max(200)
      .regex(
        /^[A-Za-z0-9_-]+(\/attempts\/[1-9][0-9]*)?$/,
        "must be <job_id> or <job_id>/attempts/<N>",
      )
      .nullable()
      .default(null),
    code: z
      .string()
      .refine((s) => new TextEncoder().encode(s).length <= MAX_CODE_BYTES, {
        error: `must be at most ${MAX_CODE_BYTES} bytes`,
      })
      .nullable()
      .default(null),
    wait_seconds: z.int().min(0).max(MAX_WAIT_S).default(20),
    settle_seconds: waitSeconds(0),
    idle_seconds: waitSeconds(3),
    max_wait_seconds: waitSeconds(60),
    post_click_seconds: waitSeconds(5),
    scroll: z.boolean().default(false),
    scroll_step: z.int().min(1).max(100_000).default(50),
    scroll_max: z.int().min(0).max(10_000_000).default(3000),
    scroll_early_after: waitSeconds(5),
    download_video: z.boolean().default(false),
    capture_assets: z.boolean().default(true),
    min_asset_size_bytes: z.int().min(0).default(0),
    headless: z.boolean().default(false),
    referer: z
      .string()
      .max(MAX_URL_LENGTH)
      .regex(/^\P{Cc}*$/u, "must not contain control characters")
      .nullable()
      .default(null),
    cookies_from: nullableText(253),
    use_profile: z
      .string()
      .regex(/^[a-z0-9_-]{1,64}$/, "must be made of a-z, 0-9, hyphen and underscore")
      .nullable()
      .default(null),
    attach: z
      .string()
      .max(300)
      .regex(/^([^\s:/@]+:|\[[0-9a-fA-F:]+\]:)?[0-9]{1,5}$/, "must be [HOST:]PORT")
      .nullable()
      .default(null),
    clone_chrome_profile: nullableText(200),
    attach_to_job: nullableText(64),
    codegen_engine: nullableText(64),
    fetch_strategy: z.enum(["recipe", "normal"]).default("recipe"),
    /** Set by the hub from the matching host recipe; `SubmitJob` refuses it. */
    fetch_recipe: Recipe.nullable().default(null),
    keep_session: z.boolean().default(false),
  })
  .superRefine((o, ctx) => {
    const fail = (field: string, message: string) =>
      ctx.addIssue({ code: "custom", path: [field], message });
    const sources = BROWSER_SOURCES.filter((name) => o[name] !== null);
    for (const name of sources.slice(1))
      fail(
        name,
        `cannot be combined with ${sources[0]}: at most one of ${BROWSER_SOURCES.join(", ")}`,
      );
    if (o.mode === "codegen-loop" && !o.goal?.trim())
      fail("goal", "is required when mode is codegen-loop");
    if (o.mode === "rerun" && o.rerun_from === null && !o.code?.trim())
      fail("rerun_from", "or code is required when mode is rerun");
    if (o.keep_session && o.mode !== "fetch") fail("keep_session", "is only for mode fetch");
    // Nobody but its owner acts in a browser that is not the fleet's.
    if (o.attach !== null && o.mode !== "fetch") fail("attach", "is only for mode fetch");
  })
  .transform((o) => ({
    ...o,
    // §2.2: video needs the captured assets; api.md: rerun_from wins over code.
    capture_assets: o.capture_assets || o.download_video,
    code: o.rerun_from === null ? o.code : null,
  }))
  .openapi("JobOptions");
export type JobOptions = z.infer<typeof JobOptions>;

/** An absolute http or https URL, kept as the client wrote it (fleet spec §2.1 `url`). */
export const TargetUrl = z
  .string()
  .max(MAX_URL_LENGTH, { error: `must be at most ${MAX_URL_LENGTH} characters` })
  .superRefine((raw, ctx) => {
    const url = URL.canParse(raw) ? new URL(raw) : null;
    const fail = (message: string) => ctx.addIssue({ code: "custom", message });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: controls are exactly what is refused
    if (/[\u0000-\u0020\u007f]/.test(raw)) fail("must not contain spaces or control characters");
    else if (!url) fail("must be an absolute URL");
    else if (url.protocol !== "http:" && url.protocol !== "https:")
      fail(`scheme ${url.protocol.slice(0, 40)} is not allowed: only http and https`);
    else if (url.hostname === "") fail("must name a host");
  });

/** JobOptions as clients give them. */
export const SubmitOptions = JobOptions.refine((o) => o.fetch_recipe === null, {
  path: ["fetch_recipe"],
  error: "is set by the hub, not by clients",
});

/**
 * Body of POST /jobs (fleet spec §4.1). `preset` names options of the registry (design/api.md): what `options` say
 * themselves wins over them.
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
 * lost bodies by cause: evicted, target_gone, aborted, empty_reply, too_large, timeout, protected, upload_failed, spool_full.
 * `skipped` counts bodies left out on purpose: below min_asset_size_bytes.
 */
export const CaptureReport = z
  .object({
    seen: z.int(),
    captured: z.int(),
    partial: z.int(),
    lost: z.int(),
    skipped: z.int().default(0),
    ratio: z.number(),
    reasons: z.record(z.string(), z.int()),
    /** How bodies were read: `durable` buffers, or `buffered` where the browser has none. */
    method: z.enum(["durable", "buffered"]).default("durable"),
  })
  .openapi("CaptureReport");
export type CaptureReport = z.infer<typeof CaptureReport>;

/** The job record (fleet spec §2.1 and design/api.md). Times ISO 8601 UTC. */
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

export const LOG_ENTRY_LEVELS = ["debug", "info", "warn", "error"] as const;

/** One line of the job's story, as the worker tells it. `ts` epoch ms. */
export const JobLogEntry = z.object({
  ts: z.number(),
  level: z.enum(LOG_ENTRY_LEVELS),
  stage: z.string().max(64),
  message: z.string().max(8_192),
  fields: z.record(z.string(), z.unknown()).default({}),
});
export type JobLogEntry = z.infer<typeof JobLogEntry>;

/** One message of WS /jobs/{id}/events (fleet spec §6.1, design/api.md). `seq` counts from 1 within the job. */
export const JobEvent = z
  .object({
    seq: z.int(),
    ts: z.string(),
    type: z.enum(["log", "done", "error"]),
    data: z.record(z.string(), z.unknown()),
  })
  .openapi("JobEvent");
export type JobEvent = z.infer<typeof JobEvent>;
