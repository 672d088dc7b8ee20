import { COMMAND_NAMES, COMMANDS, type Command, isOperator } from "./commands.ts";
import { ABOUT_MODE, type Flag, MODE_FLAGS, MODES, type Mode } from "./flags.ts";

const isMode = (topic: Mode | Command): topic is Mode => MODES.some((m) => m === topic);

/** What a mode or command is for. */
const aboutOf = (topic: Mode | Command): string =>
  isMode(topic) ? ABOUT_MODE[topic] : COMMANDS[topic].about;

function flagLines(flags: readonly Flag[]): string[] {
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
    const words = isMode(topic) ? [] : COMMANDS[topic].words;
    return [
      `flotilla ${[topic, ...words].join(" ")} [flags]: ${aboutOf(topic)}`,
      "",
      "Flags [variable they set; the flag wins]:",
      ...flagLines(isMode(topic) ? MODE_FLAGS[topic] : COMMANDS[topic].flags),
      ...(mode
        ? ["", "The guide lists all variables, in /guide/reference/variables of every hub."]
        : []),
    ].join("\n");
  }
  const about = (names: readonly (Mode | Command)[]) =>
    names.map((n) => `  ${n.padEnd(9)} ${aboutOf(n)}`);
  return [
    "flotilla MODE [flags]     (or flotilla --mode MODE)",
    "flotilla COMMAND [flags]",
    "",
    "Modes:",
    ...about(MODES),
    "",
    "Commands, against the hub or control plane at SVC_HUB (http://localhost:8000):",
    ...about(COMMAND_NAMES.filter((c) => !isOperator(c))),
    "",
    "Commands for the operator of this machine:",
    ...about(COMMAND_NAMES.filter(isOperator)),
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
