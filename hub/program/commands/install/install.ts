import { chmod, mkdir, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { EnvSource } from "#shared/kit/env.ts";
import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import type { FlagValues } from "../../cli/args.ts";
import { EXIT, UsageError } from "../../cli/exit.ts";
import type { Terminal } from "../../cli/print.ts";
import { CommandRefused } from "../refused.ts";
import { judgeStart, judgeValues } from "./judge.ts";
import {
  type EnvChanges,
  givenValues,
  type Paths,
  type Plan,
  pathsOf,
  planInstall,
} from "./plan.ts";
import { readTarget, readUser, stateName, type Target, unitName } from "./roles.ts";
import { startAndWait, timeoutOf, unitState, versionOf } from "./service.ts";
import type { System } from "./system.ts";
import {
  exists,
  healthyOf,
  previousOf,
  readText,
  replaceExecutable,
  sameFile,
  writeText,
} from "./system-files.ts";

export interface InstallDeps {
  env: EnvSource;
  /** What the flags set, by variable name. */
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
  /** Only files, for a package or a test: no users, no systemctl. */
  staged: boolean;
  timeout_ms: number;
}

/**
 * `flotilla install hub|control|worker [NAME]`: user, executable, unit and environment file. Safe to repeat: in an
 * existing environment file it sets what was given and keeps the rest; everything else is brought up to date. Writes
 * nothing if the service would refuse its variables; with --now it succeeds only if the service becomes healthy.
 * @returns the exit code (`EXIT`).
 */
export async function runInstall(words: string[], deps: InstallDeps): Promise<number> {
  const { flags, terminal, system } = deps;
  const target = readTarget(words);
  const prefix = flags.prefix?.at(-1);
  const generate = flags["generate-secret"] !== undefined;
  if (generate && target.role === "worker")
    throw new UsageError(
      "--generate-secret: a worker uses the hub's secret; set WORKER_SECRET to that",
    );
  const user = readUser(target.role, flags.user?.at(-1));
  const binary = await findBinary(deps);
  const paths = pathsOf(target, prefix === undefined ? "/" : resolve(prefix));
  if (paths.packaged) await demandPackaged(paths, binary, flags);
  const given = givenValues(target, deps.env, deps.overrides, flags);
  const timeout_ms = timeoutOf(flags);
  const dry = flags["dry-run"] !== undefined;
  if (prefix === undefined && !dry && !system.is_root)
    throw new CommandRefused(
      `install writes below /etc and /usr/local and needs root: sudo flotilla install ${words.join(" ")} (--dry-run shows what it would write)`,
    );
  const plan = await planInstall(target, paths, user, given, generate);
  judgeValues(target.role, plan.values, paths.env);
  if (flags.now !== undefined) judgeStart(target.role, plan.values);
  const staged = prefix !== undefined;
  const work: Work = { ...deps, target, paths, user, binary, plan, staged, timeout_ms };
  if (dry) return tellPlan(work);
  await createUser(work);
  await placeBinary(work);
  const unit_changed = await placeUnit(work);
  const env_changed = await placeEnv(work);
  const wrong = await enable(work, unit_changed || env_changed);
  if (wrong !== null) throw new CommandRefused(wrong);
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

/** @throws CommandRefused for what would put something else beside Debian's package */
async function demandPackaged(paths: Paths, binary: string, flags: FlagValues): Promise<void> {
  if (flags.user !== undefined)
    throw new UsageError(
      "--user: the Debian package's units have their users; systemctl edit changes that of one",
    );
  if (await sameFile(binary, paths.binary)) return;
  throw new CommandRefused(
    `the Debian package flotilla is installed here: run ${paths.binary} install, or remove the package first (its data stays)`,
  );
}

const masked = (text: string): string =>
  hideCredentials(
    text.replace(/^(\w*(?:SECRET|SECRET_ACCESS_KEY|TOKEN|PASSWORD))=(?!$).*$/gm, "$1=***"),
  );

function tellPlan({ terminal, plan, paths, binary, user, target, staged }: Work): number {
  const out = (line: string) => terminal.out(`${line}\n`);
  if (!staged) out(`# system user ${user}`);
  if (paths.packaged) out(`# ${paths.binary} and ${paths.unit} belong to the Debian package`);
  else {
    out(`# ${binary} -> ${paths.binary}`);
    out(`\n# ${paths.unit}\n${plan.unit_text.trimEnd()}`);
  }
  const changes = describeChanges(plan.changes);
  if (plan.changes !== null && changes === null) out(`\n# ${paths.env} exists and stays unchanged`);
  else
    out(
      `\n# ${paths.env} (0600)${changes === null ? "" : `: ${changes}`}\n${masked(plan.env_text).trimEnd()}`,
    );
  if (!staged) out(`\n# systemctl daemon-reload\n# systemctl enable ${unitName(target)}`);
  return EXIT.ok;
}

async function createUser({ staged, system, user, target, terminal }: Work): Promise<void> {
  if (staged || (await system.hasUser(user))) return;
  await system.run([
    "useradd",
    "--system",
    "--user-group",
    "--no-create-home",
    "--home-dir",
    `/var/lib/${stateName(target)}`,
    "--shell",
    "/usr/sbin/nologin",
    user,
  ]);
  terminal.out(`created the system user ${user}\n`);
}

async function placeBinary(work: Work): Promise<void> {
  const { binary, paths, terminal } = work;
  if (await sameFile(binary, paths.binary)) return terminal.out(`${paths.binary} is up to date\n`);
  const keep = await lastHealthy(work);
  await replaceExecutable(binary, paths.binary, keep);
  const previous = previousOf(paths.binary);
  const said = (await exists(previous)) ? `; the last healthy version is ${previous}` : "";
  terminal.out(`wrote ${paths.binary}${said}\n`);
}

/**
 * The executable to go back to: the one whose service was ready last, or an unmarked one that runs now.
 * In a package nothing is known about the previous one, so it is simply what was there.
 */
async function lastHealthy({ paths, staged, system, target }: Work): Promise<string | null> {
  const healthy = healthyOf(paths.binary);
  if (await exists(healthy)) return healthy;
  if (!(await exists(paths.binary))) return null;
  if (staged || !system.has_systemd) return paths.binary;
  const { active, pid } = await unitState(system, unitName(target));
  const runs = active === "active" && (await system.executableOf(pid)) === paths.binary;
  return runs ? paths.binary : null;
}

async function placeUnit({ plan, paths, terminal }: Work): Promise<boolean> {
  if (paths.packaged) return false;
  if ((await readText(paths.unit)) === plan.unit_text) {
    terminal.out(`${paths.unit} is up to date\n`);
    return false;
  }
  await writeText(paths.unit, plan.unit_text, 0o644);
  terminal.out(`wrote ${paths.unit}\n`);
  return true;
}

/** `changed SVC_PORT; added …`; null for no change. Values may be secrets. */
function describeChanges(changes: EnvChanges | null): string | null {
  const parts = Object.entries(changes ?? {}).filter(([, names]) => names.length > 0);
  if (parts.length === 0) return null;
  return parts.map(([how, names]) => `${how} ${names.join(", ")}`).join("; ");
}

/** @returns whether a running service has other variables than the file. */
async function placeEnv({ plan, paths, terminal }: Work): Promise<boolean> {
  const changes = describeChanges(plan.changes);
  if (plan.changes !== null && changes === null) {
    terminal.out(`${paths.env} exists and stays unchanged\n`);
    return false;
  }
  await mkdir(paths.env_dir, { recursive: true });
  await chmod(paths.env_dir, 0o755);
  await writeText(paths.env, plan.env_text, 0o600);
  const generated = plan.generated
    ? " with a new WORKER_SECRET; every hub and worker needs the same"
    : "";
  terminal.out(`wrote ${paths.env}${changes === null ? generated : `: ${changes}`}\n`);
  return true;
}

/** @returns null, or why the started service is not healthy. */
async function enable(work: Work, changed: boolean): Promise<string | null> {
  const { staged, system, target, flags, terminal, timeout_ms } = work;
  if (staged || !system.has_systemd) return null;
  const unit = unitName(target);
  await system.run(["systemctl", "daemon-reload"]);
  await system.run(["systemctl", "enable", "--quiet", unit]);
  if (flags.now === undefined) return null;
  const { active, pid } = await unitState(system, unit);
  // The file that was replaced under a running process has another name by now.
  const current = pid > 0 && (await system.executableOf(pid)) === work.paths.binary;
  const renew = active !== "inactive" && (changed || !current || active !== "active");
  const version = await versionOf(system, work.paths.binary);
  const expected = { target, values: work.plan.values, version, timeout_ms };
  const said = renew ? "restarted" : active === "inactive" ? "started" : "running, nothing changed";
  const wrong = await startAndWait(system, renew ? "restart" : "start", expected);
  if (wrong !== null) return `${wrong}${await hintBack(work)}`;
  terminal.out(`${unit} is ${said}, version ${version}\n`);
  return null;
}

async function hintBack({ paths, target }: Work): Promise<string> {
  const back = (await exists(previousOf(paths.binary)))
    ? `; flotilla rollback ${target.role} goes back to the last healthy version`
    : "";
  return `\n${unitName(target)} stays enabled: fix it with flotilla install … --set KEY=VALUE --now${back}`;
}

function nextSteps({ staged, system, target, paths, flags }: Work): string[] {
  const unit = unitName(target);
  if (staged) return [`staged for ${unit}; the package must create the user and run systemctl`];
  if (!system.has_systemd)
    return [`systemd does not run here: start it with the variables of ${paths.env} yourself`];
  const words = [target.role, target.instance].filter((word) => word !== null).join(" ");
  const doctor = `check the machine: sudo flotilla doctor ${words} --installed`;
  if (flags.now !== undefined) return [doctor, `follow its log: journalctl -fu ${unit}`];
  return [`next: edit ${paths.env}`, doctor, `start it: systemctl restart ${unit}`];
}
