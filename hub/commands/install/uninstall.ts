import { readdir, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { EXIT } from "../../cli/exit.ts";
import { CommandRefused } from "../refused.ts";
import type { InstallDeps } from "./install.ts";
import { pathsOf } from "./plan.ts";
import { readTarget, stateName, unitName } from "./roles.ts";

/**
 * `flotilla uninstall hub|control|worker [NAME]`: stops the service and takes its unit away. Data, environment files, users
 * and the executable stay: they may be needed by others, or again.
 */
export async function runUninstall(words: string[], deps: InstallDeps): Promise<number> {
  const { flags, terminal, system } = deps;
  const target = readTarget(words);
  const prefix = flags.prefix?.at(-1);
  const staged = prefix !== undefined;
  const paths = pathsOf(target, prefix === undefined ? "/" : resolve(prefix));
  const unit = unitName(target);
  const there = (await stat(paths.unit).catch(() => null)) !== null;
  const shared = target.role === "worker" && (await otherInstances(paths.unit, unit));
  if (flags["dry-run"] !== undefined) {
    if (there && !staged) terminal.out(`# systemctl disable --now ${unit}\n`);
    if (there && !shared) terminal.out(`# rm ${paths.unit}\n`);
    return EXIT.ok;
  }
  if (!staged && !system.is_root)
    throw new CommandRefused(`uninstall needs root: sudo flotilla uninstall ${words.join(" ")}`);
  if (!there) {
    terminal.out(`${unit} is not installed\n`);
    return EXIT.ok;
  }
  if (!staged && system.has_systemd) await system.run(["systemctl", "disable", "--now", unit]);
  if (shared) terminal.out(`stopped ${unit}; the unit file stays for the other workers\n`);
  else {
    await rm(paths.unit, { force: true });
    terminal.out(`removed ${paths.unit}\n`);
  }
  if (!staged && system.has_systemd) await system.run(["systemctl", "daemon-reload"]);
  const state = join("/var/lib", stateName(target));
  terminal.out(`kept: ${paths.env}, ${state}, ${paths.binary}\n`);
  return EXIT.ok;
}

/** Workers share one unit file, which has to stay for those that are enabled. */
async function otherInstances(unit_path: string, own: string): Promise<boolean> {
  const wants = join(dirname(unit_path), "multi-user.target.wants");
  const names = await readdir(wants).catch(() => []);
  return names.some((name) => name.startsWith("flotilla-worker@") && name !== own);
}
