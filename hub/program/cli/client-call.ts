import type { Http } from "#shared/client/http.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import type { FlagValues } from "./args.ts";
import { UsageError } from "./exit.ts";
import type { Terminal } from "./print.ts";

/** A client command as it was typed, and what it works with. */
export interface ClientCall {
  client: Http;
  terminal: Terminal;
  clock: Clock;
  /** Aborts on the first Ctrl-C. */
  signal: AbortSignal;
  env: EnvSource;
  words: string[];
  flags: FlagValues;
  json: boolean;
}

/** The last value of a flag that takes one. */
export const lastOf = (flags: FlagValues, name: string): string | undefined => flags[name]?.at(-1);

/** @throws UsageError unless it is a whole number between the two */
export function numberOf(
  flags: FlagValues,
  name: string,
  { min, max, usual }: { min: number; max: number; usual: number },
): number {
  const text = lastOf(flags, name);
  if (text === undefined) return usual;
  const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw new UsageError(`--${name} must be a whole number from ${min} to ${max}, not "${text}"`);
  return value;
}

/** Flags that the word before them has no use for must not go unheard. @throws UsageError */
export function refuseFlags(flags: FlagValues, names: readonly string[], what: string): void {
  const wrong = names.find((name) => flags[name] !== undefined);
  if (wrong !== undefined) throw new UsageError(`--${wrong} is not for ${what}`);
}

/** `word` as one of `known`; the first of them where nothing was typed. @throws UsageError */
export function actionOf<A extends string>(
  command: string,
  word: string | undefined,
  known: readonly [A, ...A[]],
): A {
  const found = word === undefined ? known[0] : known.find((one) => one === word);
  if (found === undefined)
    throw new UsageError(
      `${command} takes ${known.join(", ")}, not "${word}"`,
      `flotilla ${command} --help`,
    );
  return found;
}

/** @throws UsageError where a word is missing after `command action` */
export function needed(word: string | undefined, what: string, usage: string): string {
  if (word === undefined || word === "")
    throw new UsageError(`${usage} needs ${what}`, `flotilla ${usage.split(" ")[0]} --help`);
  return word;
}

export const jsonText = (value: unknown): string => JSON.stringify(value, null, 2);

/** `2026-01-31 12:00:00`. */
export const moment = (iso: string | null | undefined): string =>
  iso ? iso.replace("T", " ").slice(0, 19) : "";
