/** The flags of the modes, and those that commands share with them. */

export const MODES = ["dev", "hub", "worker", "control"] as const;
export type Mode = (typeof MODES)[number];

/** Where commands look for a hub when no address is given. */
export const DEFAULT_HUB = "http://localhost:8000";

export interface Flag {
  name: string;
  short?: string;
  /** Variable the flag sets; absent on flags that only make sense on a command line. */
  env?: string;
  /** Placeholder of the value in `--help`; absent on switches. */
  value?: string;
  /** May be given more than once; the values are kept in order. */
  repeatable?: boolean;
  help: string;
}

export const HOST: Flag = {
  name: "host",
  env: "SVC_HOST",
  value: "ADDRESS",
  help: "address to listen on",
};
export const PORT: Flag = { name: "port", env: "SVC_PORT", value: "N", help: "port to listen on" };
export const DB: Flag = {
  name: "db-url",
  env: "SVC_DB_URL",
  value: "URL",
  help: "sqlite:PATH or postgres://…",
};
export const OBJECTS: Flag = {
  name: "objects-url",
  env: "SVC_OBJECTS_URL",
  value: "URL",
  help: "where asset bodies go, file:PATH or s3://BUCKET",
};
const REDIS: Flag = {
  name: "redis-url",
  env: "SVC_REDIS_URL",
  value: "URL",
  help: "shared key-value store of several hubs, redis://…",
};
/** Where hubs keep what they have, for the commands that look at all of it. */
export const STORES = [DB, REDIS, OBJECTS];
export const DATA: Flag = {
  name: "data-dir",
  env: "SVC_DATA_DIR",
  value: "DIR",
  help: "database, objects and scratch files",
};
export const LOG: Flag = {
  name: "log-level",
  env: "SVC_LOG_LEVEL",
  value: "LEVEL",
  help: "debug, info, warn or error",
};
const LOG_FORMAT: Flag = {
  name: "log-format",
  env: "SVC_LOG_FORMAT",
  value: "FORMAT",
  help: "human, json or auto (human on a terminal, JSON elsewhere)",
};
const TLS_CERT: Flag = {
  name: "tls-cert",
  env: "SVC_TLS_CERT",
  value: "FILE",
  help: "certificate (PEM) for serving https and wss",
};
const TLS_KEY: Flag = {
  name: "tls-key",
  env: "SVC_TLS_KEY",
  value: "FILE",
  help: "the certificate's key (PEM)",
};
const TLS_CA: Flag = {
  name: "tls-ca",
  env: "SVC_TLS_CA",
  value: "FILE",
  help: "authority (PEM) that signed the hub's certificate",
};
export const LANES: Flag = {
  name: "lanes",
  env: "LANE_POOL",
  value: "N",
  help: "browser lanes of the worker",
};
export const HEADLESS: Flag = {
  name: "headless-lanes",
  env: "SVC_HEADLESS_LANES",
  help: "run lanes without a display (no Xvnc)",
};
export const WORKER_ID: Flag = {
  name: "worker-id",
  env: "SVC_WORKER_ID",
  value: "ID",
  help: "worker id; the default is made from the LAN address",
};
export const SLOTS: Flag = {
  name: "slots",
  env: "SVC_SLOTS",
  value: "N",
  help: "how many pipeline tasks run at a time",
};
const STDIN: Flag = {
  name: "exit-on-stdin-close",
  env: "SVC_EXIT_ON_STDIN_CLOSE",
  help: "stop when standard input closes, in case the supervisor dies",
};

export const HUB_URL: Flag = {
  name: "hub-url",
  env: "HUB_URL",
  value: "URL",
  help: "hub to join, ws://HOST:PORT",
};
export const CONTROL_URL: Flag = {
  name: "control-url",
  env: "SVC_CONTROL_URL",
  value: "URL",
  help: "control plane to pull tasks from, http://HOST:PORT",
};

/** Flags of everything that reads the variables of a mode. */
export const CONFIG: Flag = {
  name: "config",
  env: "SVC_CONFIG",
  value: "FILE",
  help: "TOML file of variables; flags and the environment override it",
};

export const TLS = [TLS_CERT, TLS_KEY, TLS_CA];
const SERVER = [HOST, PORT, ...TLS, ...STORES, DATA, LOG, LOG_FORMAT, STDIN, CONFIG];

export const MODE_FLAGS: Record<Mode, Flag[]> = {
  dev: [
    ...SERVER,
    LANES,
    HEADLESS,
    SLOTS,
    WORKER_ID,
    { name: "fetch", value: "URL", help: "run one fetch job as soon as the worker is ready" },
    { name: "demo", help: "the same with the bundled demo page" },
    { name: "out", short: "o", value: "DIR", help: "write the files of that job here" },
    { name: "once", help: "exit when that job ends: 0 if it completed, else 1" },
  ],
  hub: SERVER,
  control: SERVER,
  worker: [
    HUB_URL,
    CONTROL_URL,
    TLS_CA,
    WORKER_ID,
    LANES,
    SLOTS,
    {
      name: "workloads",
      env: "SVC_WORKLOADS",
      value: "SLUG,…",
      help: "workloads to take while the control plane does not know this worker (all)",
    },
    { name: "agent", env: "SVC_AGENT", help: "supervise worker instances on this host" },
    HEADLESS,
    DATA,
    LOG,
    LOG_FORMAT,
    STDIN,
    CONFIG,
  ],
};

