import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathsOf } from "./plan.ts";
import { ROLES, type Target } from "./roles.ts";
import { exists } from "./system-files.ts";

/** Every service of this machine, or of the tree below `prefix`; only those workers that start at boot. */
export async function installedTargets(prefix = "/"): Promise<Target[]> {
  const found: Target[] = [];
  for (const role of ROLES) {
    const { unit } = pathsOf({ role, instance: null }, prefix);
    if (!(await exists(unit))) continue;
    if (role !== "worker") found.push({ role, instance: null });
    else for (const instance of await workerInstances(unit)) found.push({ role, instance });
  }
  return found;
}

/** Names of the workers that start at boot; they share one unit file. */
async function workerInstances(unit_path: string): Promise<string[]> {
  const names = await readdir(join(dirname(unit_path), "multi-user.target.wants")).catch(() => []);
  return names.flatMap((name) => /^flotilla-worker@(.+)\.service$/.exec(name)?.[1] ?? []);
}
