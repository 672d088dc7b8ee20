import type { EnvSource } from "#shared/kit/env.ts";
import { SESSION_ID } from "#shared/protocol/ids.ts";
import { choicesOf } from "./choices.ts";
import { COMMAND_NAMES, COMMANDS, type Command, isCommand } from "./commands.ts";
import { UsageError } from "./exit.ts";
import { type Flag, MODE_FLAGS, MODES, type Mode } from "./flags.ts";
import { nearestWord } from "./nearest-word.ts";
import { printable } from "./print.ts";

/** Values by flag name; a switch is `"1"`, or what was written in `--name=0`. */
export type FlagValues = Record<string, string[]>;

export type Invocation =
  | { kind: "help"; topic: Mode | Command | null }
  | { kind: "version" }
  | { kind: "mode"; mode: Mode; flags: FlagValues }
  | { kind: "command"; command: Command; words: string[]; flags: FlagValues };

const isMode = (word: string): word is Mode => MODES.some((m) => m === word);

const ALL_FLAGS: Flag[] = [
  ...Object.values(MODE_FLAGS),
  ...Object.values(COMMANDS).map((command) => command.flags),
].flat();
/** How a flag is written. */
export const flagSpellings = ({ name, short }: Flag): string[] =>
  short ? [`--${name}`, `-${short}`] : [`--${name}`];
/** Switches must be known before the topic, to tell a flag's value from the first word. */
const TAKES_VALUE = new Set(ALL_FLAGS.filter((f) => f.value).flatMap(flagSpellings)).add("--mode");

const flagsOf = (topic: Mode | Command): readonly Flag[] =>
  isMode(topic) ? MODE_FLAGS[topic] : COMMANDS[topic].flags;

/** Flags that take a value somewhere, and the topics in which the same letters are a switch. */
export const spelledWithValue = (): { spelled: string; switch_of: (Mode | Command)[] }[] =>
  [...TAKES_VALUE].map((spelled) => ({
    spelled,
    switch_of: [...MODES, ...COMMAND_NAMES].filter((topic) => isSwitch(topic, spelled)),
  }));

const isSwitch = (topic: Mode | Command, spelled: string): boolean =>
  flagsOf(topic).some((flag) => !flag.value && flagSpellings(flag).includes(spelled));

/** `-f` is a file of one command, and a switch of another: the word before it decides. */
const takesValue = (spelled: string, topic: Mode | Command | null): boolean =>
  TAKES_VALUE.has(spelled) && !(topic !== null && isSwitch(topic, spelled));

/** Ids of sessions may begin with a dash. */
const isSessionId = (arg: string): boolean =>
  SESSION_ID.test(arg) && !ALL_FLAGS.some((flag) => flagSpellings(flag).includes(arg));

interface Token {
  /** As written: `--port` or `-o`; null for a word. */
  flag: string | null;
  value: string | null;
}

function tokenize(argv: string[]): Token[] {
  const tokens: Token[] = [];
  let topic: Mode | Command | null = null;
  for (let i = 0; i < argv.length; i += 1) {
    const arg = argv[i] ?? "";
    if (arg === "--") {
      tokens.push(...argv.slice(i + 1).map((value) => ({ flag: null, value })));
      break;
    }
    if (!arg.startsWith("-") || arg === "-" || isSessionId(arg)) {
      if (topic === null && (isMode(arg) || isCommand(arg))) topic = arg;
      tokens.push({ flag: null, value: arg });
      continue;
    }
    const equals = arg.startsWith("--") ? arg.indexOf("=") : -1;
    const flag = equals < 0 ? arg : arg.slice(0, equals);
    if (equals >= 0) tokens.push({ flag, value: arg.slice(equals + 1) });
    else if (takesValue(flag, topic)) {
      const value = argv[i + 1];
      // A value may start with a dash (-o -dir); one that is itself a known flag was forgotten.
      if (value === undefined || TAKES_VALUE.has(value))
        throw new UsageError(`${flag} needs a value`);
      tokens.push({ flag, value });
      i += 1;
    } else tokens.push({ flag, value: null });
  }
  return tokens;
}

function readTopic(
  tokens: Token[],
  env: EnvSource,
): { topic: Mode | Command | null; words: string[] } {
  const words = tokens.filter((t) => t.flag === null).map((t) => t.value ?? "");
  const given = tokens.findLast((t) => t.flag === "--mode")?.value;
  if (given !== undefined && given !== null) {
    if (!isMode(given))
      throw new UsageError(`--mode: "${given}" is not one of ${MODES.join(", ")}`);
    return { topic: given, words };
  }
  const first = words[0];
  if (first !== undefined) {
    if (isMode(first) || isCommand(first)) return { topic: first, words: words.slice(1) };
    const meant = nearestWord(first, [...MODES, ...COMMAND_NAMES]);
    throw new UsageError(
      `unknown mode or command "${first}"`,
      meant === null ? "flotilla --help" : `flotilla ${meant}`,
    );
  }
  const fromEnv = env.SVC_MODE?.trim();
  if (!fromEnv) return { topic: null, words };
  if (!isMode(fromEnv))
    throw new UsageError(`SVC_MODE: "${fromEnv}" is not one of ${MODES.join(", ")}`);
  return { topic: fromEnv, words };
}

