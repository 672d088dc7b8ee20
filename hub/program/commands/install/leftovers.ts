import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { humanSize } from "#shared/protocol/names.ts";
import { readEnvText } from "./env-file.ts";
import { exists, healthyOf, previousOf, readText } from "./files.ts";
import { installedTargets } from "./installed.ts";
import { type Paths, pathsOf } from "./plan.ts";
import { stateName, type Target, unitName, userOf } from "./roles.ts";
import type { System } from "./system.ts";

/** What is left of a service besides its unit. */
export interface Leftovers {
  /** Files and directories that are this service's alone. */
  paths: string[];
  /** The service's user, when no other service here has it; null: it is another's as well, or there is none. */
  user: string | null;
  /** What other services here go on using. */
  shared: string[];
  /** Data that its variables put somewhere else; nobody but the operator knows whose else it is. */
  elsewhere: string[];
}

interface Asked {
  target: Target;
  prefix: string;
  /** Of the unit, while it was there. */
  user: string | null;
  staged: boolean;
  system: System;
}

const below = (path: string, dir: string): boolean => path === dir || path.startsWith(`${dir}/`);

/** Places of `values` outside of the state directory, in words. */
function placesElsewhere(values: Record<string, string>, state: string): string[] {
  return ["SVC_DB_URL", "SVC_OBJECTS_URL", "SVC_PLUGINS_DIR"].flatMap((name) => {
    const value = values[name];
    if (value === undefined) return [];
    const path = value.replace(/^(sqlite|file):(\/\/)?/i, "");
    if (/^[a-z0-9+.-]+:/i.test(path)) return [`what ${name} names`];
    return below(resolve(state, path), state) ? [] : [resolve(state, path)];
  });
}

const present = async (paths: string[]): Promise<string[]> => {
  const there = await Promise.all(paths.map(exists));
  return paths.filter((_, i) => there[i]);
};

/** Looks for it. The unit is gone or goes; `target` no longer counts among the services of this machine. */
export async function findLeftovers(asked: Asked): Promise<Leftovers> {
  const { target, prefix, staged, system } = asked;
  const paths = pathsOf(target, prefix);
  const others = (await installedTargets(prefix)).filter(
    (each) => unitName(each) !== unitName(target),
  );
  const users = await Promise.all(others.map((each) => userOf(pathsOf(each, prefix).unit)));
  const user = asked.user;
  const has_user = user !== null && !staged && (await system.hasUser(user));
  const state = join(prefix, "/var/lib", stateName(target));
  const values = readEnvText((await readText(paths.env)) ?? "");
  const programs = await present([paths.binary, previousOf(paths.binary), healthyOf(paths.binary)]);
  const own = await present([paths.env, state, dropIns(paths, target)]);
  return {
    paths: [...own, ...(others.length === 0 ? programs : [])],
    user: has_user && !users.includes(user) ? user : null,
    shared: [
      ...(others.length === 0 ? [] : programs),
      ...(has_user && users.includes(user) ? [`the user ${user}`] : []),
    ],
    elsewhere: placesElsewhere(values, join("/var/lib", stateName(target))),
  };
}

/** What `systemctl edit` has written. */
const dropIns = ({ unit }: Paths, target: Target): string =>
  join(dirname(unit), `${unitName(target)}.d`);

async function sizeOf(path: string): Promise<number> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return 0;
  if (!found.isDirectory()) return found.size;
  const names = await readdir(path).catch(() => []);
  const sizes = await Promise.all(names.map((name) => sizeOf(join(path, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** A line for each thing that would be deleted. */
export async function describeLeftovers({ paths, user }: Leftovers): Promise<string[]> {
  const sizes = await Promise.all(paths.map(sizeOf));
  const lines = paths.map((path, i) => `${path} (${humanSize(sizes[i] ?? 0)})`);
  return user === null ? lines : [...lines, `the user ${user}`];
}

export async function deleteLeftovers(
  { paths, user }: Leftovers,
  env_dir: string,
  system: System,
): Promise<void> {
  for (const path of paths) await rm(path, { recursive: true, force: true });
  // Of the last service.
  await rmdir(env_dir).catch(() => {});
  if (user !== null) await system.run(["userdel", user]);
}
