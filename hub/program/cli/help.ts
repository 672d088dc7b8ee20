import {
  COMMAND_FLAGS,
  COMMAND_WORDS,
  COMMANDS,
  type Command,
  type Flag,
  isOperatorCommand,
  MODE_FLAGS,
  MODES,
  type Mode,
} from "./flags.ts";

/** What each mode and command is for. */
export const ABOUT: Record<Mode | Command, string> = {
  dev: "hub, control, a browser worker and a pipeline worker on this machine, http://127.0.0.1:8000",
  hub: "the fleet's HTTP and WebSocket API",
  worker: "browser lanes that join a hub, slots that pull pipeline tasks, or both",
  control: "the pipeline's API under /api/v1",
  fetch: "run one fetch job and list what the browser downloaded",
  jobs: "list jobs, newest first",
  workers: "list workers and their lanes",
  engines: "list the AI backends of the fleet",
  cancel: "cancel a job",
  link: "share one viewer, CDP socket or asset for a time by a signed link; end all links",
  audit: "say who changed what, newest first",
  fleet: "say how the workers' updates go; pause, approve or pin them; drain workers",
  tokens:
    "list, create and revoke tokens with roles; asks as SVC_API_TOKEN, or as SVC_ADMIN_PASSWORD",
  submit: "put tasks into a workload's queue",
  queue: "count the tasks of a workload",
  runs: "list the runs of a workload, newest first",
  guide: "list the pages of the guide, or print one as Markdown; needs no hub",
  admin: "give the administrator a new password, in the database of a hub that does not run",
  config: "judge the variables of a mode, or show each with its value and where it comes from",
  doctor: "say what this machine lacks to run a hub, a worker or a control plane",
  install: "make it a systemd service: user, executable, unit and environment file",
  uninstall: "take the service away; data and environment file stay unless --purge is given",
  rollback: "put the last version that was healthy back, and start the services with it",
  migrate: "bring the database up to date, as every start of a hub does",
  backup:
    "write database, objects (unless in S3) and plugins of a SQLite hub, running or not, into one file; verify: is FILE whole?",
  restore: "put a backup in the place of a hub's data",
  secrets:
    "the key of stored cookies and profiles: which it is, a new one, none (decrypt), or without what it is lost for (forget)",
};

export const isOperator = (command: Command): boolean =>
  command === "admin" || isOperatorCommand(command);

const isMode = (topic: Mode | Command): topic is Mode => MODES.some((m) => m === topic);

function flagLines(flags: Flag[]): string[] {
  const heads = flags.map(
    (f) => `${f.short ? `-${f.short}, ` : ""}--${f.name}${f.value ? ` ${f.value}` : ""}`,
  );
  const width = Math.max(...heads.map((h) => h.length));
  return flags.map(
    (f, i) => `  ${(heads[i] ?? "").padEnd(width)}  ${f.help}${f.env ? ` [${f.env}]` : ""}`,
  );
}

/** The text of `--help`, for everything or for one mode or command. */
export function helpText(topic: Mode | Command | null): string {
  if (topic !== null) {
    const mode = isMode(topic);
    const words = isMode(topic) ? [] : COMMAND_WORDS[topic];
    return [
      `flotilla ${[topic, ...words].join(" ")} [flags]: ${ABOUT[topic]}`,
      "",
      "Flags [variable they set; the flag wins]:",
      ...flagLines(isMode(topic) ? MODE_FLAGS[topic] : COMMAND_FLAGS[topic]),
      ...(mode
        ? ["", "The guide lists all variables, in /guide/reference/variables of every hub."]
        : []),
    ].join("\n");
  }
  const about = (names: readonly (Mode | Command)[]) =>
    names.map((n) => `  ${n.padEnd(9)} ${ABOUT[n]}`);
  return [
    "flotilla MODE [flags]     (or flotilla --mode MODE)",
    "flotilla COMMAND [flags]",
    "",
    "Modes:",
    ...about(MODES),
    "",
    "Commands, against the hub or control plane at SVC_HUB (http://localhost:8000):",
    ...about(COMMANDS.filter((c) => !isOperator(c))),
    "",
    "Commands for the operator of a machine:",
    ...about(COMMANDS.filter(isOperator)),
    "",
    "  --help      this text, or that of one mode or command",
    "  --version   version of the sources",
    "",
    "Exit codes: 0 done, 1 a job or task failed, 2 wrong usage or configuration,",
    "3 hub unreachable (commands) or a program is missing (worker), 69 a database, Redis or bucket cannot",
    "be reached, or another hub uses the database, 70 internal error;",
    "migrate --dry-run: 0 up to date, 10 migrations are missing, 11 there is no database.",
  ].join("\n");
}