/** `--output json` is `--json`, which the commands know. @throws UsageError */
function readOutput(values: FlagValues): void {
  const output = values.output?.at(-1);
  delete values.output;
  if (output === "json") values.json = ["1"];
  if (output === "table" && values.json)
    throw new UsageError("--output table and --json exclude each other");
}

function unknownFlag(given: string, topic: Mode | Command, known: readonly Flag[]): UsageError {
  const meant = nearestWord(
    given,
    known.map(({ name }) => `--${name}`),
  );
  return new UsageError(
    `unknown flag ${given} for ${topic}`,
    meant === null ? `flotilla ${topic} --help` : `flotilla ${topic} ${meant}`,
  );
}

function readFlags(tokens: Token[], topic: Mode | Command): FlagValues {
  const known = flagsOf(topic);
  const values: FlagValues = {};
  for (const token of tokens) {
    if (token.flag === null || token.flag === "--mode") continue;
    const flag = known.find((f) => `--${f.name}` === token.flag || `-${f.short}` === token.flag);
    if (!flag) throw unknownFlag(token.flag, topic, known);
    if (flag.value && token.value === "") throw new UsageError(`${token.flag} needs a value`);
    if (!flag.value && token.value !== null && !flag.env)
      throw new UsageError(`${token.flag} takes no value`);
    const value = token.value ?? "1";
    const choices = choicesOf(flag.value);
    if (choices.length > 1 && !choices.includes(value))
      throw new UsageError(`${token.flag}: "${printable(value)}" is not ${choices.join(" or ")}`);
    values[flag.name] = flag.repeatable ? [...(values[flag.name] ?? []), value] : [value];
  }
  readOutput(values);
  return values;
}

/**
 * Reads a command line. `--mode X` or the first word names what to run; without either, SVC_MODE does.
 * @throws UsageError naming the flag or word that is wrong.
 */
export function parseCommandLine(argv: string[], env: EnvSource): Invocation {
  const wants = (...names: string[]) => {
    const end = argv.indexOf("--");
    return (end < 0 ? argv : argv.slice(0, end)).some((arg) => names.includes(arg));
  };
  if (wants("--help", "-h")) {
    const topic = argv.find((arg) => isMode(arg) || isCommand(arg));
    return {
      kind: "help",
      topic: topic !== undefined && (isMode(topic) || isCommand(topic)) ? topic : null,
    };
  }
  if (wants("--version", "-V")) return { kind: "version" };
  const tokens = tokenize(argv);
  const { topic, words } = readTopic(tokens, env);
  if (topic === null) {
    const stray = tokens.find((t) => t.flag !== null);
    if (
      stray &&
      !ALL_FLAGS.some((f) => `--${f.name}` === stray.flag || `-${f.short}` === stray.flag)
    )
      throw new UsageError(`unknown flag ${stray.flag}`);
    throw new UsageError(
      `no mode given: expected ${MODES.join(", ")}, or a command`,
      "flotilla --help",
    );
  }
  const flags = readFlags(tokens, topic);
  if (isMode(topic)) {
    if (words.length > 0) throw new UsageError(`unexpected word "${words[0]}" after ${topic}`);
    return { kind: "mode", mode: topic, flags };
  }
  const expected: readonly string[] = COMMANDS[topic].words;
  const needed = expected.filter((word) => !word.startsWith("["));
  const any = expected.some((word) => word.includes("…"));
  const help = `flotilla ${topic} --help`;
  if (words.length < needed.length)
    throw new UsageError(`${topic} needs ${needed.join(" ")}`, help);
  if (words.length > expected.length && !any)
    throw new UsageError(`unexpected word "${words[expected.length]}" after ${topic}`, help);
  return { kind: "command", command: topic, words, flags };
}

/** What the flags set, under the names of their variables; a flag wins over its variable. */
export function flagOverrides(flags: FlagValues, topic: Mode | Command): EnvSource {
  const known = flagsOf(topic);
  const overrides: EnvSource = {};
  for (const flag of known) {
    const value = flags[flag.name]?.at(-1);
    if (flag.env && value !== undefined) overrides[flag.env] = value;
  }
  return overrides;
}
