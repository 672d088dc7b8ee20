import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { EXIT, UsageError } from "../../cli/exit.ts";
import { CommandRefused } from "../refused.ts";
import type { InstallDeps } from "./install.ts";
import { installedTargets, isInstalled } from "./installed.ts";
import { deleteLeftovers, describeLeftovers, findLeftovers, type Leftovers } from "./leftovers.ts";
import { type Paths, pathsOf } from "./plan.ts";
import { defaultUser, readTarget, type Target, unitName, userOf } from "./roles.ts";

interface Work extends InstallDeps {
  target: Target;
  paths: Paths;
  staged: boolean;
  /** The unit exists. */
  there: boolean;
  /** Other workers use the same unit file. */
  shared: boolean;
}

/**
 * `flotilla uninstall hub|control|worker [NAME]`: stops the service, removes its unit, and lists what it leaves: data,
 * environment file, user and executables, which others may need. --purge deletes what only this service uses,
 * after a confirmation at the terminal or with --yes.
 * @returns the exit code (`EXIT`).
 */
export async function runUninstall(words: string[], deps: InstallDeps): Promise<number> {
  const { flags, terminal, system } = deps;
  const target = readTarget(words);
  const purge = flags.purge !== undefined;
  if (flags.yes !== undefined && !purge) throw new UsageError("--yes: only valid with --purge");
  const staged = flags.prefix !== undefined;
  const prefix = resolve(flags.prefix?.at(-1) ?? "/");
  const paths = pathsOf(target, prefix);
  const there = await isInstalled(target, prefix);
  const others = (await installedTargets(prefix)).filter(({ role }) => role === "worker");
  const shared =
    target.role === "worker" && others.some((each) => unitName(each) !== unitName(target));
  const user = (await userOf(paths.unit)) ?? defaultUser(target.role);
  const work: Work = { ...deps, target, paths, staged, there, shared };
  const left = await findLeftovers({ target, prefix, user, staged, system });
  if (flags["dry-run"] !== undefined) return tellPlan(work, purge ? left : null);
  if (!staged && !system.is_root)
    throw new CommandRefused(`uninstall needs root: sudo flotilla uninstall ${words.join(" ")}`);
  if (purge && !(await agreed(work, left))) return EXIT.failed;
  if (there) await takeAway(work);
  else terminal.out(`${unitName(target)} is not installed\n`);
  if (purge) await deleteAll(work, left);
  else await tellKept(work, left);
  return EXIT.ok;
}

async function tellPlan(
  { terminal, target, paths, staged, there, shared }: Work,
  purge: Leftovers | null,
): Promise<number> {
  if (there && !staged) terminal.out(`# systemctl disable --now ${unitName(target)}\n`);
  if (there && !shared && !paths.packaged) terminal.out(`# rm ${paths.unit}\n`);
  for (const path of purge?.paths ?? []) terminal.out(`# rm -r ${path}\n`);
  if (purge !== null && purge.user !== null) terminal.out(`# userdel ${purge.user}\n`);
  return EXIT.ok;
}

/** Whether all of it may be deleted. @throws CommandRefused without a terminal to ask at. */
async function agreed({ flags, terminal, system, target }: Work, left: Leftovers) {
  if (flags.yes !== undefined) return true;
  const lines = await describeLeftovers(left);
  if (lines.length === 0) return true;
  terminal.out(
    `This stops ${unitName(target)} and permanently deletes:\n  ${lines.join("\n  ")}\n`,
  );
  const answer = await system.ask("Type yes to delete them: ");
  if (answer === null)
    throw new CommandRefused(
      "--purge asks before it deletes, but this is not a terminal: use --yes to delete without asking",
    );
  if (answer.trim() === "yes") return true;
  terminal.err("flotilla: nothing was deleted\n");
  return false;
}

async function takeAway({ terminal, system, target, paths, staged, shared }: Work): Promise<void> {
  const unit = unitName(target);
  const systemd = !staged && system.has_systemd;
  if (systemd) await system.run(["systemctl", "disable", "--now", unit]);
  if (paths.packaged) terminal.out(`stopped ${unit}; its unit belongs to the Debian package\n`);
  else if (shared) terminal.out(`stopped ${unit}; the unit file stays for the other workers\n`);
  else {
    await rm(paths.unit, { force: true });
    terminal.out(`removed ${paths.unit}\n`);
  }
  if (!systemd) return;
  await system.run(["systemctl", "daemon-reload"]);
  // Otherwise a failed unit would stay listed forever.
  await system.run(["systemctl", "reset-failed", unit]).catch(() => {});
}

async function deleteAll({ terminal, system, paths }: Work, left: Leftovers): Promise<void> {
  const lines = await describeLeftovers(left);
  await deleteLeftovers(left, paths.env_dir, system);
  for (const line of lines) terminal.out(`deleted ${line}\n`);
  const kept = [...left.shared.map((what) => `${what} (other services use it)`), ...left.elsewhere];
  if (kept.length > 0) terminal.out(`kept: ${kept.join(", ")}\n`);
}

async function tellKept({ terminal }: Work, left: Leftovers): Promise<void> {
  const lines = [...(await describeLeftovers(left)), ...left.shared, ...left.elsewhere];
  if (lines.length === 0) return;
  terminal.out(`kept:\n  ${lines.join("\n  ")}\n`);
  terminal.out("to delete what only this service uses, add --purge\n");
}
