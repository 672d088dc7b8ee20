import { choicesOf } from "./choices.ts";
import { COMMAND_NAMES, type Command, entryOf, isOperator } from "./commands.ts";
import { ABOUT_MODE, type Flag, MODE_FLAGS, MODES, type Mode } from "./flags.ts";

/** A mode or a command, as help, reference, completions and manual page tell of it. */
export interface Topic {
  name: Mode | Command;
  kind: "mode" | "client" | "operator";
  about: string;
  words: readonly string[];
  flags: readonly Flag[];
  examples: readonly string[];
}

const ofMode = (name: Mode): Topic => ({
  name,
  kind: "mode",
  about: ABOUT_MODE[name],
  words: [],
  flags: MODE_FLAGS[name],
  examples: [],
});

function ofCommand(name: Command): Topic {
  const { about, words, flags, examples = [] } = entryOf(name);
  return { name, kind: isOperator(name) ? "operator" : "client", about, words, flags, examples };
}

/** In the order in which they are shown. */
export const TOPICS: readonly Topic[] = [...MODES.map(ofMode), ...COMMAND_NAMES.map(ofCommand)];

export const topicOf = (name: Mode | Command): Topic =>
  TOPICS.find((topic) => topic.name === name) as Topic;

/** `-o, --out DIR`. */
export const flagHead = ({ name, short, value }: Flag): string =>
  `${short ? `-${short}, ` : ""}--${name}${value ? ` ${value}` : ""}`;

export const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}.`;

/** What a shell offers for a word, or for the value of a flag. */
export type Offered = { choices: string[] } | "files" | "directories" | "nothing";

export function offeredFor(placeholder: string): Offered {
  const choices = choicesOf(placeholder);
  if (choices.length > 0) return { choices };
  if (/\bFILE\b/.test(placeholder)) return "files";
  return /\bDIR\b/.test(placeholder) ? "directories" : "nothing";
}
