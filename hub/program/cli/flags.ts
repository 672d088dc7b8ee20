/** Every flag of the program with its variable; the parser and `--help` both read these tables. */

export const MODES = ["dev", "hub", "worker", "control"] as const;
export type Mode = (typeof MODES)[number];

export const COMMANDS = [
  "fetch",
  "jobs",
  "workers",
  "engines",
  "cancel",
  "link",
  "audit",
  "fleet",
  "tokens",
  "submit",
  "queue",
  "runs",
  "guide",
  "admin",
  "config",
  "doctor",
  "install",
  "uninstall",
  "rollback",
  "migrate",
  "backup",
  "restore",
  "secrets",
] as const;
export type Command = (typeof COMMANDS)[number];
/** Commands for the machine's operator: they read stores, files and units themselves. */
const OPERATOR_COMMANDS = [
  "config",
  "doctor",
  "install",
  "uninstall",
  "rollback",
  "migrate",
  "backup",
  "restore",
  "secrets",
] as const satisfies Command[];
export type OperatorCommand = (typeof OPERATOR_COMMANDS)[number];
export const isOperatorCommand = (command: Command): command is OperatorCommand =>
  OPERATOR_COMMANDS.some((c) => c === command);
/** Commands that call a running hub. `admin` opens the database of a stopped one; `guide` needs none. */
export type ClientCommand = Exclude<Command, OperatorCommand | "admin" | "guide">;

/** Words the design reserves for later; refused by name instead of as a typing mistake. */
export const RESERVED_COMMANDS = ["bench"];

/** Where commands look for a hub when nobody says where it is. */
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

