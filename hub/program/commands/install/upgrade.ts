import { constants, createReadStream, createWriteStream } from "node:fs";
import { access, chmod, mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { readTar } from "#shared/archive/read-tar.ts";
import { builtRelease } from "#shared/protocol/release.ts";
import { tarballName } from "#shared/protocol/release-files.ts";
import { publicKeyOf } from "#shared/protocol/update-proof.ts";
import { nodeVersion } from "#shared/protocol/version.ts";
import type { FlagValues } from "../../cli/args.ts";
import { EXIT, UsageError } from "../../cli/exit.ts";
import type { Terminal } from "../../cli/print.ts";
import { CommandRefused } from "../refused.ts";
import { readEnvText } from "./env-file.ts";
import { installedTargets } from "./installed.ts";
import { pathsOf } from "./plan.ts";
import {
  fetchVerified,
  type ReleaseSource,
  readRelease,
  type SignedRelease,
} from "./release-source.ts";
import { type Target, unitName } from "./roles.ts";
import { placeItsUnit } from "./rollback.ts";
import { startAndWait, timeoutOf, unitState, versionOf } from "./service.ts";
import type { System } from "./system.ts";
import { exists, healthyOf, previousOf, readText, replaceExecutable } from "./system-files.ts";

export interface UpgradeDeps {
  flags: FlagValues;
  terminal: Terminal;
  system: System;
  /** This program's file when it is compiled; null from source. */
  self: string | null;
}

/** An archive holds one executable of 160 MB and a dozen texts. */
const LIMITS = { max_unpacked_bytes: 1_000_000_000, max_entries: 1_000 };

/**
 * `flotilla upgrade`: replaces this executable by that of a release, whose signature, checksum and time are verified before
 * anything of it is unpacked, and restarts the services of this machine that run with it.
 * @returns the exit code (`EXIT`).
 */
export async function runUpgrade(deps: UpgradeDeps): Promise<number> {
  const { flags, terminal } = deps;
  const timeout_ms = timeoutOf(flags);
  const path = await executableOf(deps);
  const key = await trustedKey(flags);
  const from = flags.from?.at(-1) ?? builtRelease()?.url;
  if (!from)
    throw new UsageError(
      "--from: this build does not know where releases are published; name the address or the directory of one",
    );
  const dry = flags["dry-run"] !== undefined;
  if (!dry) await demandWritable(path);
  // Beside the executable: where temporary files are, none may be allowed to run.
  const scratch = await mkdtemp(join(dry ? tmpdir() : dirname(path), ".flotilla-upgrade-"));
  try {
    const source = { from, scratch };
    const release = await readRelease(source, key);
    if (release.version === nodeVersion(undefined)) {
      terminal.out(`${path} is ${release.name} (version ${release.version}) already\n`);
      return EXIT.ok;
    }
    demandNewer(release);
    const targets = await targetsOf(path);
    if (dry) return tellPlan(deps, path, release, targets);
    const executable = await fetchExecutable(deps.system, source, release);
    await replaceExecutable(executable, path, await lastHealthy(path));
    const kept = (await exists(previousOf(path))) ? `; ${previousOf(path)} is the one before` : "";
    terminal.out(`${path} is ${release.name} (version ${release.version})${kept}\n`);
    await restart(deps, path, targets, { version: release.version, timeout_ms });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return EXIT.ok;
}

/** @throws when this is no executable that may be replaced */
async function executableOf({ self }: UpgradeDeps): Promise<string> {
  if (self === null)
    throw new UsageError(
      "from source there is no executable to upgrade: git pull, then ./scripts/build",
    );
  const path = await realpath(self);
  const { packaged, binary } = pathsOf({ role: "hub", instance: null }, "/");
  if (packaged && path === binary)
    throw new CommandRefused(
      `${path} belongs to the Debian package: sudo sh install.sh --deb, or apt-get install ./flotilla_VERSION_ARCH.deb of a release whose signature you have verified`,
    );
  return path;
}

/** @throws UsageError when nothing says which key to trust */
async function trustedKey(flags: FlagValues): Promise<string> {
  const file = flags.key?.at(-1);
  const built_in = builtRelease()?.key;
  if (file === undefined) {
    if (built_in !== undefined) return built_in;
    throw new UsageError(
      "--key: this build is unsigned and trusts no release key; name the file of one (release.pub)",
    );
  }
  const pem = await readFile(file, "utf8").catch(() => null);
  if (pem === null) throw new UsageError(`--key: ${file} cannot be read`);
  try {
    return publicKeyOf(pem);
  } catch {
    throw new UsageError(`--key: ${file} is not an ed25519 key in PEM`);
  }
}

async function demandWritable(path: string): Promise<void> {
  try {
    await access(dirname(path), constants.W_OK);
  } catch {
    throw new CommandRefused(`${dirname(path)} belongs to somebody else: sudo ${path} upgrade`);
  }
}

/** Whoever publishes an old release again must not bring back its faults. */
function demandNewer({ name, released_at }: SignedRelease): void {
  const own = builtRelease()?.released_at;
  if (own !== undefined && released_at < own)
    throw new CommandRefused(
      `${name} is of ${released_at}, before this program's ${own}: flotilla rollback goes back, or install.sh of that release`,
    );
}

/** Services of this machine that run with `path`. */
async function targetsOf(path: string): Promise<Target[]> {
  const targets = await installedTargets();
  return targets.filter((target) => pathsOf(target, "/").binary === path);
}

function tellPlan(
  { terminal }: UpgradeDeps,
  path: string,
  { name, version, released_at }: SignedRelease,
  targets: readonly Target[],
): number {
  terminal.out(`# ${name} (version ${version}, of ${released_at}) -> ${path}\n`);
  for (const target of targets) terminal.out(`# systemctl restart ${unitName(target)}\n`);
  return EXIT.ok;
}

/** The name of the archive for this machine. */
async function targetName(): Promise<string> {
  if (process.arch !== "x64") return `linux-${process.arch}`;
  const cpu = (await readText("/proc/cpuinfo")) ?? "";
  return /\bavx2\b/.test(cpu) ? "linux-x64" : "linux-x64-baseline";
}

/** Fetches and unpacks it. @throws CommandRefused when it does not start here, or is another version than announced */
async function fetchExecutable(
  system: System,
  source: ReleaseSource,
  { name, sums, version }: SignedRelease,
): Promise<string> {
  const target = await targetName();
  const archive = await fetchVerified(source, sums, tarballName(name, target));
  const wanted = `flotilla-${name}-${target}/flotilla`;
  const to = join(source.scratch, "flotilla");
  let found = false;
  for await (const { path, body } of readTar(createReadStream(archive), LIMITS)) {
    if (path.join("/") !== wanted) continue;
    await pipeline(body, createWriteStream(to, { flags: "wx", mode: 0o700 }));
    found = true;
  }
  if (!found) throw new CommandRefused(`${tarballName(name, target)} has no ${wanted}`);
  await rm(archive);
  await chmod(to, 0o755);
  const says = await versionOf(system, to);
  if (says === version) return to;
  throw new CommandRefused(
    `the executable of ${name} says that it is version ${says}, the release ${version}`,
  );
}

async function lastHealthy(path: string): Promise<string> {
  const healthy = healthyOf(path);
  return (await exists(healthy)) ? healthy : path;
}

/** Each version has its own unit; what does not run stays as it is. */
async function restart(
  { system, terminal }: UpgradeDeps,
  path: string,
  targets: readonly Target[],
  { version, timeout_ms }: { version: string; timeout_ms: number },
): Promise<void> {
  if (targets.length === 0 || !system.has_systemd) return;
  for (const target of targets) await placeItsUnit({ system }, target, path);
  await system.run(["systemctl", "daemon-reload"]);
  for (const target of targets) {
    const unit = unitName(target);
    if ((await unitState(system, unit)).active === "inactive") {
      terminal.out(`${unit} is stopped and stays so\n`);
      continue;
    }
    const values = readEnvText((await readText(pathsOf(target, "/").env)) ?? "");
    const wrong = await startAndWait(system, "restart", { target, values, version, timeout_ms });
    if (wrong !== null)
      throw new CommandRefused(
        `${wrong}\nsudo ${previousOf(path)} rollback goes back to the last healthy version`,
      );
    terminal.out(`${unit} was restarted with version ${version}\n`);
  }
}
