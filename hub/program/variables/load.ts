import { type HubConfig, type HubMode, loadHubConfig } from "#hub/platform/config.ts";
import { ConfigError, type EnvSource, UnavailableError } from "#shared/kit/env.ts";
import { loadWorkerConfig, type WorkerConfig } from "#worker/config.ts";
import { MODE_FLAGS, type Mode } from "../cli/flags.ts";
import { readConfigFile } from "./config-file.ts";
import { ARGV_NAMES, SECRETS } from "./known.ts";
import { unknownNames } from "./unknown.ts";
import { type GatheredVariables, gatherVariables, type Origin } from "./variable-sources.ts";

export interface ConfigSources {
  /** The process's environment, or what a unit's environment file sets. */
  env: EnvSource;
  /** What the command line sets, under the names of the variables; SVC_CONFIG names the configuration file. */
  flags?: EnvSource;
  /** Values that replace the mode's own defaults. */
  defaults?: EnvSource;
}

/** A configuration, and how it came about. */
export interface LoadedConfig<C> extends GatheredVariables {
  config: C;
  /** Warnings to log at the start: one sentence each, beginning with the name of a variable. */
  warnings: readonly string[];
}

/**
 * The operator names what recipes and engines may read; it may come from files, as the program's own secrets do. An
 * engine may also name whatever matches a pattern, but not through a file: a caller who may store an engine must not
 * read files with it.
 */
function secretsOf(...layers: EnvSource[]): string[] {
  const lists = layers.flatMap((layer) => [layer.SVC_RECIPE_ENV, layer.SVC_ENGINE_KEY_ENV]);
  const names = lists
    .flatMap((list) => (list ?? "").split(","))
    .map((name) => name.trim().replace(/@.*$/, ""));
  return [
    ...new Set([...SECRETS, ...names.filter((name) => name !== "" && !name.startsWith("*"))]),
  ];
}

/**
 * Every given variable, once, with its source: flag, then environment, then credential of the service
 * manager, then configuration file. Does not validate values.
 * @throws ConfigError for a file that cannot be read and a secret that is given twice.
 */
export function gatherConfig(sources: ConfigSources): GatheredVariables {
  const { env, flags = {} } = sources;
  const path = flags.SVC_CONFIG?.trim() || env.SVC_CONFIG?.trim();
  const config = path ? readConfigFile(path, ARGV_NAMES) : null;
  const secrets = secretsOf(env, flags, config?.values ?? {});
  return gatherVariables({ env, flags, config, secrets });
}

function blameLine(line: string, mode: Mode, origins: ReadonlyMap<string, Origin>): string {
  const [, name = "", rest = ""] = /^([A-Za-z_][A-Za-z0-9_]*): (.*)$/s.exec(line) ?? [];
  const origin = origins.get(name);
  if (origin === undefined) return line;
  const flag = MODE_FLAGS[mode].find(({ env }) => env === name);
  if (origin.from === "flag" && flag !== undefined) return `--${flag.name}: ${rest}`;
  return origin.file === null ? line : `${name}: ${rest} (from ${origin.file})`;
}

/** Puts the flag or the file that set a variable into the sentences of a ConfigError; throws everything as it comes. */
export function blame(err: unknown, mode: Mode, origins: ReadonlyMap<string, Origin>): never {
  if (!(err instanceof ConfigError)) throw err;
  const lines = err.message.split("\n").map((line) => blameLine(line, mode, origins));
  const Kind = err instanceof UnavailableError ? UnavailableError : ConfigError;
  throw new Kind(lines.join("\n"));
}

/**
 * The configuration that the variables give for `mode`.
 * @throws ConfigError naming every bad value by its flag, variable or file.
 */
export function judgeConfig(mode: "worker", gathered: GatheredVariables): WorkerConfig;
export function judgeConfig(mode: HubMode, gathered: GatheredVariables): HubConfig;
export function judgeConfig(mode: Mode, gathered: GatheredVariables): WorkerConfig | HubConfig;
export function judgeConfig(mode: Mode, { env, origins }: GatheredVariables) {
  try {
    return mode === "worker" ? loadWorkerConfig(env, {}) : loadHubConfig(env, {}, mode);
  } catch (err) {
    return blame(err, mode, origins);
  }
}

/** @returns warnings about unknown names. @throws ConfigError for those that were meant to be secrets. */
export function judgeNames(gathered: GatheredVariables): string[] {
  const { warnings, refusals } = unknownNames(gathered);
  if (refusals.length > 0) throw new ConfigError(refusals.join("\n"));
  return warnings;
}

/**
 * The configuration of a mode, read and validated as its start does.
 * @throws ConfigError naming every bad value by its flag, variable or file, and every unknown name that was meant to be
 * a secret.
 */
export function loadConfig(mode: "worker", sources: ConfigSources): LoadedConfig<WorkerConfig>;
export function loadConfig(mode: HubMode, sources: ConfigSources): LoadedConfig<HubConfig>;
export function loadConfig(
  mode: Mode,
  sources: ConfigSources,
): LoadedConfig<WorkerConfig | HubConfig>;
export function loadConfig(
  mode: Mode,
  sources: ConfigSources,
): LoadedConfig<WorkerConfig | HubConfig> {
  const { env: given, origins } = gatherConfig(sources);
  const gathered = { env: { ...sources.defaults, ...given }, origins };
  const warnings = judgeNames(gathered);
  return { ...gathered, config: judgeConfig(mode, gathered), warnings };
}
