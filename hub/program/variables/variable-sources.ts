import { existsSync } from "node:fs";
import { join } from "node:path";
import { blankIsUnset, ConfigError, type EnvSource } from "#shared/kit/env.ts";
import { readSecretFile } from "./secret-file.ts";

/**
 * Sources of a variable's value. If several give one, the first in this order counts; if none does,
 * the default applies.
 */
const ORIGINS = ["flag", "environment", "credential", "config_file", "default"] as const;

export interface Origin {
  from: (typeof ORIGINS)[number];
  /** The file that the value was read from; null if it was given directly. */
  file: string | null;
}

export interface VariableSources {
  env: EnvSource;
  /** What the command line sets, under the names of the variables. */
  flags?: EnvSource;
  /** What the configuration file sets, and its path. */
  config?: { path: string; values: EnvSource } | null;
  /** Variables that may come from a file named by NAME_FILE, or from a credential of the service manager. */
  secrets: readonly string[];
}

export interface GatheredVariables {
  /**
   * Everything given, including other programs' variables, each once; variables that named a secret file are removed.
   */
  env: EnvSource;
  /** The source of every name in `env`. */
  origins: ReadonlyMap<string, Origin>;
}

const FILE = "_FILE";
export const fileVariable = (name: string): string => `${name}${FILE}`;

interface Layer {
  origin: Origin;
  values: EnvSource;
}

/** Replaces variables that name files with the files' content. @throws ConfigError */
function readFiles(layer: Layer, secrets: readonly string[]): [string, string, Origin][] {
  const values = blankIsUnset(layer.values);
  const found: [string, string, Origin][] = [];
  for (const name of secrets) {
    const path = values[fileVariable(name)];
    if (path === undefined) continue;
    if (values[name] !== undefined)
      throw new ConfigError(
        `${name}: is set, and so is ${fileVariable(name)}: set only one of them, so that it is clear which one counts`,
      );
    delete values[fileVariable(name)];
    const secret = readSecretFile(path, fileVariable(name));
    found.push([name, secret, { ...layer.origin, file: path }]);
  }
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) found.push([name, value, layer.origin]);
  return found;
}

/** Credentials that the service manager holds for this service (systemd's LoadCredential=), by variable name. */
function credentials(env: EnvSource, secrets: readonly string[]): [string, string, Origin][] {
  const dir = env.CREDENTIALS_DIRECTORY?.trim();
  if (!dir) return [];
  return secrets
    .map((name) => [name, join(dir, name)] as const)
    .filter(([, path]) => existsSync(path))
    .map(([name, file]) => [name, readSecretFile(file, name), { from: "credential", file }]);
}

/**
 * Every variable once, from its first source: flag, then environment, then credential, then configuration file. Blank
 * means unset; a secret may be in a file named by NAME_FILE, both in the environment and in the configuration file.
 * @throws ConfigError for a secret that is given twice in one place, or a file that cannot be read.
 */
export function gatherVariables(sources: VariableSources): GatheredVariables {
  const { env, flags = {}, config = null, secrets } = sources;
  const layers = [
    readFiles({ origin: { from: "flag", file: null }, values: flags }, []),
    readFiles({ origin: { from: "environment", file: null }, values: env }, secrets),
    credentials(env, secrets),
    config === null
      ? []
      : readFiles(
          { origin: { from: "config_file", file: config.path }, values: config.values },
          secrets,
        ),
  ];
  const gathered: EnvSource = {};
  const origins = new Map<string, Origin>();
  for (const [name, value, origin] of layers.flat()) {
    if (origins.has(name)) continue;
    gathered[name] = value;
    origins.set(name, origin);
  }
  return { env: gathered, origins };
}
