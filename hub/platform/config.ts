import { join, resolve } from "node:path";
import type { z } from "zod";
import { blankIsUnset, ConfigError, type EnvSource, parseEnv } from "#shared/kit/env.ts";
import type { LOG_LEVELS, LogFormat } from "#shared/kit/log.ts";
import { workerSecret } from "#shared/kit/secret.ts";
import { type TracingSettings, tracingOf } from "#shared/kit/tracing/otel-env.ts";
import type { SecretHosts } from "#shared/protocol/recipe-secrets.ts";
import type { TlsFiles } from "./http/tls-files.ts";
import { DEFAULT_ENGINE_KEYS, DEFAULT_PREFIXES, HubEnv } from "./hub-env.ts";
import { SHARED_DRIVER_NAMES, SHARED_DRIVERS, type SharedStore } from "./shared-drivers.ts";
import type { S3Keys } from "./stores/s3-url.ts";

export const HUB_MODES = ["dev", "hub", "control"] as const;
export type HubMode = (typeof HUB_MODES)[number];

export interface HubConfig {
  readonly mode: HubMode;
  readonly host: string;
  readonly port: number;
  readonly db_url: string;
  readonly db_pool_size: number | undefined;
  readonly objects_url: string;
  /** Keys of a bucket; null when none are set. Never logged or answered. */
  readonly object_keys: S3Keys | null;
  /** Workers may put large bodies into the bucket themselves. */
  readonly direct_uploads: boolean;
  /** What it shares with other hubs; null: this hub is the only one. */
  readonly shared_store: SharedStore | null;
  readonly advertise_url: string | null;
  /** Null: plain HTTP. */
  readonly tls: TlsFiles | null;
  readonly tls_ca: string | null;
  readonly data_dir: string;
  /** Null: the default of each disk; 0: none. */
  readonly disk_reserve_bytes: number | null;
  /** What encrypts cookies and profiles where they are stored. */
  readonly secret_key_file: string;
  /** Whether a start makes that file where there is none; not for a database that hubs of other machines may share. */
  readonly makes_secret_key: boolean;
  /** What scripts of jobs run in. */
  readonly sandbox: "bubblewrap" | "process";
  readonly plugins_dir: string;
  /** Where ffmpeg is; null: on PATH. */
  readonly ffmpeg: string | null;
  /** Each ends with a slash. */
  readonly minio_prefixes: readonly string[];
  /** Where traces go; null: none are made. */
  readonly tracing: TracingSettings | null;
  readonly log_level: (typeof LOG_LEVELS)[number];
  /** Whether every answered request is a line of the log. */
  readonly logs_access: boolean;
  /** Whether every entry of the audit log is one too. */
  readonly logs_audit: boolean;
  readonly log_format: LogFormat;
  /** WORKER_SECRET, else one derived from the token; null where there is neither. */
  readonly worker_secret: string | null;
  readonly public_base_url: string | null;
  readonly api_token: string | null;
  readonly cors_origins: readonly string[];
  /** Further names that the server answers to, in lower case; `*` is any. */
  readonly allowed_hosts: readonly string[];
  readonly min_asset_size_bytes: number;
  readonly max_asset_bytes: number;
  readonly max_profile_bytes: number;
  readonly submit_wait_ms: number;
  /** Values that recipes may use, by name. Never stored, logged or answered. */
  readonly recipe_env: Readonly<Record<string, string>>;
  /** On which hosts they may be entered; values that are bound to no host are not listed. */
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
    /** All that the command sees of this process's environment. */
    readonly environment: Readonly<Record<string, string>>;
  };
  /** How a worker is restarted on its host; with `command` null, not at all. */
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
  /** Names of the variables that were given, as variables or flags. */
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
    /** All that the backup's process sees of this process's environment. */
    readonly environment: Readonly<Record<string, string>>;
  } | null;
  /** Below the 120 s for which leases and registrations stand without a heartbeat. */
  readonly link_grace_ms: number;
  /** How long a stop waits for what runs. */
  readonly drain_ms: number;
  readonly stale: { readonly reconcile_interval_ms: number; readonly running_grace_ms: number };
}

type Parsed = z.output<typeof HubEnv>;

/** What a command of the operator always sees: never a secret of this program. */
const COMMAND_INHERITS =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|SSH_AUTH_SOCK|XDG_[A-Z_]+|(https?|no|all)_proxy)$/i;
/** Variables of this program itself. */
const OWN_VARIABLE =
  /^(SVC_|WORKER_|FLOTILLA_|HUB_URL$|CODEGEN_LLM_API_KEY$|PG[A-Z]+$|(S3|AWS)_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)$)/i;

