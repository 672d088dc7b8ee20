import { existsSync } from "node:fs";
import { join } from "node:path";
import { blankIsUnset, ConfigError, type EnvSource } from "#shared/kit/env.ts";
import { readSecretFile } from "#shared/kit/secret-file.ts";

/**
 * Where the value of a variable comes from. Of several that give one, the first in this order counts; a variable that none
 * gives has its default.
 */
const ORIGINS = ["flag", "environment", "credential", "config_file", "default"] as const;

export interface Origin {
  from: (typeof ORIGINS)[number];
  /** The file that the value was read from; null where it was given as it is. */
  file: string | null;
}

export interface VariableSources {
  env: EnvSource;
  /** What the command line sets, under the names of the variables. */
  flags?: EnvSource;
  /** What the configuration file sets, and its path. */
  config?: { path: string; values: EnvSource } | null;
  /** Variables that may come from a file that NAME_FILE names, or from a credential of the service manager. */
  secrets: readonly string[];
}

export interface GatheredVariables {
  /** Everything that was given, variables of other programs included, each once; what named a file of a secret is gone. */
  env: EnvSource;
  /** Of every name in `env`. */
  origins: ReadonlyMap<string, Origin>;
}

const FILE = "_FILE";
export const fileVariable = (name: string): string => `${name}${FILE}`;

interface Layer {
  origin: Origin;
  values: EnvSource;
}

/** Puts what the files hold into the place of the variables that name them. @throws ConfigError */
function readFiles(layer: Layer, secrets: readonly string[]): [string, string, Origin][] {
  const values = blankIsUnset(layer.values);
  const found: [string, string, Origin][] = [];
  for (const name of secrets) {
    const path = values[fileVariable(name)];
    if (path === undefined) continue;
    if (values[name] !== undefined)
      throw new ConfigError(
        `${name}: is set, and so is ${fileVariable(name)}: set one of them, so that it is plain which one counts`,
      );
    delete values[fileVariable(name)];
    const secret = readSecretFile(path, fileVariable(name));
    found.push([name, secret, { ...layer.origin, file: path }]);
  }
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) found.push([name, value, layer.origin]);
  return found;
}

/** What the service manager keeps for this service (systemd's LoadCredential=), under the names of the variables. */
function credentials(env: EnvSource, secrets: readonly string[]): [string, string, Origin][] {
  const dir = env.CREDENTIALS_DIRECTORY?.trim();
  if (!dir) return [];
  return secrets
    .map((name) => [name, join(dir, name)] as const)
    .filter(([, path]) => existsSync(path))
    .map(([name, file]) => [name, readSecretFile(file, name), { from: "credential", file }]);
}

/**
 * Every variable once, from where it counts: flag, then environment, then credential, then configuration file. Blank means
 * unset; a secret may stand in a file that NAME_FILE names, in the environment as in the configuration file.
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
