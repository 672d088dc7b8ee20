import { ARCHIVED_DOCUMENTS } from "#shared/protocol/documents.ts";
import {
  AUDIT,
  CLIENT,
  CONFIG,
  CONTROL_URL,
  DATA,
  DB,
  DRY_RUN,
  EXPIRES,
  FAILURE_FLAGS,
  FIND_LIMIT,
  type Flag,
  HEADLESS,
  HOST,
  HUB_URL,
  JSON_OUT,
  LABEL,
  LANES,
  LOG,
  OBJECTS,
  OPTION,
  PORT,
  PREFIX,
  REDIS,
  SLOTS,
  TASK_FILE,
  TIMEOUT,
  TLS,
  WITH_LABEL,
  WORKER_ID,
} from "./flags.ts";
import { TABLE_FLAGS } from "./table-flags.ts";

interface CommandEntry {
  /** Who runs it: `client` calls a running hub, `operator` reads stores, files and units of this machine itself. */
  kind: "client" | "operator" | "admin" | "guide";
  /** What it is for. */
  about: string;
  /** The words that follow it; one in brackets may be left out, one with … stands for any number. */
  words: readonly string[];
  flags: readonly Flag[];
}

/**
 * Every command of the program: the parser, `--help` and the guide read this table. Commands of a client are run by
 * `run-command.ts`, those of an operator by `commands/run.ts`; the compiler refuses one that nothing runs. `admin` opens
 * the database of a stopped hub, and `guide` needs none.
 */
