import { z } from "zod";
import {
  flag,
  integer,
  list,
  optionalInteger,
  optionalText,
  RELOADED,
  seconds,
  secretText,
  secretUrl,
  text,
} from "#shared/kit/env.ts";
import { LOG_FORMATS, LOG_LEVELS } from "#shared/kit/log.ts";
import { TOKEN_PREFIX } from "#shared/kit/secret.ts";
import { OtelEnv } from "#shared/kit/tracing/otel-env.ts";
import { HOST_NAME } from "#shared/protocol/schema/agent.ts";
import { SHARED_DRIVERS, type SharedVariable } from "./shared-drivers.ts";

const SHARED_URLS = Object.fromEntries(
  Object.values(SHARED_DRIVERS).map(({ variable, about }) => [
    variable,
    secretUrl().describe(about),
  ]),
) as Record<SharedVariable, ReturnType<typeof secretUrl>>;

const GIB = 1024 ** 3;

const origin = list().pipe(
  z.array(
    z.string().refine((s) => s === "*" || (URL.canParse(s) && new URL(s).origin === s), {
      error: "must be origins such as https://ops.example.org, or *",
    }),
  ),
);
const httpBase = optionalText().refine((s) => s === undefined || /^https?:\/\/./.test(s), {
  error: "must be an http or https URL",
});

