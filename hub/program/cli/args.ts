import type { EnvSource } from "#shared/kit/env.ts";
import { COMMANDS, type Command, isCommand, RESERVED_COMMANDS } from "./commands.ts";
import { UsageError } from "./exit.ts";
import { type Flag, MODE_FLAGS, MODES, type Mode } from "./flags.ts";

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
/** Switches must be known before the topic, to tell a flag's value from the first word. */
const TAKES_VALUE = new Set(
  ALL_FLAGS.filter((f) => f.value).flatMap((f) =>
    f.short ? [`--${f.name}`, `-${f.short}`] : [`--${f.name}`],
  ),
).add("--mode");

interface Token {
  /** As written: `--port` or `-o`; null for a word. */
  flag: string | null;
  value: string | null;
}

function tokenize(argv: string[]): Token[] {
  const tokens: Token[] = [];
  for (let i = 0; i < argv.length; i += 1) {
    const arg = argv[i] ?? "";
    if (arg === "--") {
      tokens.push(...argv.slice(i + 1).map((value) => ({ flag: null, value })));
      break;
    }
    if (!arg.startsWith("-") || arg === "-") {
      tokens.push({ flag: null, value: arg });
      continue;
    }
    const equals = arg.startsWith("--") ? arg.indexOf("=") : -1;
    const flag = equals < 0 ? arg : arg.slice(0, equals);
    if (equals >= 0) tokens.push({ flag, value: arg.slice(equals + 1) });
    else if (TAKES_VALUE.has(flag)) {
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
    if (RESERVED_COMMANDS.includes(first))
      throw new UsageError(`the command ${first} is not part of this version`);
    throw new UsageError(`unknown mode or command "${first}"`);
  }
  const fromEnv = env.SVC_MODE?.trim();
  if (!fromEnv) return { topic: null, words };
  if (!isMode(fromEnv))
    throw new UsageError(`SVC_MODE: "${fromEnv}" is not one of ${MODES.join(", ")}`);
  return { topic: fromEnv, words };
}

function readFlags(tokens: Token[], topic: Mode | Command): FlagValues {
  const known: readonly Flag[] = isMode(topic) ? MODE_FLAGS[topic] : COMMANDS[topic].flags;
  const values: FlagValues = {};
  for (const token of tokens) {
    if (token.flag === null || token.flag === "--mode") continue;
    const flag = known.find((f) => `--${f.name}` === token.flag || `-${f.short}` === token.flag);
    if (!flag) throw new UsageError(`unknown flag ${token.flag} for ${topic}`);
    if (flag.value && token.value === "") throw new UsageError(`${token.flag} needs a value`);
    if (!flag.value && token.value !== null && !flag.env)
      throw new UsageError(`${token.flag} takes no value`);
    const value = token.value ?? "1";
    values[flag.name] = flag.repeatable ? [...(values[flag.name] ?? []), value] : [value];
  }
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
    throw new UsageError(`no mode given: expected ${MODES.join(", ")}, or a command`);
  }
  const flags = readFlags(tokens, topic);
  if (isMode(topic)) {
    if (words.length > 0) throw new UsageError(`unexpected word "${words[0]}" after ${topic}`);
    return { kind: "mode", mode: topic, flags };
  }
  const expected: readonly string[] = COMMANDS[topic].words;
  const needed = expected.filter((word) => !word.startsWith("["));
  const any = expected.some((word) => word.includes("…"));
  if (words.length < needed.length) throw new UsageError(`${topic} needs ${needed.join(" ")}`);
  if (words.length > expected.length && !any)
    throw new UsageError(`unexpected word "${words[expected.length]}" after ${topic}`);
  return { kind: "command", command: topic, words, flags };
}

/** What the flags set, under the names of their variables; a flag wins over its variable. */
export function flagOverrides(flags: FlagValues, topic: Mode | Command): EnvSource {
  const known: readonly Flag[] = isMode(topic) ? MODE_FLAGS[topic] : COMMANDS[topic].flags;
  const overrides: EnvSource = {};
  for (const flag of known) {
    const value = flags[flag.name]?.at(-1);
    if (flag.env && value !== undefined) overrides[flag.env] = value;
  }
  return overrides;
}