function hostsByName(entries: readonly { name: string; host: string | null }[]) {
  const hosts: Record<string, string[]> = {};
  for (const { name, host } of entries)
    if (host !== null) hosts[name] = [...(hosts[name] ?? []), host];
  return hosts;
}

/** The list says which variables; the program's own secrets never count, whatever it says. */
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

/** Both keys from one source, because half of each would open nothing. */
function objectKeys(e: Parsed, given: EnvSource): S3Keys | null {
  const own = e.S3_ACCESS_KEY_ID ?? e.S3_SECRET_ACCESS_KEY;
  const [id, secret, token] =
    own === undefined
      ? [given.AWS_ACCESS_KEY_ID, given.AWS_SECRET_ACCESS_KEY, given.AWS_SESSION_TOKEN]
      : [e.S3_ACCESS_KEY_ID, e.S3_SECRET_ACCESS_KEY, e.S3_SESSION_TOKEN];
  if (id === undefined || secret === undefined) return null;
  return Object.freeze({ access_key_id: id, secret_access_key: secret, session_token: token });
}

/** @throws ConfigError for a URL without a model, or the other way round. */
function codegenOf(e: Parsed): HubConfig["codegen"] {
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
function tlsOf({ SVC_TLS_CERT: cert, SVC_TLS_KEY: key }: Parsed): TlsFiles | null {
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined)
    throw new ConfigError(
      cert === undefined
        ? "SVC_TLS_CERT: is required when SVC_TLS_KEY is set"
        : "SVC_TLS_KEY: is required when SVC_TLS_CERT is set",
    );
  return Object.freeze({ cert, key });
}

const usualBase = (e: Parsed): string =>
  e.SVC_TLS_CERT === undefined ? "http://hub:8000" : "https://hub:8000";

const EVERY_NIGHT = "0 3 * * *";

const isOnPostgres = ({ SVC_DB_URL: url }: Parsed): boolean => /^postgres(ql)?:/i.test(url ?? "");

