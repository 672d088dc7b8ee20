import { existsSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { EnvSource } from "#shared/kit/env.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { FlagValues } from "../../cli/args.ts";
import { UsageError } from "../../cli/exit.ts";
import { editEnvText, readEnvText } from "./env-file.ts";
import { envText, variablesOf } from "./env-text.ts";
import { freeLanePorts } from "./ports.ts";
import { envFile, type Target, unitFile, unitText } from "./roles.ts";
import { readText } from "./system-files.ts";

export interface Paths {
  binary: string;
  unit: string;
  /** Directory of the operator's own units, of drop-ins, and of what starts at boot. */
  unit_dir: string;
  env: string;
  env_dir: string;
  /** Executable and unit are those of Debian's package, which apt and dpkg replace and remove. */
  packaged: boolean;
}

const OWN_BINARY = "/usr/local/bin/flotilla";
const PACKAGED_BINARY = "/usr/bin/flotilla";
const PACKAGED_UNITS = "/usr/lib/systemd/system";

/** Whether an operator's own unit starts its own executable, and not an edited copy the package's. */
function isOwn(unit: string): boolean {
  try {
    return readFileSync(unit, "utf8").includes(OWN_BINARY);
  } catch {
    return false;
  }
}

/** Where everything goes, below `prefix`; the unit itself names the paths without that prefix. */
export function pathsOf(target: Target, prefix: string): Paths {
  const unit_dir = join(prefix, "/etc/systemd/system");
  const own = join(unit_dir, unitFile(target));
  const of_package = join(prefix, PACKAGED_UNITS, unitFile(target));
  const packaged = existsSync(of_package) && !isOwn(own);
  return {
    binary: join(prefix, packaged ? PACKAGED_BINARY : OWN_BINARY),
    unit: packaged ? of_package : own,
    unit_dir,
    env: join(prefix, "/etc/flotilla", envFile(target)),
    env_dir: join(prefix, "/etc/flotilla"),
    packaged,
  };
}

export interface Plan {
  unit_text: string;
  env_text: string;
  /** What the environment file sets. */
  values: Record<string, string>;
  /** How that differs from the existing file; null if there is no file. */
  changes: EnvChanges | null;
  generated: boolean;
}

/** Names of variables. */
export interface EnvChanges {
  added: string[];
  changed: string[];
  removed: string[];
}

/** What an installation should set and unset. */
export interface Given {
  values: Record<string, string>;
  unset: string[];
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

function readName(flag: string, name: string): string {
  if (!NAME.test(name)) throw new UsageError(`${flag}: "${name}" is not the name of a variable`);
  if (name === "SVC_DATA_DIR")
    throw new UsageError(
      `${flag} SVC_DATA_DIR: cannot be changed, it is the unit's state directory`,
    );
  return name;
}

/** `KEY=VALUE` of --set. */
function readSetting(word: string): [string, string] {
  const equals = word.indexOf("=");
  if (equals < 1) throw new UsageError(`--set: "${word}" is not KEY=VALUE`);
  const name = readName("--set", word.slice(0, equals));
  const value = word.slice(equals + 1).trim();
  if (value === "")
    throw new UsageError(`--set ${name}: has no value; to remove the variable use --unset ${name}`);
  return [name, value];
}

/**
 * What was given with --set and --unset, and the role's variables from flags or the environment; --set overrides a
 * flag, and a flag the environment. @throws UsageError
 */
export function givenValues(
  target: Target,
  env: EnvSource,
  overrides: EnvSource,
  flags: FlagValues,
): Given {
  const unset = (flags.unset ?? []).map((name) => readName("--unset", name));
  const values: Record<string, string> = {};
  for (const name of variablesOf(target.role)) {
    const value = (overrides[name] ?? env[name])?.trim();
    if (value && !(unset.includes(name) && overrides[name] === undefined)) values[name] = value;
  }
  Object.assign(values, Object.fromEntries((flags.set ?? []).map(readSetting)));
  for (const [name, value] of Object.entries(values)) {
    if (/[\r\n]/.test(value)) throw new UsageError(`${name}: must be one line`);
    if (unset.includes(name)) throw new UsageError(`--unset ${name}: the command also sets it`);
  }
  return { values, unset };
}

async function otherWorkers({ env_dir, env }: Paths): Promise<Record<string, string>[]> {
  const names = await readdir(env_dir).catch(() => []);
  const files = names.filter((name) => /^worker-.*\.env$/.test(name));
  const paths = files.map((name) => join(env_dir, name)).filter((path) => path !== env);
  return Promise.all(paths.map(async (path) => readEnvText((await readText(path)) ?? "")));
}

/** Unique as long as machines have different names. */
const workerId = (instance: string): string =>
  `${
    hostname()
      .replace(/[^A-Za-z0-9_-]+/g, "-")
      .replace(/^[^A-Za-z0-9]+/, "")
      .slice(0, 30) || "host"
  }-${instance}`;

export async function planInstall(
  target: Target,
  paths: Paths,
  user: string,
  given: Given,
  generate: boolean,
): Promise<Plan> {
  const unit_text = unitText(target.role, user);
  const there = await readText(paths.env);
  if (there !== null) {
    const had = readEnvText(there);
    const differing = Object.entries(given.values).filter(([name, value]) => had[name] !== value);
    const unset = given.unset.filter((name) => had[name] !== undefined);
    const changes = {
      added: differing.flatMap(([name]) => (had[name] === undefined ? [name] : [])),
      changed: differing.flatMap(([name]) => (had[name] === undefined ? [] : [name])),
      removed: unset,
    };
    const same = differing.length === 0 && unset.length === 0;
    const env_text = same ? there : editEnvText(there, Object.fromEntries(differing), unset);
    return { unit_text, env_text, values: readEnvText(env_text), changes, generated: false };
  }
  const values = { ...given.values };
  // A hub on the same machine has 8000.
  if (target.role === "control") values.SVC_PORT ??= "8001";
  if (target.instance !== null) {
    values.SVC_WORKER_ID ??= workerId(target.instance);
    for (const [name, value] of Object.entries(freeLanePorts(await otherWorkers(paths))))
      values[name] ??= value;
  }
  const generated = generate && values.WORKER_SECRET === undefined;
  if (generated) values.WORKER_SECRET = newToken();
  const shown = new Set(variablesOf(target.role));
  const others = Object.entries(values).filter(([name]) => !shown.has(name));
  const env_text = editEnvText(envText(target, values), Object.fromEntries(others), []);
  return { unit_text, env_text, values: readEnvText(env_text), changes: null, generated };
}