const HOST: Flag = {
  name: "host",
  env: "SVC_HOST",
  value: "ADDRESS",
  help: "address to listen on",
};
const PORT: Flag = { name: "port", env: "SVC_PORT", value: "N", help: "port to listen on" };
const DB: Flag = {
  name: "db-url",
  env: "SVC_DB_URL",
  value: "URL",
  help: "sqlite:PATH or postgres://…",
};
const OBJECTS: Flag = {
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
const DATA: Flag = {
  name: "data-dir",
  env: "SVC_DATA_DIR",
  value: "DIR",
  help: "database, objects and scratch files",
};
const LOG: Flag = {
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
  help: "certificate (PEM) to speak https and wss with",
};
const TLS_KEY: Flag = {
  name: "tls-key",
  env: "SVC_TLS_KEY",
  value: "FILE",
  help: "its key (PEM)",
};
const TLS_CA: Flag = {
  name: "tls-ca",
  env: "SVC_TLS_CA",
  value: "FILE",
  help: "authority (PEM) that has signed the hub's certificate",
};
const LANES: Flag = {
  name: "lanes",
  env: "LANE_POOL",
  value: "N",
  help: "browser lanes of the worker",
};
const HEADLESS: Flag = {
  name: "headless-lanes",
  env: "SVC_HEADLESS_LANES",
  help: "lanes without a display, when Xvnc is not wanted",
};
const WORKER_ID: Flag = {
  name: "worker-id",
  env: "SVC_WORKER_ID",
  value: "ID",
  help: "instead of the id made from the LAN address",
};
const SLOTS: Flag = {
  name: "slots",
  env: "SVC_SLOTS",
  value: "N",
  help: "pipeline tasks at a time",
};
const STDIN: Flag = {
  name: "exit-on-stdin-close",
  env: "SVC_EXIT_ON_STDIN_CLOSE",
  help: "stop when standard input closes, for a supervisor that may die",
};

const HUB_URL: Flag = {
  name: "hub-url",
  env: "HUB_URL",
  value: "URL",
  help: "hub to join, ws://HOST:PORT",
};
const CONTROL_URL: Flag = {
  name: "control-url",
  env: "SVC_CONTROL_URL",
  value: "URL",
  help: "control plane to pull tasks from, http://HOST:PORT",
};
const PREFIX: Flag = {
  name: "prefix",
  value: "DIR",
  help: "work on the tree below DIR: no users, no systemctl, no root",
};
const DRY_RUN: Flag = { name: "dry-run", help: "say what would be done and change nothing" };
const TIMEOUT: Flag = {
  name: "timeout",
  value: "SECONDS",
  help: "how long a started service may take until it is well (120)",
};

/** Flags of everything that reads the variables of a mode. */
const CONFIG: Flag = {
  name: "config",
  env: "SVC_CONFIG",
  value: "FILE",
  help: "TOML file of variables; flags and the environment win over it",
};

const TLS = [TLS_CERT, TLS_KEY, TLS_CA];
const SERVER = [HOST, PORT, ...TLS, DB, REDIS, OBJECTS, DATA, LOG, LOG_FORMAT, STDIN, CONFIG];

export const MODE_FLAGS: Record<Mode, Flag[]> = {
  dev: [
    ...SERVER,
    LANES,
    HEADLESS,
    SLOTS,
    WORKER_ID,
    { name: "fetch", value: "URL", help: "run one fetch job once the worker is there" },
    { name: "demo", help: "the same with the bundled demo page" },
    { name: "out", short: "o", value: "DIR", help: "write the files of that job here" },
    { name: "once", help: "exit with that job: 0 when it completed, else 1" },
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
      help: "workloads of a worker that is new to the control plane (all)",
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

const HUB: Flag = { name: "hub", env: "SVC_HUB", value: "URL", help: "hub to talk to" };
const CLIENT = [HUB, TLS_CA];
const JSON_OUT: Flag = { name: "json", help: "print JSON" };

export const COMMAND_FLAGS: Record<Command, Flag[]> = {
  fetch: [
    ...CLIENT,
    {
      name: "out",
      short: "o",
      value: "DIR",
      help: "write page.html, log.txt, links.json, har.json and assets/ here",
    },
    JSON_OUT,
    { name: "headless", help: "run the browser without a screen" },
    { name: "preset", value: "SLUG", help: "options of a preset; --option wins over them" },
    {
      name: "option",
      value: "KEY=VALUE",
      repeatable: true,
      help: "any job option, e.g. idle_seconds=1",
    },
  ],
  jobs: [
    ...CLIENT,
    { name: "status", value: "STATUS", help: "only jobs in this state" },
    { name: "limit", value: "N", help: "how many, newest first (50)" },
    JSON_OUT,
  ],
  workers: [...CLIENT, JSON_OUT],
  engines: [...CLIENT, JSON_OUT],
  cancel: [...CLIENT, JSON_OUT],
  link: [
    ...CLIENT,
    { name: "mode", value: "MODE", help: "view (of viewers the default) or take-over" },
    { name: "expires", value: "SECONDS", help: "how long it opens anything (3600)" },
    JSON_OUT,
  ],
  audit: [
    ...CLIENT,
    { name: "who", value: "WHO", help: "kind, name or token of a caller, or an address" },
    { name: "method", value: "METHOD", help: "only calls of this method" },
    { name: "route", value: "ROUTE", help: "only of this route, such as /jobs/:id" },
    { name: "status", value: "STATUS", help: "only with this status, 403 or 4xx" },
    { name: "since", value: "TIME", help: "from this time on, as 2026-01-31T12:00:00Z" },
    { name: "until", value: "TIME", help: "before this time" },
    { name: "limit", value: "N", help: "how many, newest first (50)" },
    JSON_OUT,
  ],
  fleet: [...CLIENT, JSON_OUT],
  tokens: [
    ...CLIENT,
    {
      name: "expires",
      value: "DURATION",
      help: "how long a new token counts, such as 12h or 90d (until it is revoked)",
    },
    JSON_OUT,
  ],
  submit: [
    ...CLIENT,
    {
      name: "file",
      short: "f",
      value: "FILE",
      help: "one task a line, a key or {pk, extra, …} as JSON; - reads standard input",
    },
    { name: "wait", help: "until the queue is empty; exit 1 when tasks failed" },
    JSON_OUT,
  ],
  queue: [...CLIENT, { name: "watch", help: "follow the counts until Ctrl-C" }, JSON_OUT],
  runs: [
    ...CLIENT,
    { name: "follow", help: "print runs as they are recorded, until Ctrl-C" },
    { name: "failed", help: "only runs without success" },
    { name: "limit", value: "N", help: "how many, newest first (50; 10 before those that follow)" },
    JSON_OUT,
  ],
  guide: CLIENT,
  admin: [DB, DATA, CONFIG],
  config: [
    ...[CONFIG, HOST, PORT, ...TLS, DB, REDIS, OBJECTS, DATA, LOG],
    ...[HUB_URL, CONTROL_URL, LANES, SLOTS, WORKER_ID, HEADLESS, JSON_OUT],
  ],
  doctor: [
    { name: "installed", help: "as the service that is installed here would find it: needs root" },
    ...[PREFIX, ...CLIENT, HUB_URL, CONTROL_URL, DB, REDIS, OBJECTS, DATA, CONFIG, JSON_OUT],
  ],
  install: [
    DRY_RUN,
    PREFIX,
    { name: "user", value: "NAME", help: "system user of the service (flotilla, flotilla-worker)" },
    {
      name: "now",
      help: "start it too, or start it again when something changed, and wait until it is well",
    },
    {
      name: "set",
      value: "KEY=VALUE",
      repeatable: true,
      help: "set a variable in the environment file, also in one that is there",
    },
    { name: "unset", value: "KEY", repeatable: true, help: "take a variable out of it" },
    TIMEOUT,
    { name: "generate-secret", help: "make a WORKER_SECRET for a new environment file" },
    { name: "binary", value: "FILE", help: "executable to install (this one)" },
    ...[HOST, PORT, ...TLS, DB, REDIS, OBJECTS, HUB_URL, CONTROL_URL, LANES, SLOTS, WORKER_ID],
  ],
  uninstall: [
    DRY_RUN,
    PREFIX,
    { name: "purge", help: "delete data, environment file, user and executable too, after asking" },
    { name: "yes", help: "delete without asking" },
  ],
  rollback: [DRY_RUN, TIMEOUT],
  migrate: [DB, DATA, CONFIG, DRY_RUN],
  backup: [
    ...[DB, OBJECTS, DATA, CONFIG, JSON_OUT],
    {
      name: "keep",
      value: "N",
      help: "remove the oldest of DIR beyond N, once this one is verified",
    },
    {
      name: "with-key",
      help: "with the file of keys in it: whoever reads the backup then reads cookies and profiles",
    },
  ],
  secrets: [DB, OBJECTS, DATA, CONFIG],
  restore: [
    ...[DB, OBJECTS, DATA, CONFIG],
    { name: "force", help: "replace the data that is there; it is kept beside" },
    {
      name: "other-objects",
      help: "the bodies are in --objects-url now, though the backup names another bucket",
    },
  ],
};

/** The words that follow each command; one in brackets may be left out, one with … stands for any number. */
export const COMMAND_WORDS: Record<Command, string[]> = {
  fetch: ["URL"],
  jobs: [],
  workers: [],
  engines: [],
  cancel: ["ID"],
  link: ["viewer|cdp|asset|end-all", "[ID]", "[NAME]"],
  audit: [],
  fleet: [
    "status|pause-updates|resume-updates|approve|pin|drain|activate",
    "[VERSION|WORKER=VERSION|off|WORKER…]",
  ],
  tokens: ["list|create|revoke", "[NAME|ID]", "[viewer|submitter|operator|admin]"],
  submit: ["SLUG", "[PK…]"],
  queue: ["SLUG"],
  runs: ["SLUG"],
  guide: ["[PAGE]"],
  admin: ["reset-password"],
  config: ["check|show", "[dev|hub|worker|control]"],
  doctor: ["[hub|worker|control]", "[NAME]"],
  install: ["hub|worker|control", "[NAME]"],
  uninstall: ["hub|worker|control", "[NAME]"],
  rollback: ["[hub|worker|control]", "[NAME]"],
  migrate: [],
  backup: ["[verify]", "FILE|DIR"],
  restore: ["FILE"],
  secrets: ["status|rotate|decrypt|forget"],
};
