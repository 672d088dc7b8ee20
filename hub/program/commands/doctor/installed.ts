import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { readEnvText } from "../install/env-file.ts";
import { type Paths, pathsOf } from "../install/plan.ts";
import { type Role, readTarget, stateName, type Target, unitName } from "../install/roles.ts";
import { CommandRefused } from "../refused.ts";
import { type Check, fail, ok, outputOf, told, warn } from "./check.ts";
import { checkPorts } from "./machine.ts";
import { type Inner, programOf, runInUnit } from "./transient.ts";

/** `flotilla doctor … --installed`: the checks as the installed service would run them, with systemd's view of it. */

const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const CHECKS_MS = 120_000;

export interface InstalledOptions {
  /** Root of the tree that `install --prefix` wrote; null: this machine. */
  prefix: string | null;
  is_root: boolean;
  /** Whether systemd runs this machine. */
  has_systemd: boolean;
}

export const thisMachine = (prefix: string | undefined): InstalledOptions => ({
  prefix: prefix === undefined ? null : resolve(prefix),
  is_root: process.getuid?.() === 0,
  has_systemd: prefix === undefined && existsSync("/run/systemd/system"),
});

/** Warns that root sees things differently than the installed service; null when nothing is installed here. */
export async function hintInstalled(role: Role, options: InstalledOptions): Promise<Check | null> {
  const target: Target = { role, instance: role === "worker" ? "main" : null };
  const paths = pathsOf(target, options.prefix ?? "/");
  if (!options.is_root || !existsSync(paths.unit)) return null;
  const user = userOf(await readFile(paths.unit, "utf8"));
  const names = role === "worker" ? await workersIn(paths.env_dir) : [];
  // A package has the units of services that nobody has installed.
  if (paths.packaged && names.length === 0 && !existsSync(paths.env)) return null;
  const words = [role, ...(names.length > 0 && !names.includes("main") ? [names[0]] : [])];
  return warn(
    "looks as",
    `checked as root, with this shell's variables; the ${role} installed here runs as ${user} with those in ${paths.env_dir}`,
    `sudo flotilla doctor ${words.join(" ")} --installed`,
  );
}

async function workersIn(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch(() => []);
  return names.flatMap((name) => /^worker-(.+)\.env$/.exec(name)?.[1] ?? []).sort();
}

const userOf = (unit_text: string): string =>
  /^\s*User=(.+)$/m.exec(unit_text)?.[1]?.trim() ?? "root";

/**
 * @param words the role, and the name of one worker among several.
 * @throws CommandRefused when nothing is installed, or for anybody but root.
 */
export async function checkInstalled(words: string[], options: InstalledOptions): Promise<Check[]> {
  const target = readTarget(words);
  const paths = pathsOf(target, options.prefix ?? "/");
  await refuseAbsent(target, paths);
  if (!options.is_root)
    throw new CommandRefused(
      `--installed checks as the service's user and needs root: sudo flotilla doctor ${words.join(" ")} --installed`,
    );
  const unit = unitName(target);
  const unit_text = options.has_systemd
    ? ((await outputOf(["systemctl", "cat", unit])) ?? "")
    : await readFile(paths.unit, "utf8");
  const values = readEnvText(await readFile(paths.env, "utf8"));
  const inner = options.has_systemd
    ? await runInUnit(target, unit_text, programOf(unit_text) ?? paths.binary, [])
    : await runAsUser(target, paths, unit_text, values);
  const about = options.has_systemd
    ? await told("service", () => checkService(unit, userOf(unit_text)))
    : warn(
        "service",
        `checked as ${userOf(unit_text)}, without the unit's restrictions`,
        "systemd does not run here; the restrictions are only checked where it does",
      );
  const checks = checksOf(inner, unit, userOf(unit_text), paths);
  const ports = target.role === "worker" ? [await checkPorts({ env: values, path: "" }, unit)] : [];
  const seen = checks.map((check) => ports.find(({ name }) => name === check.name) ?? check);
  return [about, ...seen];
}

