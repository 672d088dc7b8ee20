import type { Flag } from "#hub/program/cli/flags.ts";
import { flagHead, sentence, TOPICS, type Topic } from "#hub/program/cli/topics.ts";
import { generatedFile, generatedPage, table, writeOrCheck } from "./generated-page.ts";
import { manPage } from "./man-page.ts";

/**
 * Writes the guide's page of the command line, and the manual page, from the tables that the parser reads; `--check` only
 * compares.
 */

const row = (flag: Flag): string[] => [
  `\`${flagHead(flag)}\``,
  flag.env ? `\`${flag.env}\`` : "",
  flag.help,
];

/** Their examples can be pasted anywhere; those of others name what has to be there first, or take minutes. */
const RUN_AS_THEY_STAND: readonly string[] = ["screenshot", "pdf", "completions"];

const section = ({ name, about, words, flags, examples }: Topic): string[] => [
  `### flotilla ${name}`,
  "",
  sentence(about),
  "",
  "```text",
  ["flotilla", name, ...words, ...(flags.length > 0 ? ["[flags]"] : [])].join(" "),
  "```",
  "",
  ...(flags.length > 0 ? [...table(["Flag", "Variable", "Meaning"], flags.map(row)), ""] : []),
  ...(examples.length > 0 ? [fenceOf(name), ...examples, "```", ""] : []),
];

const fenceOf = (name: string): string =>
  RUN_AS_THEY_STAND.includes(name) ? "```sh" : "```sh seeded";

const sections = (kind: Topic["kind"]) =>
  TOPICS.filter((topic) => topic.kind === kind).flatMap(section);

const PAGE = [
  "# The command line",
  "",
  "Every mode, command and flag of the executable, as `flotilla --help` knows them.",
  "",
  "A flag wins over the variable that it sets. A bad value is refused by name with exit code 2: see [exit codes](../how-to/troubleshooting.md#exit-codes). From a checkout the program is `scripts/flotilla`; `./scripts/build` compiles `dist/flotilla`. `--mode dev` and `dev` are the same. This page is generated from the tables that the parser reads (`bun run gen`).",
  "",
  "## Modes",
  "",
  ...sections("mode"),
  "## Commands of a client",
  "",
  "They speak to the hub or control plane at `SVC_HUB` (`http://localhost:8000`), with `SVC_API_TOKEN` where it asks for a token. How they print, and what they promise, is in [clients](../rules/clients.md#output-of-commands).",
  "",
  ...sections("client"),
  "## Commands of a machine's operator",
  "",
  "They look at stores, files and units of the machine themselves.",
  "",
  ...sections("operator"),
];

if (import.meta.main)
  await writeOrCheck([
    await generatedPage("reference/cli", PAGE.slice(0, -1)),
    await generatedFile("hub/program/flotilla.1", manPage()),
  ]);
