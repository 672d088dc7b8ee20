import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { humanSize } from "#shared/kit/words.ts";
import { readEnvText } from "./env-file.ts";
import { installedTargets } from "./installed.ts";
import { type Paths, pathsOf } from "./plan.ts";
import { stateName, type Target, unitName, userOf } from "./roles.ts";
import type { System } from "./system.ts";
import { exists, healthyOf, previousOf, readText } from "./system-files.ts";

/** What remains of a service besides its unit. */
export interface Leftovers {
  /** Files and directories that only this service uses. */
  paths: string[];
  /** The service's user, if no other service here has it; null: others have it too, or there is none. */
  user: string | null;
  /** What other services here still use. */
  shared: string[];
  /** Data that its variables put elsewhere; only the operator knows who else uses them. */
  elsewhere: string[];
}

interface Asked {
  target: Target;
  prefix: string;
  /** The user of the unit, read while it existed. */
  user: string | null;
  staged: boolean;
  system: System;
}

const below = (path: string, dir: string): boolean => path === dir || path.startsWith(`${dir}/`);

/** Places in `values` outside the state directory, in words. */
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

/** Finds the leftovers. The unit is gone or about to go; `target` no longer counts as a service of this machine. */
export async function findLeftovers(asked: Asked): Promise<Leftovers> {
  const { target, prefix, staged, system } = asked;
  const paths = pathsOf(target, prefix);
  const others = (await installedTargets(prefix)).filter(
    (each) => unitName(each) !== unitName(target),
  );
  const users = await Promise.all(others.map((each) => userOf(pathsOf(each, prefix).unit)));
  const user = asked.user;
  const may_go = !staged && !paths.packaged;
  const has_user = user !== null && may_go && (await system.hasUser(user));
  const state = join(prefix, "/var/lib", stateName(target));
  const values = readEnvText((await readText(paths.env)) ?? "");
  // Those of a package are dpkg's, and its users stay with it.
  const programs = paths.packaged
    ? []
    : await present([paths.binary, previousOf(paths.binary), healthyOf(paths.binary)]);
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

/** What `systemctl edit` wrote. */
const dropIns = ({ unit_dir }: Paths, target: Target): string =>
  join(unit_dir, `${unitName(target)}.d`);

async function sizeOf(path: string): Promise<number> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return 0;
  if (!found.isDirectory()) return found.size;
  const names = await readdir(path).catch(() => []);
  const sizes = await Promise.all(names.map((name) => sizeOf(join(path, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** A line for each item that would be deleted. */
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
  // Shared files go with the last service.
  await rmdir(env_dir).catch(() => {});
  if (user !== null) await system.run(["userdel", user]);
}