export const COMMANDS = {
  fetch: {
    kind: "client",
    about: "run one fetch job and list what the browser downloaded",
    words: ["URL"],
    flags: [
      ...CLIENT,
      {
        name: "out",
        short: "o",
        value: "DIR",
        help: `write ${ARCHIVED_DOCUMENTS.join(", ")} and assets/ here`,
      },
      JSON_OUT,
      { name: "headless", help: "run the browser without a display" },
      { name: "preset", value: "SLUG", help: "options of a preset; --option overrides them" },
      OPTION,
      LABEL,
    ],
  },
  jobs: {
    kind: "client",
    about: "list jobs, newest first",
    words: [],
    flags: [
      ...CLIENT,
      { name: "status", value: "STATUS", help: "only jobs in this state" },
      { name: "limit", value: "N", help: "how many, newest first (50)" },
      WITH_LABEL,
      JSON_OUT,
    ],
  },
  find: {
    kind: "client",
    about: "find jobs, sessions, hosts, workers, workloads, tasks and runs by a few words",
    words: ["WORDS…"],
    flags: [...CLIENT, FIND_LIMIT, JSON_OUT],
  },
  workers: {
    kind: "client",
    about: "list workers and their lanes",
    words: [],
    flags: [...CLIENT, JSON_OUT],
  },
  engines: {
    kind: "client",
    about: "list the fleet's AI backends",
    words: [],
    flags: [...CLIENT, JSON_OUT],
  },
  cancel: {
    kind: "client",
    about: "cancel a job",
    words: ["ID"],
    flags: [...CLIENT, JSON_OUT],
  },
  diff: {
    kind: "client",
    about: "show what changed between two completed jobs: the page, its text and the assets",
    words: ["A", "B"],
    flags: [...CLIENT, JSON_OUT],
  },
  import: {
    kind: "client",
    about: "make a completed job of a web archive, a WACZ or WARC file",
    words: ["FILE"],
    flags: [...CLIENT, JSON_OUT],
  },
  video: {
    kind: "client",
    about: "save the recording of a job or session as a video, which the hub makes",
    words: ["ID"],
    flags: [
      ...CLIENT,
      { name: "format", value: "FORMAT", help: "mp4 (the default) or webm" },
      { name: "speed", value: "N", help: "how many times faster the video is, up to 16 (1)" },
      { name: "out", short: "o", value: "FILE", help: "where it goes (ID.mp4 or ID.webm)" },
    ],
  },
  watch: {
    kind: "client",
    about: "capture a page on a schedule and compare each time; without URL, list the watches",
    words: ["[URL]"],
    flags: [
      ...CLIENT,
      { name: "cron", value: "CRON", help: "when to capture it, e.g. '0 7 * * *'" },
      { name: "tz", value: "ZONE", help: "time zone of --cron (UTC)" },
      { name: "every", value: "SECONDS", help: "how often to capture it, instead of --cron" },
      { name: "name", value: "NAME", help: "what to call it" },
      OPTION,
      JSON_OUT,
    ],
  },
  link: {
    kind: "client",
    about: "share one viewer, CDP socket or asset by a signed link that expires; end all links",
    words: ["viewer|cdp|asset|end-all", "[ID]", "[NAME]"],
    flags: [
      ...CLIENT,
      { name: "mode", value: "MODE", help: "view (the default for viewers) or take-over" },
      { name: "expires", value: "SECONDS", help: "how long the link is valid (3600)" },
      JSON_OUT,
    ],
  },
  audit: {
    kind: "client",
    about: "list who changed what, newest first",
    words: [],
    flags: [...CLIENT, ...AUDIT, JSON_OUT],
  },
  fleet: {
    kind: "client",
    about: "show how the workers' updates progress; pause, approve or pin them; drain workers",
    words: [
      "status|pause-updates|resume-updates|approve|pin|drain|activate",
      "[VERSION|WORKER=VERSION|off|WORKER…]",
    ],
    flags: [...CLIENT, JSON_OUT],
  },
  tokens: {
    kind: "client",
    about:
      "list, create and revoke tokens with roles; logs in with SVC_API_TOKEN or SVC_ADMIN_PASSWORD",
    words: ["list|create|revoke", "[NAME|ID]", "[viewer|submitter|operator|admin]"],
    flags: [...CLIENT, EXPIRES, JSON_OUT],
  },
  submit: {
    kind: "client",
    about: "put tasks into a workload's queue",
    words: ["SLUG", "[PK…]"],
    flags: [
      ...CLIENT,
      TASK_FILE,
      ...TABLE_FLAGS,
      { name: "wait", help: "wait until the tasks are done; exit 1 if any failed" },
      LABEL,
      JSON_OUT,
    ],
  },
  queue: {
    kind: "client",
    about: "count the tasks of a workload",
    words: ["SLUG"],
    flags: [...CLIENT, { name: "watch", help: "follow the counts until Ctrl-C" }, JSON_OUT],
  },
  runs: {
    kind: "client",
    about: "list the runs of a workload, newest first",
    words: ["SLUG"],
    flags: [
      ...CLIENT,
      { name: "follow", help: "print runs as they are recorded, until Ctrl-C" },
      { name: "failed", help: "only unsuccessful runs" },
      { name: "limit", value: "N", help: "how many, newest first (50; with --follow 10)" },
      WITH_LABEL,
      JSON_OUT,
    ],
  },
  failures: {
    kind: "client",
    about: "list failures in groups, or retry, cancel, delete or move what a filter finds",
    words: ["[list|retry|cancel|delete|move]"],
    flags: [...CLIENT, ...FAILURE_FLAGS],
  },
  retry: {
    kind: "client",
    about: "retry the failed tasks or jobs that a filter finds; shows how many before it does",
    words: [],
    flags: [...CLIENT, ...FAILURE_FLAGS],
  },
  guide: {
    kind: "guide",
    about: "list the pages of the guide, or print one as Markdown; needs no hub",
    words: ["[PAGE]"],
    flags: CLIENT,
  },
  admin: {
    kind: "admin",
    about: "give the administrator a new password, while the hub is stopped",
    words: ["reset-password"],
    flags: [DB, DATA, CONFIG],
  },
  config: {
    kind: "operator",
    about: "check the variables of a mode, or show each with its value and source",
    words: ["check|show", "[dev|hub|worker|control]"],
    flags: [
      CONFIG,
      HOST,
      PORT,
      ...TLS,
      DB,
      REDIS,
      OBJECTS,
      DATA,
      LOG,
      HUB_URL,
      CONTROL_URL,
      LANES,
      SLOTS,
      WORKER_ID,
      HEADLESS,
      JSON_OUT,
    ],
  },
  doctor: {
    kind: "operator",
    about: "report what this machine lacks to run a hub, a worker or a control plane",
    words: ["[hub|worker|control]", "[NAME]"],
    flags: [
      { name: "installed", help: "check as the installed service sees it; needs root" },
      PREFIX,
      ...CLIENT,
      HUB_URL,
      CONTROL_URL,
      DB,
      REDIS,
      OBJECTS,
      DATA,
      CONFIG,
      JSON_OUT,
    ],
  },
  install: {
    kind: "operator",
    about: "install it as a systemd service: user, executable, unit and environment file",
    words: ["hub|worker|control", "[NAME]"],
    flags: [
      DRY_RUN,
      PREFIX,
      {
        name: "user",
        value: "NAME",
        help: "system user of the service (flotilla, flotilla-worker)",
      },
      {
        name: "now",
        help: "also start it, or restart it if something changed, and wait until it is healthy",
      },
      {
        name: "set",
        value: "KEY=VALUE",
        repeatable: true,
        help: "set a variable in the environment file, even if the file exists",
      },
      { name: "unset", value: "KEY", repeatable: true, help: "remove a variable from that file" },
      TIMEOUT,
      { name: "generate-secret", help: "generate a WORKER_SECRET for a new environment file" },
      { name: "binary", value: "FILE", help: "executable to install (default: this one)" },
      HOST,
      PORT,
      ...TLS,
      DB,
      REDIS,
      OBJECTS,
      HUB_URL,
      CONTROL_URL,
      LANES,
      SLOTS,
      WORKER_ID,
    ],
  },
  uninstall: {
    kind: "operator",
    about: "remove the service; data and environment file stay unless --purge is given",
    words: ["hub|worker|control", "[NAME]"],
    flags: [
      DRY_RUN,
      PREFIX,
      { name: "purge", help: "also delete data, environment file, user and executable (asks)" },
      { name: "yes", help: "delete without asking" },
    ],
  },
  rollback: {
    kind: "operator",
    about: "go back to the last healthy version, and restart the services with it",
    words: ["[hub|worker|control]", "[NAME]"],
    flags: [DRY_RUN, TIMEOUT],
  },
  migrate: {
    kind: "operator",
    about: "bring the database up to date, as every start of a hub does",
    words: [],
    flags: [DB, DATA, CONFIG, DRY_RUN],
  },
  backup: {
    kind: "operator",
    about:
      "write a SQLite hub's database, objects (unless in S3) and plugins into one file, also while it runs; verify: check FILE",
    words: ["[verify]", "FILE|DIR"],
    flags: [
      DB,
      OBJECTS,
      DATA,
      CONFIG,
      JSON_OUT,
      {
        name: "keep",
        value: "N",
        help: "keep only the newest N backups in DIR, once this one is verified",
      },
      {
        name: "with-key",
        help: "include the key file: anybody who can read the backup can then read cookies and profiles",
      },
    ],
  },
  restore: {
    kind: "operator",
    about: "replace a hub's data with a backup",
    words: ["FILE"],
    flags: [
      DB,
      OBJECTS,
      DATA,
      CONFIG,
      { name: "force", help: "replace existing data, which is kept next to the new data" },
      {
        name: "other-objects",
        help: "accept that bodies are in --objects-url, although the backup names another bucket",
      },
    ],
  },
  secrets: {
    kind: "operator",
    about:
      "manage the key of stored cookies and profiles: show, rotate or remove it (decrypt), or delete what no key opens (forget)",
    words: ["status|rotate|decrypt|forget"],
    flags: [DB, OBJECTS, DATA, CONFIG],
  },
} as const satisfies Record<string, CommandEntry>;

export type Command = keyof typeof COMMANDS;
type OfKind<Kind extends CommandEntry["kind"]> = {
  [C in Command]: (typeof COMMANDS)[C]["kind"] extends Kind ? C : never;
}[Command];
export type ClientCommand = OfKind<"client">;
export type OperatorCommand = OfKind<"operator">;

export const COMMAND_NAMES = Object.keys(COMMANDS) as Command[];
export const isCommand = (word: string): word is Command => Object.hasOwn(COMMANDS, word);
export const isOperatorCommand = (command: Command): command is OperatorCommand =>
  COMMANDS[command].kind === "operator";
/** Whether it is for the operator of this machine. */
export const isOperator = (command: Command): boolean =>
  ["operator", "admin"].includes(COMMANDS[command].kind);

/** Words reserved for later versions; refused by name instead of as a typing mistake. */
export const RESERVED_COMMANDS = ["bench"];
