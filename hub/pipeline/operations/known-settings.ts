import { z } from "zod";
import type { HubConfig } from "#hub/platform/config.ts";
import { hideCredentials, MASK } from "#shared/kit/hide-credentials.ts";
import { LOG_LEVELS } from "#shared/kit/log.ts";
import { LlmEngine } from "#shared/protocol/schema/operations.ts";
import { maskDbUrl } from "../mask-db-url.ts";

/** A setting that PUT /settings/{key} changes; the change takes effect at the next use. */
interface WritableSetting<S extends z.ZodType> {
  description: string;
  schema: S;
  fallback: z.output<S>;
}
const writable = <S extends z.ZodType>(
  schema: S,
  fallback: z.output<S>,
  description: string,
): WritableSetting<S> => ({ schema, fallback, description });

const uniqueNames = (engines: LlmEngine[]) =>
  new Set(engines.map(({ name }) => name)).size === engines.length;

export const WRITABLE = {
  llm_default_engine: writable(
    z.string().min(1).max(100).nullable(),
    null,
    "Engine to test when none is named; unset: the only engine, if there is just one",
  ),
  llm_engines: writable(
    z.array(LlmEngine).max(50).refine(uniqueNames, { error: "two engines have the same name" }),
    [],
    "OpenAI-compatible endpoints: name, url, model, and the name of the variable that holds the key",
  ),
  llm_timeout_s: writable(
    z.number().min(0.1).max(300),
    20,
    "Seconds that an engine has to answer a test",
  ),
  service_log_days: writable(
    z.number().min(0.01).max(3_650),
    7,
    "How many days service logs are kept",
  ),
  service_log_level: writable(
    z.enum(LOG_LEVELS),
    "info",
    "Lowest level of service logs to keep: debug, info, warn or error",
  ),
  service_log_max_rows: writable(
    z.int().min(100).max(10_000_000),
    200_000,
    "Maximum number of service log lines; the oldest are deleted",
  ),
} as const;
export type WritableKey = keyof typeof WRITABLE;
export type ValueOf<K extends WritableKey> = z.output<(typeof WRITABLE)[K]["schema"]>;

export const isWritable = (key: string): key is WritableKey => Object.hasOwn(WRITABLE, key);

interface FixedSetting {
  variable: string;
  description: string;
  value(config: HubConfig): unknown;
  secret?: true;
}

const secret = (value: string | null) => (value === null ? null : MASK);

/** What the program reads from its variables when it starts: shown here, but not changed here. */
export const FIXED: Record<string, FixedSetting> = {
  admin_password: {
    variable: "SVC_ADMIN_PASSWORD",
    description: "Administrator's password; replaces the one generated at the first start",
    value: ({ admin_password }) => secret(admin_password),
    secret: true,
  },
  api_token: {
    variable: "SVC_API_TOKEN",
    description: "Bearer token that HTTP calls need",
    value: ({ api_token }) => secret(api_token),
    secret: true,
  },
  cors_origins: {
    variable: "SVC_CORS_ORIGINS",
    description: "Origins allowed by CORS",
    value: ({ cors_origins }) => cors_origins,
  },
  data_dir: {
    variable: "SVC_DATA_DIR",
    description: "Database, objects and scratch files",
    value: ({ data_dir }) => data_dir,
  },
  db_url: {
    variable: "SVC_DB_URL",
    description: "Database, without its password",
    value: ({ db_url }) => maskDbUrl(db_url),
  },
  deploy_argv: {
    variable: "SVC_DEPLOY_ARGV",
    description: "Command of POST /admin/deploy; target and args follow it",
    value: ({ deploy }) => deploy.argv?.map(hideCredentials) ?? null,
  },
  deploy_timeout_s: {
    variable: "SVC_DEPLOY_TIMEOUT_S",
    description: "Seconds after which a deploy is ended",
    value: ({ deploy }) => deploy.timeout_ms / 1_000,
  },
  log_level: {
    variable: "SVC_LOG_LEVEL",
    description: "Lowest level of the lines on standard error",
    value: ({ log_level }) => log_level,
  },
  objects_url: {
    variable: "SVC_OBJECTS_URL",
    description: "Object store",
    value: ({ objects_url }) => hideCredentials(objects_url),
  },
  restart_argv: {
    variable: "SVC_RESTART_ARGV",
    description: "Command that restarts a worker on its host over SSH",
    value: ({ ssh }) => ssh.command?.map(hideCredentials) ?? null,
  },
  ssh_hosts: {
    variable: "SVC_SSH_HOSTS",
    description: "Hosts on which workers may be restarted over SSH",
    value: ({ ssh }) => ssh.hosts,
  },
  watchdog_silent_s: {
    variable: "SVC_WATCHDOG_SILENT_S",
    description: "Seconds of silence after which a worker is restarted over SSH; 0 = never",
    value: ({ watchdog }) => watchdog.silent_ms / 1_000,
  },
  worker_secret: {
    variable: "WORKER_SECRET",
    description: "Secret that workers and agents prove",
    value: ({ worker_secret }) => secret(worker_secret),
    secret: true,
  },
};