/** What each mode is for. */
export const ABOUT_MODE: Record<Mode, string> = {
  dev: "hub, control, a browser worker and a pipeline worker on this machine, http://127.0.0.1:8000",
  hub: "the fleet's HTTP and WebSocket API",
  worker: "browser lanes that join a hub, slots that pull pipeline tasks, or both",
  control: "the pipeline's API under /api/v1",
};

export const PREFIX: Flag = {
  name: "prefix",
  value: "DIR",
  help: "work on the tree below DIR: no users, no systemctl, no root",
};
export const DRY_RUN: Flag = { name: "dry-run", help: "print what would be done, change nothing" };
export const TIMEOUT: Flag = {
  name: "timeout",
  value: "SECONDS",
  help: "how long a started service may take to become healthy (120)",
};
const HUB: Flag = { name: "hub", env: "SVC_HUB", value: "URL", help: "hub to talk to" };
export const CLIENT = [HUB, TLS_CA];
export const OPTION: Flag = {
  name: "option",
  value: "KEY=VALUE",
  repeatable: true,
  help: "any job option, e.g. idle_seconds=1",
};
export const LABEL: Flag = {
  name: "label",
  value: "KEY:VALUE",
  repeatable: true,
  help: "a label to find it by, e.g. team:growth",
};
export const WITH_LABEL: Flag = {
  name: "label",
  value: "KEY[:VALUE]",
  repeatable: true,
  help: "only those with this label",
};
export const FIND_LIMIT: Flag = {
  name: "limit",
  value: "N",
  help: "how many of the fleet and of the pipeline (20)",
};
/** How an answer is printed; the parser makes `--json` of both. */
export const OUTPUT: readonly Flag[] = [
  { name: "output", value: "json|table", help: "how it is printed (table)" },
  { name: "json", help: "the same as --output json" },
];

/** What narrows the log of the services. */
export const LOG_FILTERS: readonly Flag[] = [
  { name: "level", value: "debug|info|warn|error", help: "only lines of this level or above" },
  { name: "host", value: "HOST", help: "only lines of this host" },
  { name: "service", value: "NAME", help: "only lines of this service: hub, control or worker" },
  { name: "text", value: "TEXT", help: "only lines with this in their message" },
  { name: "since", value: "TIME", help: "from this time on, such as 2026-01-31T12:00:00Z" },
  { name: "limit", value: "N", help: "how many of the last lines (100; with --follow 10)" },
];

/** What a session is opened with. */
export const SESSION_FLAGS: readonly Flag[] = [
  { name: "headless", help: "run the browser without a display" },
  { name: "profile", value: "NAME", help: "the stored profile that it begins with" },
  { name: "viewport", value: "WIDTHxHEIGHT", help: "size of the page, such as 1280x720" },
  { name: "worker", value: "ID", help: "a lane of this worker (any)" },
  {
    name: "option",
    value: "KEY=VALUE",
    repeatable: true,
    help: "any field of POST /sessions, e.g. idle_ttl_s=600",
  },
];

/** What failures, and the tasks or jobs behind them, are found by. */
export const FAILURE_FLAGS: readonly Flag[] = [
  { name: "jobs", help: "jobs of the fleet; without it tasks of the pipeline" },
  { name: "fingerprint", value: "PRINT", help: "of one group, as `failures` lists it" },
  { name: "workload", value: "SLUG", help: "tasks of this workload (all)" },
  { name: "host", value: "HOST", help: "with --jobs: jobs of this host" },
  { name: "worker", value: "ID", help: "that failed on this worker" },
  { name: "text", value: "TEXT", help: "with this in the error, in any case" },
  { name: "since", value: "TIME", help: "that failed from then on, such as 2026-01-31T08:00:00Z" },
  { name: "until", value: "TIME", help: "that failed before then" },
  { name: "state", value: "STATE", help: "to act on: pending, claimed or failed tasks alone" },
  { name: "status", value: "STATUS", help: "with --jobs, to act on: jobs in this state alone" },
  {
    name: "to",
    value: "SLUG",
    help: "for move: the workload in whose queue they wait from then on",
  },
  { name: "limit", value: "N", help: "how many groups are listed (50)" },
  { name: "yes", help: "do it; without it the command says how many it would be" },
  {
    name: "at-most",
    value: "N",
    help: "with --yes: change nothing if there are more; needed where nothing but a state is given",
  },
  ...OUTPUT,
];

export const EXPIRES: Flag = {
  name: "expires",
  value: "DURATION",
  help: "how long the new token is valid, such as 12h or 90d (until it is revoked)",
};
export const TASK_FILE: Flag = {
  name: "file",
  short: "f",
  value: "FILE",
  help: "one task a line, a key or {pk, extra, …} as JSON; - reads standard input",
};
/** What narrows the list of the audit log. */
export const AUDIT: readonly Flag[] = [
  { name: "who", value: "WHO", help: "kind, name or token of a caller, or its address" },
  { name: "method", value: "METHOD", help: "only calls of this method" },
  { name: "route", value: "ROUTE", help: "only calls of this route, such as /jobs/:id" },
  {
    name: "status",
    value: "STATUS",
    help: "only calls answered with this status: 403, or 4xx",
  },
  { name: "since", value: "TIME", help: "from this time on, such as 2026-01-31T12:00:00Z" },
  { name: "until", value: "TIME", help: "before this time" },
  { name: "limit", value: "N", help: "how many, newest first (50)" },
];
