import { COMMAND_NAMES, COMMANDS, type Command, isOperator } from "#hub/program/cli/commands.ts";
import { ABOUT_MODE, type Flag, MODE_FLAGS, MODES, type Mode } from "#hub/program/cli/flags.ts";
import { generatedPage, table, writeOrCheck } from "./generated-page.ts";

/** Writes the guide's page of the command line from the tables that the parser reads; `--check` only compares. */

const headOf = ({ name, short, value }: Flag): string =>
  `\`${short ? `-${short}, ` : ""}--${name}${value ? ` ${value}` : ""}\``;

const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}.`;

const section = (
  name: Mode | Command,
  { about, words, flags }: { about: string; words: readonly string[]; flags: readonly Flag[] },
) => [
  `### flotilla ${name}`,
  "",
  sentence(about),
  "",
  "```text",
  ["flotilla", name, ...words, ...(flags.length > 0 ? ["[flags]"] : [])].join(" "),
  "```",
  "",
  ...table(
    ["Flag", "Variable", "Meaning"],
    flags.map((flag) => [headOf(flag), flag.env ? `\`${flag.env}\`` : "", flag.help]),
  ),
  "",
];

const ofCommands = (names: readonly Command[]) =>
  names.flatMap((name) => section(name, COMMANDS[name]));

const PAGE = [
  "# The command line",
  "",
  "Every mode, command and flag of the executable, as `flotilla --help` knows them.",
  "",
  "A flag wins over the variable that it sets. A bad value is refused by name with exit code 2: see [exit codes](../how-to/troubleshooting.md#exit-codes). From a checkout the program is `scripts/flotilla`; `./scripts/build` compiles `dist/flotilla`. `--mode dev` and `dev` are the same. This page is generated from the tables that the parser reads (`bun run gen`).",
  "",
  "## Modes",
  "",
  ...MODES.flatMap((mode) =>
    section(mode, { about: ABOUT_MODE[mode], words: [], flags: MODE_FLAGS[mode] }),
  ),
  "## Commands of a client",
  "",
  "They speak to the hub or control plane at `SVC_HUB` (`http://localhost:8000`), with `SVC_API_TOKEN` where it asks for a token.",
  "",
  ...ofCommands(COMMAND_NAMES.filter((name) => !isOperator(name))),
  "## Commands of a machine's operator",
  "",
  "They look at stores, files and units of the machine themselves.",
  "",
  ...ofCommands(COMMAND_NAMES.filter(isOperator)),
];

if (import.meta.main) await writeOrCheck([await generatedPage("reference/cli", PAGE.slice(0, -1))]);
