import { Database } from "bun:sqlite";
import { createHash } from "node:crypto";
import { readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { BrowserUser } from "#shared/kit/browser-user.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { makeOwnDir, OWN_DIR, THROUGH_DIR } from "#shared/kit/own-dir.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { fitsSocketPath, type RunsRoot, removeTree } from "../process/dirs.ts";
import { startGuardian } from "../process/guardian.ts";
import { endStragglers } from "../process/kill.ts";

/** Another live worker uses this data directory. */
export class DataDirInUseError extends Error {
  constructor(dir: string, owner: string) {
    super(
      `SVC_DATA_DIR: ${dir} is in use by another worker${owner === "" ? "" : ` (pid ${owner})`}`,
    );
    this.name = "DataDirInUseError";
  }
}

/** The part of the data directory that belongs to the lanes of one worker, locked for as long as it lives. */
export interface Scratch {
  /** The prefix of every lane tag of this worker; processes that carry it end with this one. */
  tag: string;
  dir: string;
  runs: RunsRoot;
  /** Removes everything below it and releases the lock. */
  close(): Promise<void>;
}

/**
 * Takes the directory for this worker, then ends the processes and removes the directories an earlier incarnation left.
 * @param held file descriptors that stay open until no process of this worker is left.
 * @throws DataDirInUseError
 */
export async function openScratch(
  data_dir: string,
  user: BrowserUser | null,
  log: Log,
  held: readonly number[],
): Promise<Scratch> {
  const dir = join(data_dir, "lanes");
  // The browser's account must be able to pass through it.
  makeOwnDir(dir, user === null ? OWN_DIR : THROUGH_DIR);
  const unlock = lockDir(dir);
  try {
    const id = scratchId(dir);
    const runs = placeRuns(realpathSync(dir), id, user);
    const removeRuns = async () => {
      await removeTree(runs.dir);
      if (runs.tmp_dir !== null) await removeTree(runs.tmp_dir);
    };
    await endStragglers((tag) => tag.startsWith(`${id}:`));
    await removeRuns();
    for (const made of [runs.dir, runs.tmp_dir])
      if (made !== null) makeOwnDir(made, user === null ? OWN_DIR : THROUGH_DIR);
    const { tag, close: endGuardian } = guardedTag(id, log, held);
    return {
      tag,
      dir,
      runs,
      close: async () => {
        try {
          await endGuardian();
          await removeRuns();
        } finally {
          unlock();
        }
      },
    };
  } catch (err) {
    unlock();
    throw err;
  }
}

/**
 * Returns a tag that only processes of this worker carry, and starts a guardian that ends them with it. An earlier or
 * later worker on the same directory shares the first part of the tag, but not the second.
 */
export function guardedTag(
  id: string,
  log: Log,
  held: readonly number[] = [],
): { tag: string; close(): Promise<void> } {
  const tag = `${id}:${newToken().slice(0, 8)}:`;
  const { close } = startGuardian(tag, log, held);
  return { tag, close };
}

/** A directory that one worker holds. */
export interface OwnDir {
  /** First part of its processes' tags; the same for every incarnation on this directory, and for no other directory. */
  id: string;
  /** Ends what still carries the tag and releases the lock. */
  close(): Promise<void>;
}

/**
 * Takes a directory for this process and ends the processes an earlier incarnation left.
 * @throws DataDirInUseError
 */
export async function openDir(dir: string): Promise<OwnDir> {
  const unlock = lockDir(dir);
  const id = scratchId(dir);
  const sweep = () => endStragglers((tag) => tag.startsWith(`${id}:`));
  try {
    await sweep();
  } catch (err) {
    unlock();
    throw err;
  }
  return { id, close: () => sweep().then(unlock, unlock) };
}

/**
 * Names a directory for its lane tags. Device and inode distinguish two containers whose directories have the same
 * path.
 */
export function scratchId(dir: string): string {
  const { dev, ino } = statSync(dir);
  return createHash("sha256")
    .update(`${realpathSync(dir)}:${dev}:${ino}`)
    .digest("hex")
    .slice(0, 12);
}

/**
 * SQLite's exclusive lock is a kernel lock: it vanishes with the process, however that ends, so a lock is never
 * stale. The pid next to it only serves the message.
 */
function lockDir(dir: string): () => void {
  const owner = join(dir, "owner");
  const db = new Database(join(dir, "lock"));
  try {
    db.run("PRAGMA busy_timeout = 0");
    db.run("BEGIN EXCLUSIVE");
  } catch (err) {
    db.close();
    if (!/locked|busy/i.test(errorMessage(err))) throw err;
    throw new DataDirInUseError(dirname(dir), readOwner(owner));
  }
  writeFileSync(owner, String(process.pid));
  return () => db.close();
}

function readOwner(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}

/** It is on a disk, and open to every account. */
const OPEN_DIR = "/var/tmp";

/** Below the lanes' own directory `dir` if the browser's account can get there, else below /var/tmp. */
function placeRuns(dir: string, id: string, user: BrowserUser | null): RunsRoot {
  const own = join(dir, "runs");
  const name = `flotilla-${id}`;
  const runs_dir = user === null || mayEnter(dir, user) ? own : join(OPEN_DIR, name);
  if (fitsSocketPath(runs_dir)) return { dir: runs_dir, tmp_dir: null };
  const base = user === null || mayEnter(tmpdir(), user) ? tmpdir() : OPEN_DIR;
  return { dir: runs_dir, tmp_dir: join(base, name) };
}

function mayEnter(dir: string, user: BrowserUser): boolean {
  for (let path = dir; ; path = dirname(path)) {
    const { mode, uid, gid } = statSync(path);
    const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
    if (((mode >> shift) & 1) === 0) return false;
    if (path === dirname(path)) return true;
  }
}
