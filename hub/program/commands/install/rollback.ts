import { EXIT } from "../../cli/exit.ts";
import { CommandRefused } from "../refused.ts";
import { refuseEncrypted } from "./encrypted.ts";
import { readEnvText } from "./env-file.ts";
import type { InstallDeps } from "./install.ts";
import { installedTargets } from "./installed.ts";
import { pathsOf } from "./plan.ts";
import { readTarget, type Target, unitName, userOf } from "./roles.ts";
import { startAndWait, timeoutOf, versionOf } from "./service.ts";
import {
  exists,
  healthyOf,
  previousOf,
  readText,
  replaceExecutable,
  sameFile,
} from "./system-files.ts";
import { refuseUnread } from "./unread.ts";

/**
 * `flotilla rollback [hub|control|worker [NAME]]`: goes back to the last healthy version and its units, and restarts
 * the named service, or every service of this machine, with it.
 * @returns the exit code (`EXIT`).
 */
export async function runRollback(words: string[], deps: InstallDeps): Promise<number> {
  const { flags, terminal, system } = deps;
  const named = words.length === 0 ? null : readTarget(words);
  const timeout_ms = timeoutOf(flags);
  const all = await installedTargets();
  const isNamed = (target: Target) => named === null || unitName(target) === unitName(named);
  const wanted = all.filter(isNamed);
  if (wanted.length === 0)
    throw new CommandRefused(
      named === null
        ? "no Flotilla service is installed here"
        : `${unitName(named)} is not installed`,
    );
  const { binary: path, packaged } = pathsOf(wanted[0] as Target, "/");
  if (packaged)
    throw new CommandRefused(
      `${path} belongs to the Debian package: apt-get install --allow-downgrades ./flotilla_VERSION_ARCH.deb goes back to the version of that file`,
    );
  const previous = previousOf(path);
  if (!(await exists(previous)))
    throw new CommandRefused(`${previous} does not exist: no version before this one was healthy`);
  if (await sameFile(previous, path))
    throw new CommandRefused(`${path} already is the last healthy version`);
  const version = await versionOf(system, previous);
  if (flags["dry-run"] !== undefined) {
    terminal.out(`# ${previous} (version ${version}) -> ${path}\n`);
    for (const target of wanted) terminal.out(`# systemctl restart ${unitName(target)}\n`);
    return EXIT.ok;
  }
  if (!system.is_root)
    throw new CommandRefused(`rollback needs root: sudo flotilla rollback ${words.join(" ")}`);
  await refuseUnread(system, previous, version, all);
  await refuseEncrypted(system, previous, version, wanted);
  const healthy = healthyOf(path);
  await replaceExecutable(previous, path, (await exists(healthy)) ? healthy : null);
  terminal.out(`${path} is version ${version} again\n`);
  for (const target of all) await placeItsUnit(deps, target, path);
  await system.run(["systemctl", "daemon-reload"]);
  for (const target of wanted) {
    const values = readEnvText((await readText(pathsOf(target, "/").env)) ?? "");
    const expected = { target, values, version, timeout_ms };
    const wrong = await startAndWait(system, "restart", expected);
    if (wrong !== null) throw new CommandRefused(wrong);
    terminal.out(`${unitName(target)} was restarted with version ${version}\n`);
  }
  for (const target of all.filter((each) => !isNamed(each)))
    terminal.out(`${unitName(target)} will run version ${version} from its next start\n`);
  return EXIT.ok;
}

/** Each version has its own unit: another version's unit may wait for a notification that this one never sends. */
export async function placeItsUnit(
  { system }: Pick<InstallDeps, "system">,
  target: Target,
  path: string,
): Promise<void> {
  const user = await userOf(pathsOf(target, "/").unit);
  const words = [target.role, ...(target.instance === null ? [] : [target.instance])];
  await system.run([path, "install", ...words, ...(user === null ? [] : ["--user", user])]);
}
