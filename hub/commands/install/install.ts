import { chmod, mkdir, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { EnvSource } from "#shared/env.ts";
import { hideCredentials } from "#shared/hide-credentials.ts";
import type { FlagValues } from "../../cli/args.ts";
import { EXIT, UsageError } from "../../cli/exit.ts";
import type { Terminal } from "../../cli/print.ts";
import { CommandRefused } from "../refused.ts";
import { readText, replaceExecutable, sameFile, writeText } from "./files.ts";
import { givenValues, type Paths, type Plan, pathsOf, planInstall } from "./plan.ts";
import { readTarget, readUser, stateName, type Target, unitName } from "./roles.ts";
import type { System } from "./system.ts";

export interface InstallDeps {
  env: EnvSource;
  /** What the flags set, by the names of their variables. */
  overrides: EnvSource;
  flags: FlagValues;
  terminal: Terminal;
  system: System;
  /** This program's file when it is compiled; null from source. */
  self: string | null;
}

interface Work extends InstallDeps {
  target: Target;
  paths: Paths;
  user: string;
  binary: string;
  plan: Plan;
  /** Files of a package or a test: no users, no systemctl. */
  staged: boolean;
}

/**
 * `flotilla install hub|control|worker [NAME]`: user, executable, unit and environment file. Safe to repeat: an
 * environment file that is there stays, everything else is brought up to date.
 * @returns the exit code (`EXIT`).
 */
export async function runInstall(words: string[], deps: InstallDeps): Promise<number> {
  const { flags, terminal, system } = deps;
  const target = readTarget(words);
  const prefix = flags.prefix?.at(-1);
  const generate = flags["generate-secret"] !== undefined;
  if (generate && target.role === "worker")
    throw new UsageError("--generate-secret: a worker takes the hub's; set WORKER_SECRET to it");
  const user = readUser(target.role, flags.user?.at(-1));
  const binary = await findBinary(deps);
  const paths = pathsOf(target, prefix === undefined ? "/" : resolve(prefix));
  const given = givenValues(target, deps.env, deps.overrides);
  const dry = flags["dry-run"] !== undefined;
  if (prefix === undefined && !dry && !system.is_root)
    throw new CommandRefused(
      `install writes below /etc and /usr/local and needs root: sudo flotilla install ${words.join(" ")} (--dry-run shows what it would write)`,
    );
  const plan = await planInstall(target, paths, user, given, generate);
  const work: Work = { ...deps, target, paths, user, binary, plan, staged: prefix !== undefined };
  if (dry) return tellPlan(work);
  await createUser(work);
  await placeBinary(work);
  const unit_changed = await placeUnit(work);
  await placeEnv(work);
  await enable(work, unit_changed);
  terminal.out(`${nextSteps(work).join("\n")}\n`);
  return EXIT.ok;
}

async function findBinary({ flags, self }: InstallDeps): Promise<string> {
  const named = flags.binary?.at(-1);
  const binary = named === undefined ? self : resolve(named);
  if (binary === null)
    throw new UsageError(
      "--binary: from source there is no executable to install; run ./scripts/build and dist/flotilla install …",
    );
  if (!(await stat(binary).catch(() => null))?.isFile())
    throw new UsageError(`--binary: ${binary} is not a file`);
  return binary;
}

const masked = (text: string): string =>
  hideCredentials(
    text.replace(/^(\w*(?:SECRET|SECRET_ACCESS_KEY|TOKEN|PASSWORD))=(?!$).*$/gm, "$1=***"),
  );

function tellPlan({ terminal, plan, paths, binary, user, target, staged }: Work): number {
  const out = (line: string) => terminal.out(`${line}\n`);
  if (!staged) out(`# system user ${user}`);
  out(`# ${binary} -> ${paths.binary}`);
  out(`\n# ${paths.unit}\n${plan.unit_text.trimEnd()}`);
  out(
    plan.env_text === null
      ? `\n# ${paths.env} is there and stays as it is`
      : `\n# ${paths.env} (0600)\n${masked(plan.env_text).trimEnd()}`,
  );
  if (!staged) out(`\n# systemctl daemon-reload\n# systemctl enable ${unitName(target)}`);
  return EXIT.ok;
}

async function createUser({ staged, system, user, target, terminal }: Work): Promise<void> {
  if (staged || (await system.hasUser(user))) return;
  await system.run([
    ...["useradd", "--system", "--user-group", "--no-create-home"],
    ...["--home-dir", `/var/lib/${stateName(target)}`, "--shell", "/usr/sbin/nologin", user],
  ]);
  terminal.out(`created the system user ${user}\n`);
}

async function placeBinary({ binary, paths, terminal }: Work): Promise<void> {
  if (await sameFile(binary, paths.binary)) return terminal.out(`${paths.binary} is up to date\n`);
  const had = (await stat(paths.binary).catch(() => null)) !== null;
  await replaceExecutable(binary, paths.binary);
  terminal.out(
    `wrote ${paths.binary}${had ? `; the one before is ${paths.binary}.previous` : ""}\n`,
  );
}

async function placeUnit({ plan, paths, terminal }: Work): Promise<boolean> {
  if ((await readText(paths.unit)) === plan.unit_text) {
    terminal.out(`${paths.unit} is up to date\n`);
    return false;
  }
  await writeText(paths.unit, plan.unit_text, 0o644);
  terminal.out(`wrote ${paths.unit}\n`);
  return true;
}

async function placeEnv({ plan, paths, terminal }: Work): Promise<void> {
  if (plan.env_text === null) {
    terminal.out(`${paths.env} is there and stays as it is\n`);
    if (plan.not_written.length > 0)
      terminal.err(`flotilla: not written, edit the file: ${plan.not_written.join(", ")}\n`);
    return;
  }
  await mkdir(paths.env_dir, { recursive: true });
  await chmod(paths.env_dir, 0o755);
  await writeText(paths.env, plan.env_text, 0o600);
  terminal.out(
    `wrote ${paths.env}${plan.generated ? " with a new WORKER_SECRET; every hub and worker needs the same" : ""}\n`,
  );
}

async function enable(work: Work, unit_changed: boolean): Promise<void> {
  const { staged, system, target, flags, terminal } = work;
  if (staged || !system.has_systemd) return;
  const unit = unitName(target);
  await system.run(["systemctl", "daemon-reload"]);
  await system.run(["systemctl", "enable", "--quiet", unit]);
  if (flags.now === undefined) return;
  const running = await runningExecutable(work, unit);
  const renew = running !== null && (unit_changed || running !== work.paths.binary);
  await system.run(["systemctl", renew ? "restart" : "start", unit]);
  const said = renew ? "restarted" : running === null ? "started" : "running, nothing changed";
  terminal.out(`${unit} is ${said}\n`);
}

/** Of the unit's process: the file that was replaced under it has another name by now. */
async function runningExecutable({ system }: Work, unit: string): Promise<string | null> {
  const pid = (await system.run(["systemctl", "show", "-p", "MainPID", "--value", unit])).trim();
  return pid === "0" || pid === "" ? null : system.executableOf(pid);
}

function nextSteps({ staged, system, target, paths, flags }: Work): string[] {
  const unit = unitName(target);
  if (staged) return [`staged for ${unit}; the package has to create the user and run systemctl`];
  if (!system.has_systemd)
    return [`systemd does not run here: start it with the variables of ${paths.env} yourself`];
  const doctor = `check the machine: sudo sh -c 'set -a; . ${paths.env}; flotilla doctor ${target.role}'`;
  if (flags.now !== undefined) return [doctor, `watch it: journalctl -fu ${unit}`];
  return [`next: edit ${paths.env}`, doctor, `start it: systemctl restart ${unit}`];
}