/** @throws ConfigError for a schedule without a directory. */
function backupOf(e: Parsed, env: EnvSource): HubConfig["backup"] {
  const { SVC_BACKUP_DIR: dir, SVC_BACKUP_SCHEDULE: schedule, SVC_BACKUP_KEEP: keep } = e;
  if (dir === undefined && schedule !== undefined)
    throw new ConfigError("SVC_BACKUP_DIR: is required when SVC_BACKUP_SCHEDULE is set");
  if (dir === undefined) return null;
  if (isOnPostgres(e))
    throw new ConfigError(
      "SVC_BACKUP_DIR: scheduled backups work with SQLite only; with Postgres schedule pg_dump or keep its WAL (guide: how-to/backup)",
    );
  return Object.freeze({
    dir: resolve(dir),
    schedule: schedule ?? EVERY_NIGHT,
    keep,
    // It calls the bucket, whose certificate may be of one's own authority.
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

/** @throws ConfigError for more than one. */
function sharedStoreOf(e: Parsed): SharedStore | null {
  const given = SHARED_DRIVER_NAMES.flatMap((driver) => {
    const url = e[SHARED_DRIVERS[driver].variable];
    return url === undefined ? [] : [{ driver, url, prefix: e.SVC_REDIS_PREFIX }];
  });
  if (given.length > 1)
    throw new ConfigError(
      `${given.map(({ driver }) => SHARED_DRIVERS[driver].variable).join(", ")}: set only one of them`,
    );
  return given[0] ?? null;
}

/** @throws ConfigError for variables that cannot be given together. */
function checkStores(e: Parsed): void {
  const shared = sharedStoreOf(e);
  if (shared && !isOnPostgres(e)) {
    const { variable, title } = SHARED_DRIVERS[shared.driver];
    throw new ConfigError(
      `${variable}: hubs that share ${title} must also share a database; set SVC_DB_URL to postgres://…`,
    );
  }
  if (e.SVC_DIRECT_UPLOADS && !/^s3:/i.test(e.SVC_OBJECTS_URL ?? ""))
    throw new ConfigError("SVC_DIRECT_UPLOADS: needs objects in S3; set SVC_OBJECTS_URL to s3://…");
}

/** Where everything is stored. */
function storesOf(e: Parsed, given: EnvSource) {
  const data_dir = resolve(e.SVC_DATA_DIR);
  return {
    data_dir,
    disk_reserve_bytes: e.SVC_DISK_RESERVE_BYTES ?? null,
    db_url: e.SVC_DB_URL ?? `sqlite:${join(data_dir, "flotilla.db")}`,
    db_pool_size: e.SVC_DB_POOL_SIZE,
    objects_url: e.SVC_OBJECTS_URL ?? `file:${join(data_dir, "objects")}`,
    object_keys: objectKeys(e, given),
    direct_uploads: e.SVC_DIRECT_UPLOADS,
    shared_store: sharedStoreOf(e),
    secret_key_file: resolve(e.SVC_SECRET_KEY_FILE ?? join(data_dir, "secret.key")),
    makes_secret_key: e.SVC_SECRET_KEY_FILE !== undefined || !isOnPostgres(e),
    plugins_dir: resolve(e.SVC_PLUGINS_DIR ?? join(data_dir, "plugins")),
    ffmpeg: e.SVC_FFMPEG ?? null,
    minio_prefixes: Object.freeze(
      e.SVC_MINIO_PREFIXES.length > 0 ? e.SVC_MINIO_PREFIXES : DEFAULT_PREFIXES,
    ),
  };
}

/** Programs that the hub starts for an operator. */
function commandsOf(e: Parsed, env: EnvSource): Pick<HubConfig, "deploy" | "ssh"> {
  return {
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
  };
}

/** What the hub does regularly by itself. */
function upkeepOf(
  e: Parsed,
): Pick<HubConfig, "watchdog" | "queue" | "audit_days" | "retention" | "updates" | "stale"> {
  return {
    watchdog: Object.freeze({
      silent_ms: e.SVC_WATCHDOG_SILENT_S,
      max_per_hour: e.SVC_WATCHDOG_MAX_PER_HOUR,
    }),
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
    stale: Object.freeze({
      reconcile_interval_ms: e.SVC_STALE_RECONCILE_INTERVAL_S,
      running_grace_ms: e.SVC_STALE_RUNNING_GRACE_S,
    }),
  };
}

/** What jobs get. */
function jobsOf(e: Parsed, env: EnvSource) {
  const recipe_names = e.SVC_RECIPE_ENV.map(({ name }) => name);
  return {
    min_asset_size_bytes: e.SVC_MIN_ASSET_SIZE_BYTES,
    max_asset_bytes: e.SVC_MAX_ASSET_BYTES,
    max_profile_bytes: e.SVC_PROFILE_MAX_BYTES,
    submit_wait_ms: e.SVC_SUBMIT_WAIT_S,
    recipe_env: Object.freeze(valuesOf(blankIsUnset(env), recipe_names)),
    recipe_hosts: Object.freeze(hostsByName(e.SVC_RECIPE_ENV)),
    sandbox: e.SVC_SANDBOX,
    codegen: codegenOf(e),
    engineKey: engineKeys(e.SVC_ENGINE_KEY_ENV, env),
  };
}

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
  checkStores(e);
  return Object.freeze({
    mode,
    host: e.SVC_HOST ?? (mode === "dev" ? "127.0.0.1" : "0.0.0.0"),
    port: e.SVC_PORT,
    ...storesOf(e, given),
    advertise_url: e.SVC_ADVERTISE_URL ?? null,
    tls: tlsOf(e),
    tls_ca: e.SVC_TLS_CA ?? null,
    tracing: tracingOf(e),
    log_level: e.SVC_LOG_LEVEL,
    logs_access: e.SVC_ACCESS_LOG,
    logs_audit: e.SVC_AUDIT_LOG,
    log_format: e.SVC_LOG_FORMAT,
    worker_secret: workerSecret(e.WORKER_SECRET, e.SVC_API_TOKEN),
    public_base_url: e.PUBLIC_BASE_URL ?? (mode === "hub" ? usualBase(e) : null),
    api_token: e.SVC_API_TOKEN ?? null,
    cors_origins: Object.freeze(e.SVC_CORS_ORIGINS),
    allowed_hosts: Object.freeze(e.SVC_ALLOWED_HOSTS),
    ...jobsOf(e, env),
    admin_password: e.SVC_ADMIN_PASSWORD ?? null,
    ...commandsOf(e, env),
    given: new Set(Object.keys(given)),
    version_fallback: e.SVC_VERSION,
    ...upkeepOf(e),
    backup: backupOf(e, env),
    link_grace_ms: e.SVC_LINK_GRACE_S,
    drain_ms: e.SVC_DRAIN_TIMEOUT_S,
  });
}
