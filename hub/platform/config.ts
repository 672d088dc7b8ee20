import { join, resolve } from "node:path";
import { z } from "zod";
import {
  blankIsUnset,
  ConfigError,
  type EnvSource,
  flag,
  integer,
  list,
  optionalText,
  parseEnv,
  RELOADED,
  seconds,
  secretText,
  secretUrl,
  text,
} from "#shared/kit/env.ts";
import { LOG_FORMATS, LOG_LEVELS, type LogFormat } from "#shared/kit/log.ts";
import { TOKEN_PREFIX, workerSecret } from "#shared/kit/secret.ts";
import type { SecretHosts } from "#shared/protocol/recipe-secrets.ts";
import { HOST_NAME } from "#shared/protocol/schema/agent.ts";
import type { TlsFiles } from "./http/tls-files.ts";
import type { S3Keys } from "./stores/s3-url.ts";

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
const DEFAULT_PREFIXES = ["thumbnails/", "public/"];

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
const DEFAULT_ENGINE_KEYS = ["*_API_KEY"];

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
 * Five or six fields; that a time is to come is judged where the hub starts. Workers read this file too, and one whose program
 * is older has no package to reckon it with.
 */
const CRON_FIELDS = /^\s*[\w*,/?#-]+(\s+[\w*,/?#-]+){4,5}\s*$/;
const cron = optionalText().refine(
  (pattern) => pattern === undefined || CRON_FIELDS.test(pattern),
  { error: "must be a cron pattern with a time to come, such as 0 3 * * *" },
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
  SVC_PLUGINS_DIR: optionalText().describe(
    "Folder of the pipeline's plugins; default plugins/ in the data directory",
  ),
  SVC_MINIO_PREFIXES: prefixes
    .meta(RELOADED)
    .describe(
      "Beginnings of object keys that /api/v1/minio gives out, comma-separated; default thumbnails/,public/",
    ),
  SVC_REDIS_URL: secretUrl().describe(
    "Shared key-value store of several hubs, redis://…; needs Postgres. Unset: one hub, in memory",
  ),
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
  SVC_SECRET_KEY_FILE: optionalText().describe(
    "File of the key that encrypts cookies and profiles where they are stored, made at the first start; hubs of one database need the same. Default: secret.key in the data directory, which a hub on Postgres uses and does not make",
  ),
  SVC_LOG_LEVEL: z
    .enum(LOG_LEVELS)
    .default("info")
    .meta(RELOADED)
    .describe("debug, info, warn or error"),
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
    "Names of variables a deploy may read beside PATH, HOME and the like, comma-separated",
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

export const HUB_MODES = ["dev", "hub", "control"] as const;
export type HubMode = (typeof HUB_MODES)[number];

export interface HubConfig {
  readonly mode: HubMode;
  readonly host: string;
  readonly port: number;
  readonly db_url: string;
  readonly objects_url: string;
  /** Of a bucket; null when none are set. Never logged or answered. */
  readonly object_keys: S3Keys | null;
  /** Workers may put large bodies into the bucket themselves. */
  readonly direct_uploads: boolean;
  /** Null: this hub is the only one. */
  readonly redis_url: string | null;
  readonly redis_prefix: string;
  readonly advertise_url: string | null;
  /** Null: plain HTTP. */
  readonly tls: TlsFiles | null;
  readonly tls_ca: string | null;
  readonly data_dir: string;
  /** What encrypts cookies and profiles where they are stored. */
  readonly secret_key_file: string;
  /** Whether a start makes that file where there is none. A database that hubs of other machines may share is asked for by name. */
  readonly makes_secret_key: boolean;
  /** What scripts of jobs run in. */
  readonly sandbox: "bubblewrap" | "process";
  readonly plugins_dir: string;
  /** Each ends with a slash. */
  readonly minio_prefixes: readonly string[];
  readonly log_level: (typeof LOG_LEVELS)[number];
  readonly log_format: LogFormat;
  /** WORKER_SECRET, else one derived from the token; null where there is neither. */
  readonly worker_secret: string | null;
  readonly public_base_url: string | null;
  readonly api_token: string | null;
  readonly cors_origins: readonly string[];
  /** Names that the server answers to beside its own, in lower case; `*` is any. */
  readonly allowed_hosts: readonly string[];
  readonly min_asset_size_bytes: number;
  readonly max_asset_bytes: number;
  readonly max_profile_bytes: number;
  readonly submit_wait_ms: number;
  /** Values that recipes may use, by name. Never stored, logged or answered. */
  readonly recipe_env: Readonly<Record<string, string>>;
  /** On which hosts they may be entered; those that are bound to none are not here. */
  readonly recipe_hosts: SecretHosts;
  /** The engine when none is configured. The key is never stored or logged. */
  readonly codegen: {
    readonly url: string;
    readonly model: string;
    readonly api_key: string | null;
  } | null;
  /**
   * Value of a variable that an engine names as its key; undefined when it is not set, null when SVC_ENGINE_KEY_ENV does not
   * allow it. Never stored or logged, and answered to workers alone.
   */
  readonly engineKey: (name: string) => string | null | undefined;
  readonly admin_password: string | null;
  readonly deploy: {
    readonly argv: readonly string[] | null;
    readonly timeout_ms: number;
    /** All that the command sees of this process' environment. */
    readonly environment: Readonly<Record<string, string>>;
  };
  /** How a worker is restarted on its host; `command` null: not at all. */
  readonly ssh: {
    readonly command: readonly string[] | null;
    /** Host names, or `*`. */
    readonly hosts: readonly string[];
    readonly user: string | null;
    readonly options: readonly string[];
    readonly timeout_ms: number;
    readonly environment: Readonly<Record<string, string>>;
  };
  /** `silent_ms` 0: off. */
  readonly watchdog: { readonly silent_ms: number; readonly max_per_hour: number };
  /** Names of the variables that were given, as such or as a flag. */
  readonly given: ReadonlySet<string>;
  /** What `nodeVersion` falls back to (rules/updates#version-fallbacks). */
  readonly version_fallback: string | undefined;
  readonly queue: {
    readonly pull_on_free: boolean;
    readonly redrive: boolean;
    readonly redrive_interval_ms: number;
    readonly redrive_min_age_ms: number;
    readonly redrive_max_per_pass: number;
    readonly timeout_ms: number;
  };
  /** Of the audit log; 0 is no bound. */
  readonly audit_days: number;
  /** Of runs; 0 is no bound. */
  readonly retention: { readonly run_days: number; readonly runs_per_workload: number };
  /** How a fleet goes to another version. */
  readonly updates: {
    readonly parallel: number;
    readonly approval: "auto" | "manual";
    readonly deadline_ms: number;
  };
  /** Scheduled backups; null: none. */
  readonly backup: {
    readonly dir: string;
    readonly schedule: string;
    readonly keep: number;
    /** All that the backup's process sees of this process' environment. */
    readonly environment: Readonly<Record<string, string>>;
  } | null;
  /** Below the 120 s for which leases and registrations stand without a heartbeat. */
  readonly link_grace_ms: number;
  /** How long a stop waits for what runs. */
  readonly drain_ms: number;
  readonly stale: { readonly reconcile_interval_ms: number; readonly running_grace_ms: number };
}

/** What a command of the operator sees in any case: never a secret of this program. */
const COMMAND_INHERITS =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|SSH_AUTH_SOCK|XDG_[A-Z_]+|(https?|no|all)_proxy)$/i;
/** Values of these belong to this program itself. */
const OWN_VARIABLE =
  /^(SVC_|WORKER_|FLOTILLA_|HUB_URL$|CODEGEN_LLM_API_KEY$|PG[A-Z]+$|(S3|AWS)_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)$)/i;