/** Compared with Host headers, which may have a port. */
const hostNames = list().pipe(
  z.array(
    z
      .string()
      .regex(/^(\*|[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?)$/i, {
        error: "must be host names such as fleet.example.org, comma-separated, or *",
      })
      .transform((name) => name.toLowerCase()),
  ),
);

/** Each ends with a slash: `jobs` must not open `jobs-of-others/`. */
const prefixes = list().pipe(
  z
    .array(
      z.string().regex(/^[^/.][^/]*(\/[^/.][^/]*)*\/?$/, {
        error: "must be beginnings of object keys such as thumbnails/",
      }),
    )
    .transform((all) => all.map((prefix) => (prefix.endsWith("/") ? prefix : `${prefix}/`))),
);
export const DEFAULT_PREFIXES = ["thumbnails/", "public/"];

const variableNames = list().pipe(
  z.array(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be names of variables, comma-separated"),
  ),
);

/** `NAME`, `NAME@host` or `NAME@*.host`; a name may come several times, once for each of its hosts. */
const boundNames = list().pipe(
  z
    .array(
      z
        .string()
        .regex(
          /^[A-Za-z_][A-Za-z0-9_]*(@(\*\.)?([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\]))?$/,
          "must be names of variables, or NAME@HOST, comma-separated",
        ),
    )
    .transform((all) =>
      all.map((entry) => {
        const [name = "", host] = entry.split("@");
        return { name, host: host?.toLowerCase() ?? null };
      }),
    ),
);

/** What stands before `*_API_KEY`, say, may be anything. */
const variablePatterns = list().pipe(
  z.array(
    z
      .string()
      .regex(
        /^\*?[A-Za-z_][A-Za-z0-9_]*$/,
        "must be names of variables, or * and the end of names, comma-separated",
      ),
  ),
);
export const DEFAULT_ENGINE_KEYS = ["*_API_KEY"];

/** A JSON list of words, or words with spaces between them; no shell reads either. */
const argv = z
  .string()
  .transform((raw, ctx) => {
    if (!raw.trim().startsWith("[")) return raw.trim().split(/\s+/);
    try {
      return z.array(z.string()).min(1).parse(JSON.parse(raw));
    } catch {
      ctx.addIssue({
        code: "custom",
        message: 'must be words, or a JSON list such as ["a", "b c"]',
      });
      return z.NEVER;
    }
  })
  .optional()
  .meta({ argv: true });

/**
 * Five or six fields; the start of the hub checks that a tick is to come. Workers read this file too, and an older
 * worker program lacks the package for that.
 */
const CRON_FIELDS = /^\s*[\w*,/?#-]+(\s+[\w*,/?#-]+){4,5}\s*$/;
const cron = optionalText().refine(
  (pattern) => pattern === undefined || CRON_FIELDS.test(pattern),
  { error: "must be a cron pattern that matches a future time, such as 0 3 * * *" },
);

/** Every variable a hub reads; the guide's table is generated from the descriptions. */
export const HubEnv = z.object({
  SVC_HOST: optionalText().describe(
    "Address to listen on: default 127.0.0.1 in dev mode, 0.0.0.0 in hub and control mode",
  ),
  SVC_PORT: integer(8000, 0, 65_535).describe("Port to listen on; 0 takes a free one"),
  SVC_DB_URL: secretUrl().describe(
    "Database: sqlite:PATH or postgres://…; default flotilla.db in the data directory",
  ),
  SVC_DB_POOL_SIZE: optionalInteger(2, 200).describe(
    "Most connections of this process to Postgres, 10 by default; its queue has two more",
  ),
  SVC_OBJECTS_URL: optionalText().describe(
    "Where asset bodies go: file:PATH, or s3://BUCKET[/PREFIX]?endpoint=URL&region=NAME&virtual_hosted=1; default objects/ in the data directory",
  ),
  SVC_DIRECT_UPLOADS: flag(false).describe(
    "1: workers put bodies of 1 MB and more into the bucket themselves; they must reach its endpoint",
  ),
  S3_ACCESS_KEY_ID: secretText().describe("Key of the bucket; unset: AWS_ACCESS_KEY_ID"),
  S3_SECRET_ACCESS_KEY: secretText().describe(
    "Its secret, never shown; unset: AWS_SECRET_ACCESS_KEY",
  ),
  S3_SESSION_TOKEN: secretText().describe(
    "Token of temporary keys, which end; unset: AWS_SESSION_TOKEN",
  ),
  SVC_FFMPEG: optionalText().describe(
    "The ffmpeg program, which makes videos of recordings; default ffmpeg on PATH",
  ),
  SVC_PLUGINS_DIR: optionalText().describe(
    "Folder of the pipeline's plugins; default plugins/ in the data directory",
  ),
  SVC_MINIO_PREFIXES: prefixes
    .meta(RELOADED)
    .describe(
      "Beginnings of object keys that /api/v1/minio gives out, comma-separated; default thumbnails/,public/",
    ),
  ...SHARED_URLS,
  SVC_REDIS_PREFIX: text("flotilla:").describe(
    "Beginning of every key and channel in Redis: fleets that share one Redis need different ones",
  ),
  SVC_ADVERTISE_URL: httpBase.describe(
    "Where the other hubs reach this one; default http://, its LAN address and its port",
  ),
  SVC_TLS_CERT: optionalText().describe(
    "File of the server's certificate and those up to its authority (PEM): the hub then speaks https and wss; needs SVC_TLS_KEY",
  ),
  SVC_TLS_KEY: optionalText().describe("File of its key (PEM, without a passphrase)"),
  SVC_TLS_CA: optionalText()
    .meta(RELOADED)
    .describe(
      "File of the authority (PEM) that has signed the hubs' certificates: no other hub is trusted then; unset: those of the system",
    ),
  SVC_DATA_DIR: text("./data").describe("Database, objects and scratch files"),
  SVC_DISK_RESERVE_BYTES: optionalInteger().describe(
    "Free bytes below which a disk that the hub writes to is short, and no new work is taken; 0: never; default 500 MB, or 1/20 of a smaller disk",
  ),
  SVC_SECRET_KEY_FILE: optionalText().describe(
    "File of the key that encrypts cookies and profiles where they are stored, made at the first start; hubs of one database need the same. Default: secret.key in the data directory, which a hub on Postgres uses and does not make",
  ),
  ...OtelEnv,
  SVC_LOG_LEVEL: z
    .enum(LOG_LEVELS)
    .default("info")
    .meta(RELOADED)
    .describe("debug, info, warn or error"),
  SVC_ACCESS_LOG: flag(false)
    .meta(RELOADED)
    .describe(
      "1 logs every answered request with its caller and address, at level info; without it only what the server failed at is logged",
    ),
  SVC_AUDIT_LOG: flag(false)
    .meta(RELOADED)
    .describe("1 also logs every entry of the audit log, at level info"),
  SVC_LOG_FORMAT: z
    .enum(LOG_FORMATS)
    .default("auto")
    .describe("human, json or auto: human on a terminal, JSON elsewhere"),
  WORKER_SECRET: secretText()
    .meta(RELOADED)
    .describe(
      "Handshake secret of the worker link; unset: one made of SVC_API_TOKEN, where that is set",
    ),
  PUBLIC_BASE_URL: httpBase.describe(
    "Hub URL told to workers: default http://hub:8000 in hub mode, none in dev mode",
  ),
  SVC_API_TOKEN: secretText()
    .refine((token) => !token?.startsWith(TOKEN_PREFIX), {
      error: `must not begin with ${TOKEN_PREFIX}, as tokens with roles do: they need no variable here`,
    })
    .meta({ ...RELOADED, secret: "whole" })
    .describe(
      "When set, every HTTP call needs Authorization: Bearer, but for health, viewers and workers",
    ),
  SVC_CORS_ORIGINS: origin
    .meta(RELOADED)
    .describe("Origins allowed by CORS, comma-separated; none by default"),
  SVC_ALLOWED_HOSTS: hostNames
    .meta(RELOADED)
    .describe(
      "Names by which the hub may be called beside its own, comma-separated, or * for any; its own: addresses, localhost, the machine's names, those of PUBLIC_BASE_URL, of its certificate and of the other hubs",
    ),
  SVC_MIN_ASSET_SIZE_BYTES: integer(0).describe(
    "Default of the setting min_asset_size_bytes: smaller assets are dropped (0 = none)",
  ),
  SVC_MAX_ASSET_BYTES: integer(4 * GIB, 1).describe("Largest asset body a worker may upload"),
  SVC_PROFILE_MAX_BYTES: integer(GIB, 1).describe(
    "Largest profile archive; it may unpack to four times as much",
  ),
  SVC_SUBMIT_WAIT_S: seconds(8)
    .meta(RELOADED)
    .describe("How long POST /jobs waits for a free lane before 503"),
  SVC_VERSION: optionalText().describe("Version of the hub when its source hash is unavailable"),
  SVC_RECIPE_ENV: boundNames
    .meta(RELOADED)
    .describe(
      "Names of the hub's variables whose values recipes may use, comma-separated; NAME@HOST or NAME@*.HOST binds one to a host, else it is entered on the recipe's own host alone; none by default",
    ),
  CODEGEN_LLM_URL: httpBase
    .meta(RELOADED)
    .describe(
      "Engine of jobs and questions when no other is configured: base URL of an OpenAI-compatible API; needs CODEGEN_MODEL_NAME",
    ),
  CODEGEN_MODEL_NAME: optionalText().meta(RELOADED).describe("Its model; needs CODEGEN_LLM_URL"),
  CODEGEN_LLM_API_KEY: secretText()
    .meta(RELOADED)
    .describe("Its key, never shown; none by default"),
  SVC_ENGINE_KEY_ENV: variablePatterns
    .meta(RELOADED)
    .describe(
      "Names of the hub's variables that engines may name as their key, comma-separated, * for any beginning; never the program's own; default *_API_KEY",
    ),
  SVC_ADMIN_PASSWORD: z
    .string()
    .min(12)
    .optional()
    .meta({ secret: "whole" })
    .meta(RELOADED)
    .describe("Administrator's password; unset: the one made at the first start of dev mode"),
  SVC_DEPLOY_ARGV: argv.describe(
    "Command of POST /api/v1/admin/deploy, words or a JSON list; the target and the caller's args follow it",
  ),
  SVC_DEPLOY_TIMEOUT_S: seconds(1_800, 0.1).describe("A deploy that runs longer is ended"),
  SVC_DEPLOY_ENV: variableNames.describe(
    "Names of variables a deploy may read besides PATH, HOME and similar ones, comma-separated",
  ),
  SVC_RESTART_ARGV: argv.describe(
    "Command that restarts a worker on its host over SSH, words or a JSON list; {worker_id} and {host} are filled in",
  ),
  SVC_SSH_HOSTS: list()
    .pipe(
      z.array(
        z
          .string()
          .refine(
            (s) => s === "*" || HOST_NAME.test(s),
            "must be host names, comma-separated, or *",
          ),
      ),
    )
    .meta(RELOADED)
    .describe(
      "Hosts on which workers may be restarted over SSH, comma-separated, or *; none by default",
    ),
  SVC_SSH_USER: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_.-]*$/, "must be a user name")
    .optional()
    .describe("User on those hosts; unset: what ssh takes"),
  SVC_SSH_OPTIONS: argv.describe(
    "Further words for ssh before the host, such as -i FILE, words or a JSON list",
  ),
  SVC_SSH_TIMEOUT_S: seconds(60, 0.1).describe("A restart over SSH that runs longer is ended"),
  SVC_WATCHDOG_SILENT_S: seconds(0)
    .meta(RELOADED)
    .describe("Workers silent for longer are restarted over SSH by themselves; 0 = never"),
  SVC_WATCHDOG_MAX_PER_HOUR: integer(3, 1, 60)
    .meta(RELOADED)
    .describe("Such restarts of one worker within an hour"),
  SVC_QUEUE_PULL_ON_FREE: flag(true).describe(
    "1: a lane that becomes free takes the oldest queued job at once",
  ),
  SVC_QUEUE_REDRIVE_INTERVAL_S: seconds(3, 0.01).describe("Redrive loop interval"),
  SVC_QUEUE_REDRIVE_MIN_AGE_S: seconds(90).describe("Age at which redrive takes a queued job"),
  SVC_QUEUE_REDRIVE_MAX_PER_PASS: integer(0).describe("Jobs per redrive pass; 0 = unlimited"),
  SVC_QUEUE_REDRIVE_DISABLE: flag(false).describe("1 switches the redrive loop off"),
  SVC_QUEUE_TIMEOUT_S: seconds(180)
    .meta(RELOADED)
    .describe("A job queued this long without a worker fails"),
  SVC_SANDBOX: z
    .enum(["bubblewrap", "process"])
    .default("bubblewrap")
    .describe(
      "What scripts of jobs run in; process: a plain process with limits, which may use network and files as the hub may",
    ),
  SVC_RUN_RETENTION_DAYS: integer(7, 0, 36_500)
    .meta(RELOADED)
    .describe("Days after which runs of workloads are deleted; 0 = never"),
  SVC_RUN_RETENTION_COUNT: integer(1_000_000)
    .meta(RELOADED)
    .describe("Newest runs kept of each workload; 0 = all"),
  SVC_AUDIT_DAYS: integer(90, 0, 36_500)
    .meta(RELOADED)
    .describe("Days after which entries of the audit log are deleted; 0 = never"),
  SVC_UPDATE_PARALLEL: integer(1, 1, 1_000).describe(
    "Workers that may be on their way to another version at a time; a canary goes alone",
  ),
  SVC_UPDATE_APPROVAL: z
    .enum(["auto", "manual"])
    .default("auto")
    .describe("manual: once the canary works, the other workers wait for flotilla fleet approve"),
  SVC_UPDATE_DEADLINE_S: seconds(300, 1).describe(
    "How long a worker may be away for an update, or back without being well or having done a job",
  ),
  SVC_BACKUP_DIR: optionalText().describe(
    "Where scheduled backups go, a directory of this fleet's own; unset: none are made",
  ),
  SVC_BACKUP_SCHEDULE: cron.describe(
    "When backups are made, as cron writes it, in the machine's time zone; default 0 3 * * *, every night",
  ),
  SVC_BACKUP_KEEP: integer(7, 1, 10_000).describe(
    "Scheduled backups that are kept; the oldest is removed once a newer one is verified",
  ),
  SVC_LINK_GRACE_S: seconds(10, 0, 60).describe(
    "How long a worker whose link was cut may take to come back to its jobs and sessions; 0: not at all",
  ),
  SVC_DRAIN_TIMEOUT_S: seconds(30).describe(
    "How long a stopping hub or worker waits for running jobs and open sessions",
  ),
  SVC_STALE_RECONCILE_INTERVAL_S: seconds(90, 0.01).describe("Reconciler interval"),
  SVC_STALE_RUNNING_GRACE_S: seconds(300).describe(
    "Age at which a running job fails when its worker is not alive",
  ),
});