async function refuseAbsent({ role, instance }: Target, paths: Paths): Promise<void> {
  if (!existsSync(paths.unit))
    throw new CommandRefused(`no ${role} is installed here: sudo flotilla install ${role}`);
  if (existsSync(paths.env)) return;
  const names = await workersIn(paths.env_dir);
  const others = names.length > 0 ? `; there are ${names.join(", ")}` : "";
  throw new CommandRefused(
    `${paths.env} is not there${others}: sudo flotilla install ${[role, instance].filter(Boolean).join(" ")} writes it`,
  );
}

/** Checks that it runs and stays up. */
async function checkService(unit: string, user: string): Promise<Check> {
  const name = "service";
  const properties = "ActiveState,SubState,NRestarts,Result";
  const said = (await outputOf(["systemctl", "show", "-p", properties, unit])) ?? "";
  const of = (property: string) => new RegExp(`^${property}=(.*)$`, "m").exec(said)?.[1] ?? "";
  const found = `${unit} as ${user}: ${of("ActiveState")} (${of("SubState")})`;
  const restarts = Number(of("NRestarts"));
  const log = `to see why: journalctl -u ${unit} -n 50`;
  if (of("ActiveState") === "active")
    return restarts === 0
      ? ok(name, found)
      : warn(name, `${found}, restarted automatically ${restarts} times`, log);
  if (of("ActiveState") === "inactive")
    return warn(name, found, `run systemctl start ${unit} once the checks below pass`);
  return fail(name, `${found}, result ${of("Result")}, ${restarts} restarts`, log);
}

/** systemd's own exit statuses for a program that it cannot start (systemd.exec(5)). */
const STATUS_ADVICE: Record<string, string> = {
  "200":
    "the unit's WorkingDirectory= does not exist: systemctl restart creates the state directory",
  "203": "the executable in ExecStart= is missing or cannot be run: flotilla install writes it",
  "217": "the unit's User= does not exist: flotilla install creates it",
  "226":
    "a directory that the unit names is missing, or this container does not allow mount namespaces",
  "238": "the state directory cannot be created: is the disk full or read-only?",
};

function checksOf({ output, failure }: Inner, unit: string, user: string, paths: Paths): Check[] {
  if (failure === "") {
    const read = (JSON.parse(output) as { checks?: Check[] }).checks;
    if (Array.isArray(read)) return read;
  }
  const status = /ExecMainStatus=(\d+)/.exec(failure)?.[1] ?? "";
  const said = output.trim().split("\n")[0];
  const text = [said, failure].filter(Boolean).join("; ");
  return [
    fail(
      "start",
      `nothing can be started as ${user}: ${text}`,
      STATUS_ADVICE[status] ??
        `check ${paths.env} and systemctl cat ${unit}; journalctl -n 20 names the wrong line`,
    ),
  ];
}

/** Without systemd: the same user, variables and directory, and only the rights that the unit gives. */
async function runAsUser(
  target: Target,
  paths: Paths,
  unit_text: string,
  values: Record<string, string>,
): Promise<Inner> {
  const state = join("/var/lib", stateName(target));
  const ids = await Promise.all(["-u", "-g"].map((flag) => idOf(flag, userOf(unit_text))));
  const [uid, gid] = ids;
  if (uid === null || gid === null)
    return { output: "", failure: "ExecMainStatus=217 (there is no such user)" };
  const home = values.SVC_DATA_DIR ?? state;
  const env = { SVC_DATA_DIR: state, HOME: home, PATH: SYSTEM_PATH, ...values };
  const cwd = existsSync(env.SVC_DATA_DIR) ? env.SVC_DATA_DIR : "/";
  const child = Bun.spawn(
    [
      "setpriv",
      `--reuid=${uid}`,
      `--regid=${gid}`,
      "--init-groups",
      "--no-new-privs",
      "--",
      paths.binary,
      "doctor",
      target.role,
      "--json",
    ],
    {
      cwd,
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: CHECKS_MS,
      killSignal: "SIGKILL",
    },
  );
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const code = await child.exited;
  const told_all = out.trimStart().startsWith("{");
  return { output: told_all ? out : err, failure: told_all ? "" : `ExecMainStatus=${code}` };
}

async function idOf(flag: string, user: string): Promise<string | null> {
  const said = (await outputOf(["id", flag, user]))?.trim() ?? "";
  return /^\d+$/.test(said) ? said : null;
}