function hostsByName(entries: readonly { name: string; host: string | null }[]) {
  const hosts: Record<string, string[]> = {};
  for (const { name, host } of entries)
    if (host !== null) hosts[name] = [...(hosts[name] ?? []), host];
  return hosts;
}

/** The list says which; the program's own secrets are none, whatever it says. */
function engineKeys(given: readonly string[], env: EnvSource): HubConfig["engineKey"] {
  const patterns = given.length > 0 ? given : DEFAULT_ENGINE_KEYS;
  const allows = (pattern: string, name: string) =>
    pattern.startsWith("*") ? name.endsWith(pattern.slice(1)) : name === pattern;
  return (name) =>
    OWN_VARIABLE.test(name) || !patterns.some((pattern) => allows(pattern, name))
      ? null
      : env[name]?.trim() || undefined;
}

const valuesOf = (env: EnvSource, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const])),
  );

/** The keys of one source alone: half of each would open nothing. */
function objectKeys(e: z.output<typeof HubEnv>, given: EnvSource): S3Keys | null {
  const own = e.S3_ACCESS_KEY_ID ?? e.S3_SECRET_ACCESS_KEY;
  const [id, secret, token] =
    own === undefined
      ? [given.AWS_ACCESS_KEY_ID, given.AWS_SECRET_ACCESS_KEY, given.AWS_SESSION_TOKEN]
      : [e.S3_ACCESS_KEY_ID, e.S3_SECRET_ACCESS_KEY, e.S3_SESSION_TOKEN];
  if (id === undefined || secret === undefined) return null;
  return Object.freeze({ access_key_id: id, secret_access_key: secret, session_token: token });
}

