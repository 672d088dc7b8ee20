import { EXIT_MEANINGS } from "#hub/program/cli/exit.ts";
import { DEFAULT_HUB, type Flag } from "#hub/program/cli/flags.ts";
import { flagHead, sentence, TOPICS, type Topic } from "#hub/program/cli/topics.ts";

/** `flotilla.1` in the macros of man(7), from the tables that the parser reads. */

const COLUMNS = 76;

/** Lines of a length that editors and linters like; the page is filled anew when it is shown. */
function wrapped(words: string): string {
  const lines: string[] = [];
  for (const word of words.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < COLUMNS)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join("\n");
}

/** These signs mean something else to roff, which draws them as typographic ones elsewhere than on Debian. */
const SIGNS: Record<string, string> = {
  "\\": "\\e",
  "-": "\\-",
  "'": "\\(aq",
  "`": "\\(ga",
  "^": "\\(ha",
  "~": "\\(ti",
};

/** As text that can be copied into a shell. */
const escaped = (words: string): string =>
  words
    .replace(/[\\\-'`^~]/g, (sign) => SIGNS[sign] ?? sign)
    .replace(
      /[^\n -~]/gu,
      (sign) => `\\[u${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
    );

const guarded = (lines: string): string => lines.replace(/^(?=[.'])/gm, "\\&");

const text = (words: string): string => guarded(wrapped(escaped(words)));

/** An argument of a macro. */
const argument = (words: string): string => `"${escaped(words).replaceAll('"', "\\(dq")}"`;

const flagLines = (flag: Flag): string[] => [
  ".TP",
  `.B ${argument(flagHead(flag))}`,
  text(flag.env ? `${flag.help} [${flag.env}]` : flag.help),
];

const topicLines = ({ name, about, words, flags, examples }: Topic): string[] => [
  `.SS ${argument(["flotilla", name, ...words].join(" "))}`,
  text(sentence(about)),
  ...flags.flatMap(flagLines),
  ...(examples.length > 0
    ? [
        ".PP",
        examples.length === 1 ? "Example:" : "Examples:",
        ".PP",
        ".nf",
        ".RS 4",
        ...examples.map((line) => guarded(escaped(line))),
        ".RE",
        ".fi",
      ]
    : []),
];

const sections = (kind: Topic["kind"]) =>
  TOPICS.filter((topic) => topic.kind === kind).flatMap(topicLines);

const term = (name: string, meaning: string): string[] => [
  ".TP",
  `.B ${argument(name)}`,
  text(meaning),
];

export const manPage = (): string =>
  `${[
    '.\\" Written by `bun run gen` from the tables that the parser reads (scripts/man-page.ts).',
    '.TH FLOTILLA 1 "" "Flotilla" "User Commands"',
    ".SH NAME",
    "flotilla \\- a browser fleet and a workload pipeline in one executable",
    ".SH SYNOPSIS",
    ".B flotilla",
    ".I MODE",
    "[flags]",
    ".br",
    ".B flotilla",
    ".I COMMAND",
    "[words] [flags]",
    ".SH DESCRIPTION",
    text(
      "The same file is the hub, the worker, the control plane, the development mode of one machine, and the client of them all. A flag wins over the variable that it sets. The guide, which flotilla guide prints and every hub serves at /guide, says what each thing is.",
    ),
    ".SH OPTIONS",
    ...term("--help", "Say how flotilla, or the mode or command on the line, is used."),
    ...term("--version", "Print the version."),
    ".PP",
    "Behind a flag in the lists below stands the variable that it sets.",
    ".SH MODES",
    ...sections("mode"),
    ".SH COMMANDS OF A CLIENT",
    ...sections("client"),
    `.SH ${escaped("COMMANDS OF A MACHINE'S OPERATOR")}`,
    ...sections("operator"),
    ".SH ENVIRONMENT",
    ...term("SVC_HUB", `The hub or control plane that commands call (${DEFAULT_HUB}).`),
    ...term("SVC_API_TOKEN", "The token that they send."),
    ...term("NO_COLOR", "Anything: tables and logs have no colours."),
    ".SH EXIT STATUS",
    ...EXIT_MEANINGS.flatMap(([code, meaning]) => term(code, sentence(meaning))),
  ].join("\n")}\n`;
