import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathsOf } from "./plan.ts";
import { ROLES, type Target } from "./roles.ts";
import { exists } from "./system-files.ts";

/** Every service of this machine, or of the tree below `prefix`; only those workers that start at boot. */
export async function installedTargets(prefix = "/"): Promise<Target[]> {
  const found: Target[] = [];
  for (const role of ROLES) {
    const target: Target = { role, instance: null };
    const { unit, unit_dir } = pathsOf(target, prefix);
    if (role === "worker") {
      if (!(await exists(unit))) continue;
      for (const instance of await workerInstances(unit_dir)) found.push({ role, instance });
    } else if (await isInstalled(target, prefix)) found.push(target);
  }
  return found;
}

/** Whether `install` made a service of it: Debian's package has the units of all of them. */
export async function isInstalled(target: Target, prefix: string): Promise<boolean> {
  const { unit, env, packaged } = pathsOf(target, prefix);
  return (await exists(unit)) && (!packaged || (await exists(env)));
}

/** Names of the workers that start at boot; they share one unit file. */
async function workerInstances(unit_dir: string): Promise<string[]> {
  const names = await readdir(join(unit_dir, "multi-user.target.wants")).catch(() => []);
  return names.flatMap((name) => /^flotilla-worker@(.+)\.service$/.exec(name)?.[1] ?? []);
}
