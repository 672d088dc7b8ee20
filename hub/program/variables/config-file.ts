import { resolve } from "node:path";
import { ConfigError, type EnvSource } from "#shared/kit/env.ts";
import { readVariablesFile } from "./secret-file.ts";

export interface ConfigFile {
  /** Absolute. */
  path: string;
  values: EnvSource;
}

/** The value as it would be written in the environment; undefined for what cannot be a variable's value. */
function spell(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "1" : "0";
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return undefined;
}

/** A list is words with commas between them, or JSON where a word holds one: command lines take both. */
function spellList(values: readonly unknown[]): string | undefined {
  const words = values.map(spell);
  if (words.some((word) => word === undefined)) return undefined;
  return words.join(",");
}

/**
 * Reads a configuration file: TOML, with the names of the environment's variables at its top level. It is never
 * searched for: only a file that is named is read.
 * @throws ConfigError naming the file, and the variable whose value cannot be used.
 */
export function readConfigFile(given: string, argv_names: ReadonlySet<string>): ConfigFile {
  const path = resolve(given);
  const text = readVariablesFile(path, "--config");
  let parsed: object;
  try {
    parsed = Bun.TOML.parse(text);
  } catch (err) {
    const why = err instanceof Error ? err.message.replace(/^TOML Parse error: /, "") : String(err);
    throw new ConfigError(`--config: ${path} is not TOML: ${why}`);
  }
  const values: EnvSource = {};
  for (const [name, value] of Object.entries(parsed)) {
    const words = Array.isArray(value) && argv_names.has(name);
    const text = words
      ? JSON.stringify(value)
      : Array.isArray(value)
        ? spellList(value)
        : spell(value);
    if (text === undefined)
      throw new ConfigError(
        `${name}: in ${path} must be text, a number, true, false or a list of these`,
      );
    values[name] = text;
  }
  return { path, values };
}
