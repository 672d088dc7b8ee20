import { z } from "@hono/zod-openapi";
import { LOG_LEVELS, type LogLevel } from "#shared/kit/log.ts";
import { NextCursor, NumberCursor } from "./page.ts";

/** Settings, service logs and deploys of the control plane (rules/pipeline-operations#settings). */

/** Where the value comes from: `stored` (PUT) overrides `env` (a variable or flag), which overrides `default`. */
const SETTING_SOURCES = ["default", "env", "stored"] as const;
export const Setting = z
  .object({
    key: z.string(),
    /** `"***"` for a secret that is set. */
    value: z.unknown(),
    secret: z.boolean(),
    /** False: it is read from its variable when the program starts. */
    writable: z.boolean(),
    source: z.enum(SETTING_SOURCES),
    description: z.string(),
    updated_at: z.string().nullable(),
  })
  .openapi("Setting");
export type Setting = z.infer<typeof Setting>;
export const SettingList = z
  .object({ settings: z.array(Setting), ...NextCursor })
  .openapi("SettingList");
export const PutSetting = z.strictObject({ value: z.unknown() }).openapi("PutSetting");

const LlmUrl = z
  .url({ protocol: /^https?$/ })
  .max(2_000)
  .refine((raw) => !URL.canParse(raw) || (new URL(raw).username || new URL(raw).password) === "", {
    error: "must not contain a user name or password",
  });
/** Name of a target or an engine. */
const PlainName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/,
    "must be 1 to 100 letters, digits, dots, hyphens and underscores, beginning with a letter or digit",
  );
const LlmModel = z.string().min(1).max(200);
/** Name of the control plane's variable that holds the key. */
const LlmKeyEnv = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of a variable")
  .max(200);
/** One of the setting `llm_engines`. `url`: base URL of an OpenAI-compatible API, or its chat completions endpoint. */
export const LlmEngine = z.strictObject({
  name: PlainName,
  url: LlmUrl,
  model: LlmModel.nullable().default(null),
  api_key_env: LlmKeyEnv.nullable().default(null),
});
export type LlmEngine = z.infer<typeof LlmEngine>;

/** Body of POST /settings/llm/test: a configured engine by name, or one described here. */
export const LlmTest = z
  .strictObject({
    engine: z.string().min(1).max(100).optional(),
    url: LlmUrl.optional(),
    model: LlmModel.optional(),
    api_key_env: LlmKeyEnv.optional(),
    prompt: z.string().min(1).max(10_000).default("Reply with the word: ok"),
  })
  .openapi("LlmTest");
export type LlmTest = z.infer<typeof LlmTest>;
/** `refused_address`: a cloud metadata or link-local address; `no_key`: the variable of the key is not set. */
const LLM_ERRORS = [
  "refused_address",
  "no_key",
  "dns",
  "refused",
  "network",
  "tls",
  "timeout",
  "auth",
  "http_status",
  "bad_json",
] as const;
export type LlmErrorKind = (typeof LLM_ERRORS)[number];
export const LlmTested = z
  .object({
    ok: z.boolean(),
    /** Set with `error`. */
    error_kind: z.enum(LLM_ERRORS).nullable(),
    /** HTTP status of the answer, when there was one. */
    status: z.int().nullable(),
    latency_ms: z.int(),
    model: z.string().nullable(),
    reply: z.string().nullable(),
    error: z.string().nullable(),
  })
  .openapi("LlmTested");
export type LlmTested = z.infer<typeof LlmTested>;

/** As `service_logs.level` stores them. */
export const LOG_LEVEL_NUMBERS: Record<LogLevel, number> = {
  debug: 10,
  info: 20,
  warn: 30,
  error: 40,
};
const Level = z.enum(LOG_LEVELS);
export const LogEntry = z
  .object({
    /** Counts up in the order in which lines came here. */
    log_id: z.int(),
    ts: z.string(),
    host: z.string(),
    service: z.string(),
    level: Level,
    message: z.string(),
    fields: z.record(z.string(), z.unknown()),
  })
  .openapi("LogEntry");
export type LogEntry = z.infer<typeof LogEntry>;
export const LogQuery = z.object({
  host: z.string().max(253).optional(),
  service: z.string().max(100).optional(),
  min_level: Level.optional(),
  q: z.string().max(500).optional(),
  since: z.iso.datetime({ offset: true }).optional(),
  until: z.iso.datetime({ offset: true }).optional(),
  /** Only lines that arrived after this one: what is new since a page was read. */
  after: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .openapi({ type: "integer" })
    .optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(200),
  cursor: z.string().max(200).optional(),
});
export type LogQuery = z.infer<typeof LogQuery>;
/** Newest first. */
export const LogPage = z
  .object({ logs: z.array(LogEntry), next_cursor: z.string().nullable() })
  .openapi("LogPage");
/** Body of POST /service-logs: a hub's or worker's own log lines. */
export const ShipLogs = z
  .strictObject({
    host: z.string().min(1).max(253),
    service: z.string().min(1).max(100),
    logs: z
      .array(
        z.strictObject({
          ts: z.iso.datetime({ offset: true }),
          level: Level,
          message: z.string().max(10_000),
          fields: z.record(z.string(), z.unknown()).default({}),
        }),
      )
      .max(1_000),
  })
  .openapi("ShipLogs");
/** `min_level`: lines below it are not kept and need not be sent. */
export const LogsShipped = z.object({ stored: z.int(), min_level: Level }).openapi("LogsShipped");
export type ShipLogs = z.infer<typeof ShipLogs>;

export const StartDeploy = z
  .strictObject({
    target: PlainName,
    args: z.array(z.string().max(1_000)).max(50).default([]),
  })
  .openapi("StartDeploy");
export type StartDeploy = z.infer<typeof StartDeploy>;
export const DeployQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(20),
  cursor: NumberCursor.optional(),
});
export type DeployQuery = z.infer<typeof DeployQuery>;
export const DeployStarted = z.object({ deploy_id: z.int() }).openapi("DeployStarted");
/** `interrupted`: the control plane that ran it stopped or died before its end. */
const DEPLOY_OUTCOMES = ["succeeded", "failed", "interrupted"] as const;
export type DeployOutcome = (typeof DEPLOY_OUTCOMES)[number];
export const Deploy = z
  .object({
    deploy_id: z.int(),
    target: z.string(),
    args: z.array(z.string()),
    state: z.enum(["running", ...DEPLOY_OUTCOMES]),
    started_at: z.string(),
    finished_at: z.string().nullable(),
    duration_ms: z.int().nullable(),
    exit_code: z.int().nullable(),
    error: z.string().nullable(),
    log: z.string(),
  })
  .openapi("Deploy");
export type Deploy = z.infer<typeof Deploy>;
export const DeployList = z
  .object({ deploys: z.array(Deploy), ...NextCursor })
  .openapi("DeployList");
export type DeployList = z.infer<typeof DeployList>;