/** @throws ConfigError for a URL without a model, or the other way round. */
function codegenOf(e: z.output<typeof HubEnv>): HubConfig["codegen"] {
  const { CODEGEN_LLM_URL: url, CODEGEN_MODEL_NAME: model, CODEGEN_LLM_API_KEY: key } = e;
  if (url === undefined && model === undefined) return null;
  if (url === undefined || model === undefined)
    throw new ConfigError(
      url === undefined
        ? "CODEGEN_LLM_URL: is required when CODEGEN_MODEL_NAME is set"
        : "CODEGEN_MODEL_NAME: is required when CODEGEN_LLM_URL is set",
    );
  return Object.freeze({ url, model, api_key: key ?? null });
}

/** @throws ConfigError for a certificate without its key, or the other way round. */
function tlsOf({ SVC_TLS_CERT: cert, SVC_TLS_KEY: key }: z.output<typeof HubEnv>): TlsFiles | null {
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined)
    throw new ConfigError(
      cert === undefined
        ? "SVC_TLS_CERT: is required when SVC_TLS_KEY is set"
        : "SVC_TLS_KEY: is required when SVC_TLS_CERT is set",
    );
  return Object.freeze({ cert, key });
}

const usualBase = (e: z.output<typeof HubEnv>): string =>
  e.SVC_TLS_CERT === undefined ? "http://hub:8000" : "https://hub:8000";

const EVERY_NIGHT = "0 3 * * *";

const isOnPostgres = ({ SVC_DB_URL: url }: z.output<typeof HubEnv>): boolean =>
  /^postgres(ql)?:/i.test(url ?? "");

/** @throws ConfigError for a schedule without a directory. */
function backupOf(e: z.output<typeof HubEnv>, env: EnvSource): HubConfig["backup"] {
  const { SVC_BACKUP_DIR: dir, SVC_BACKUP_SCHEDULE: schedule, SVC_BACKUP_KEEP: keep } = e;
  if (dir === undefined && schedule !== undefined)
    throw new ConfigError("SVC_BACKUP_DIR: is required when SVC_BACKUP_SCHEDULE is set");
  if (dir === undefined) return null;
  if (isOnPostgres(e))
    throw new ConfigError(
      "SVC_BACKUP_DIR: scheduled backups are of SQLite; with Postgres schedule pg_dump or keep its WAL (guide: how-to/backup)",
    );
  return Object.freeze({
    dir: resolve(dir),
    schedule: schedule ?? EVERY_NIGHT,
    keep,
    // It asks the bucket, which may have a certificate of one's own authority.
    environment: Object.freeze({
      ...commandEnvironment(env),
      ...valuesOf(env, ["NODE_EXTRA_CA_CERTS"]),
    }),
  });
}

const commandEnvironment = (env: EnvSource): Record<string, string> =>
  valuesOf(
    env,
    Object.keys(env).filter((name) => COMMAND_INHERITS.test(name)),
  );

/**
 * The configuration of a hub: `overrides` (flags, under the names of their variables) win over `env`; blank means unset.
 * @throws ConfigError naming every bad variable.
 */
