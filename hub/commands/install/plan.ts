import { readdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { EnvSource } from "#shared/env.ts";
import { newToken } from "#shared/ids.ts";
import { UsageError } from "../../cli/exit.ts";
import { envText, readEnvText, variablesOf } from "./env-text.ts";
import { readText } from "./files.ts";
import { freeLanePorts } from "./ports.ts";
import { envFile, type Target, unitFile, unitText } from "./roles.ts";

export interface Paths {
  binary: string;
  unit: string;
  env: string;
  env_dir: string;
}

/** Where everything goes, below `prefix`; the unit itself names the paths without it. */
export const pathsOf = (target: Target, prefix: string): Paths => ({
  binary: join(prefix, "/usr/local/bin/flotilla"),
  unit: join(prefix, "/etc/systemd/system", unitFile(target)),
  env: join(prefix, "/etc/flotilla", envFile(target)),
  env_dir: join(prefix, "/etc/flotilla"),
});

export interface Plan {
  unit_text: string;
  /** Null: the file that is there stays. */
  env_text: string | null;
  /** Variables that were given and are not in the file that stays. */
  not_written: string[];
  generated: boolean;
}

/** Variables of the role that were given, as flags or in the environment. @throws UsageError */
export function givenValues(
  target: Target,
  env: EnvSource,
  flags: EnvSource,
): Record<string, string> {
  const given: Record<string, string> = {};
  for (const name of variablesOf(target.role)) {
    const value = (flags[name] ?? env[name])?.trim();
    if (!value) continue;
    if (/[\r\n]/.test(value)) throw new UsageError(`${name}: must be one line`);
    given[name] = value;
  }
  return given;
}

async function otherWorkers({ env_dir, env }: Paths): Promise<Record<string, string>[]> {
  const names = await readdir(env_dir).catch(() => []);
  const files = names.filter((name) => /^worker-.*\.env$/.test(name));
  const paths = files.map((name) => join(env_dir, name)).filter((path) => path !== env);
  return Promise.all(paths.map(async (path) => readEnvText((await readText(path)) ?? "")));
}

/** Unique among machines that have names of their own. */
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
  given: Record<string, string>,
  generate: boolean,
): Promise<Plan> {
  const unit_text = unitText(target.role, user);
  const there = await readText(paths.env);
  if (there !== null) {
    const set = readEnvText(there);
    const not_written = Object.keys(given).filter((name) => set[name] !== given[name]);
    return { unit_text, env_text: null, not_written, generated: false };
  }
  const values = { ...given };
  // A hub of the same machine has 8000.
  if (target.role === "control") values.SVC_PORT ??= "8001";
  if (target.instance !== null) {
    values.SVC_WORKER_ID ??= workerId(target.instance);
    for (const [name, value] of Object.entries(freeLanePorts(await otherWorkers(paths))))
      values[name] ??= value;
  }
  const generated = generate && values.WORKER_SECRET === undefined;
  if (generated) values.WORKER_SECRET = newToken();
  return { unit_text, env_text: envText(target, values), not_written: [], generated };
}
