import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isProcessAlive } from "#hub/platform/process-alive.ts";
import argumentsText from "./guest/arguments.ts" with { type: "text" };
import doorText from "./guest/door.ts" with { type: "text" };
import flotillaText from "./guest/flotilla.ts" with { type: "text" };
import runText from "./guest/run.ts" with { type: "text" };

/**
 * Where runs have their files: a directory of this process under TMPDIR, not in the data directory, because a script of a
 * hub that runs as root is somebody who must not get into that. Small and read-only for the script.
 */
export interface Scratch {
  readonly dir: string;
}

const scratches = new Map<string, Scratch>();

/** Names the hubs of one data directory on one machine; containers may share a TMPDIR. */
const prefixOf = (data_dir: string): string => {
  const owner = createHash("sha256").update(`${hostname()}\n${data_dir}`).digest("hex");
  return `flotilla-run-${owner.slice(0, 8)}-`;
};

/** Removes what an earlier incarnation of this hub left, because it was killed. What cannot be removed stays. */
export function sweepScratch(data_dir: string): void {
  const prefix = prefixOf(data_dir);
  const own = scratches.get(data_dir)?.dir;
  for (const name of namesIn(tmpdir())) {
    const pid = Number(/^\d+/.exec(name.slice(prefix.length))?.[0]);
    if (!name.startsWith(prefix) || !pid) continue;
    const dir = join(tmpdir(), name);
    // After a restart of a container the number may be this process' own again.
    if (dir === own || (pid !== process.pid && isProcessAlive(pid))) continue;
    const stat = lstatSync(dir, { throwIfNoEntry: false });
    if (stat?.isDirectory() && stat.uid === process.getuid?.()) removeTree(dir);
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function removeTree(dir: string): void {
  try {
    rmSync(dir, { recursive: true, force: true });
  } catch {
    // It belongs to another process by now.
  }
}

/** The directory of this process for a hub's runs, made at first use. */
export function openScratch(data_dir: string): Scratch {
  const known = scratches.get(data_dir);
  if (known) return known;
  const dir = mkdtempSync(join(tmpdir(), `${prefixOf(data_dir)}${process.pid}-`));
  // Entered, and not read, by the users that scripts run as.
  chmodSync(dir, 0o711);
  const scratch = { dir };
  scratches.set(data_dir, scratch);
  return scratch;
}

export function closeScratch(data_dir: string): void {
  const scratch = scratches.get(data_dir);
  scratches.delete(data_dir);
  if (scratch) removeTree(scratch.dir);
}

/** Whether a user without any rights can open the file. */
function isOpenToAll(path: string): boolean {
  if ((statSync(path).mode & 0o005) !== 0o005) return false;
  for (let dir = dirname(path); ; dir = dirname(dir)) {
    if ((statSync(dir).mode & 0o001) === 0) return false;
    if (dir === dirname(dir)) return true;
  }
}

/**
 * A path of the runtime that `uid` can run: its own, or a link or copy of it where that lies in a directory of root's.
 * @param uid null: the hub's own user.
 */
export function reachableRuntime(scratch: Scratch, program: string, uid: number | null): string {
  if (uid === null || isOpenToAll(program)) return program;
  const staged = join(scratch.dir, "runtime");
  if (statSync(staged, { throwIfNoEntry: false })) return staged;
  try {
    if ((statSync(program).mode & 0o005) !== 0o005) throw new Error("its mode is root's to set");
    linkSync(program, staged);
  } catch {
    // Another file system, or not for everybody.
    copyFileSync(program, staged);
    chmodSync(staged, 0o755);
  }
  return staged;
}

/** Files of one run. `app` holds what it may read, `door` is where its socket is to be. */
export interface RunFiles {
  readonly dir: string;
  readonly app: string;
  readonly door: string;
}

/** Scripts find `flotilla` by this: it lies beside them and not in a node_modules. */
const TSCONFIG = JSON.stringify({ compilerOptions: { paths: { flotilla: ["./flotilla.ts"] } } });

export function writeRunFiles(
  scratch: Scratch,
  files: { script: string; job: object; uid: number | null },
): RunFiles {
  const dir = mkdtempSync(join(scratch.dir, "r"));
  const app = join(dir, "app");
  mkdirSync(app, { mode: 0o700 });
  const texts = {
    "run.ts": runText,
    "arguments.ts": argumentsText,
    "door.ts": doorText,
    "flotilla.ts": flotillaText,
    "tsconfig.json": TSCONFIG,
    "job.json": JSON.stringify(files.job),
    "script.ts": files.script,
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(app, name), text);
  if (files.uid !== null) giveTo(files.uid, dir, app);
  return { dir, app, door: join(dir, "d") };
}

/** The directories belong only to the run: no other user can reach its files or its socket. */
function giveTo(uid: number, dir: string, app: string): void {
  for (const name of readdirSync(app)) chmodSync(join(app, name), 0o644);
  chownSync(dir, 0, uid);
  chmodSync(dir, 0o710);
  chownSync(app, 0, uid);
  chmodSync(app, 0o750);
}

export const removeRunFiles = (files: RunFiles): void =>
  rmSync(files.dir, { recursive: true, force: true });