export function loadHubConfig(
  env: EnvSource,
  overrides: EnvSource = {},
  mode: HubMode = "hub",
): HubConfig {
  const given = { ...blankIsUnset(env), ...blankIsUnset(overrides) };
  const e = parseEnv(HubEnv, given);
  if (e.SVC_REDIS_URL !== undefined && !isOnPostgres(e))
    throw new ConfigError(
      "SVC_REDIS_URL: hubs that share Redis share a database too; set SVC_DB_URL to postgres://…",
    );
  if (e.SVC_DIRECT_UPLOADS && !/^s3:/i.test(e.SVC_OBJECTS_URL ?? ""))
    throw new ConfigError("SVC_DIRECT_UPLOADS: needs objects in S3; set SVC_OBJECTS_URL to s3://…");
  const data_dir = resolve(e.SVC_DATA_DIR);
  const host = e.SVC_HOST ?? (mode === "dev" ? "127.0.0.1" : "0.0.0.0");
  return Object.freeze({
    mode,
    host,
    port: e.SVC_PORT,
    db_url: e.SVC_DB_URL ?? `sqlite:${join(data_dir, "flotilla.db")}`,
    objects_url: e.SVC_OBJECTS_URL ?? `file:${join(data_dir, "objects")}`,
    object_keys: objectKeys(e, given),
    direct_uploads: e.SVC_DIRECT_UPLOADS,
    redis_url: e.SVC_REDIS_URL ?? null,
    redis_prefix: e.SVC_REDIS_PREFIX,
    advertise_url: e.SVC_ADVERTISE_URL ?? null,
    tls: tlsOf(e),
    tls_ca: e.SVC_TLS_CA ?? null,
    data_dir,
    secret_key_file: resolve(e.SVC_SECRET_KEY_FILE ?? join(data_dir, "secret.key")),
    makes_secret_key: e.SVC_SECRET_KEY_FILE !== undefined || !isOnPostgres(e),
    sandbox: e.SVC_SANDBOX,
    plugins_dir: resolve(e.SVC_PLUGINS_DIR ?? join(data_dir, "plugins")),
    minio_prefixes: Object.freeze(
      e.SVC_MINIO_PREFIXES.length > 0 ? e.SVC_MINIO_PREFIXES : DEFAULT_PREFIXES,
    ),
    log_level: e.SVC_LOG_LEVEL,
    log_format: e.SVC_LOG_FORMAT,
    worker_secret: workerSecret(e.WORKER_SECRET, e.SVC_API_TOKEN),
    public_base_url: e.PUBLIC_BASE_URL ?? (mode === "hub" ? usualBase(e) : null),
    api_token: e.SVC_API_TOKEN ?? null,
    cors_origins: Object.freeze(e.SVC_CORS_ORIGINS),
    allowed_hosts: Object.freeze(e.SVC_ALLOWED_HOSTS),
    min_asset_size_bytes: e.SVC_MIN_ASSET_SIZE_BYTES,
    max_asset_bytes: e.SVC_MAX_ASSET_BYTES,
    max_profile_bytes: e.SVC_PROFILE_MAX_BYTES,
    submit_wait_ms: e.SVC_SUBMIT_WAIT_S,
    recipe_env: Object.freeze(
      valuesOf(
        blankIsUnset(env),
        e.SVC_RECIPE_ENV.map(({ name }) => name),
      ),
    ),
    recipe_hosts: Object.freeze(hostsByName(e.SVC_RECIPE_ENV)),
    codegen: codegenOf(e),
    engineKey: engineKeys(e.SVC_ENGINE_KEY_ENV, env),
    admin_password: e.SVC_ADMIN_PASSWORD ?? null,
    deploy: Object.freeze({
      argv: e.SVC_DEPLOY_ARGV ?? null,
      timeout_ms: e.SVC_DEPLOY_TIMEOUT_S,
      environment: Object.freeze({
        ...commandEnvironment(env),
        ...valuesOf(env, e.SVC_DEPLOY_ENV),
      }),
    }),
    ssh: Object.freeze({
      command: e.SVC_RESTART_ARGV ?? null,
      hosts: Object.freeze(e.SVC_SSH_HOSTS),
      user: e.SVC_SSH_USER ?? null,
      options: Object.freeze(e.SVC_SSH_OPTIONS ?? []),
      timeout_ms: e.SVC_SSH_TIMEOUT_S,
      environment: Object.freeze(commandEnvironment(env)),
    }),
    watchdog: Object.freeze({
      silent_ms: e.SVC_WATCHDOG_SILENT_S,
      max_per_hour: e.SVC_WATCHDOG_MAX_PER_HOUR,
    }),
    given: new Set(Object.keys(given)),
    version_fallback: e.SVC_VERSION,
    queue: Object.freeze({
      pull_on_free: e.SVC_QUEUE_PULL_ON_FREE,
      redrive: !e.SVC_QUEUE_REDRIVE_DISABLE,
      redrive_interval_ms: e.SVC_QUEUE_REDRIVE_INTERVAL_S,
      redrive_min_age_ms: e.SVC_QUEUE_REDRIVE_MIN_AGE_S,
      redrive_max_per_pass: e.SVC_QUEUE_REDRIVE_MAX_PER_PASS,
      timeout_ms: e.SVC_QUEUE_TIMEOUT_S,
    }),
    audit_days: e.SVC_AUDIT_DAYS,
    retention: Object.freeze({
      run_days: e.SVC_RUN_RETENTION_DAYS,
      runs_per_workload: e.SVC_RUN_RETENTION_COUNT,
    }),
    updates: Object.freeze({
      parallel: e.SVC_UPDATE_PARALLEL,
      approval: e.SVC_UPDATE_APPROVAL,
      deadline_ms: e.SVC_UPDATE_DEADLINE_S,
    }),
    backup: backupOf(e, env),
    link_grace_ms: e.SVC_LINK_GRACE_S,
    drain_ms: e.SVC_DRAIN_TIMEOUT_S,
    stale: Object.freeze({
      reconcile_interval_ms: e.SVC_STALE_RECONCILE_INTERVAL_S,
      running_grace_ms: e.SVC_STALE_RUNNING_GRACE_S,
    }),
  });
}
