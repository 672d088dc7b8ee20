import { chown, lchown, mkdir, readdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserUser } from "#shared/kit/browser-user.ts";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import type { RunDirs } from "../lanes/lane-browser.ts";
import { writePreferences } from "./preferences.ts";

/** Where the directories of runs are. */
export interface RunsRoot {
  /** Holds one directory per run. */
  dir: string;
  /** Holds the TMPDIRs when `dir` is too deep for Chromium's singleton socket, else null. */
  tmp_dir: string | null;
}

/** sun_path holds 107 bytes; Chromium aborts when `$TMPDIR/org.chromium.Chromium.XXXXXX/SingletonSocket` is longer. */
const MAX_TMPDIR_BYTES = 107 - "/org.chromium.Chromium.XXXXXX/SingletonSocket".length;
const LONGEST_RUN_TMP = "/999-9999999/tmp";

export const fitsSocketPath = (runs_dir: string): boolean =>
  Buffer.byteLength(runs_dir) + LONGEST_RUN_TMP.length <= MAX_TMPDIR_BYTES;

/** Creates the directories of one run, with a plain profile in them. `name` is unique within `root`. */
export async function createRunDirs(
  root: RunsRoot,
  name: string,
  user: BrowserUser | null,
): Promise<RunDirs> {
  const dir = join(root.dir, name);
  const dirs: RunDirs = {
    root: dir,
    user_data: join(dir, "user-data"),
    tmp: root.tmp_dir === null ? join(dir, "tmp") : join(root.tmp_dir, name),
    downloads: join(dir, "downloads"),
    spool: join(dir, "spool"),
  };
  for (const path of Object.values(dirs)) await mkdir(path, { recursive: true, mode: 0o700 });
  await writePreferences(dirs.user_data);
  if (user !== null) await giveTo(user, dirs);
  return dirs;
}

/** All of them except the spool, which belongs to the worker. */
async function giveTo(user: BrowserUser, dirs: RunDirs): Promise<void> {
  const profile = join(dirs.user_data, "Default");
  const paths = [
    dirs.root,
    dirs.user_data,
    profile,
    join(profile, "Preferences"),
    join(dirs.user_data, "Local State"),
    dirs.tmp,
    dirs.downloads,
  ];
  for (const path of paths) await chown(path, user.uid, user.gid);
}

/** Gives `path` and everything below it to the user; symbolic links themselves, never their targets. */
export async function giveTreeTo(user: BrowserUser, path: string): Promise<void> {
  await lchown(path, user.uid, user.gid);
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  for (const entry of entries) await lchown(join(entry.parentPath, entry.name), user.uid, user.gid);
}

const REMOVE_RETRY_MS = [50, 200, 400, 800];

/** Removes the directories of a run whose processes are gone; retried, because the kernel may still be writing. */
export async function removeRunDirs(dirs: RunDirs, clock: Clock = systemClock): Promise<void> {
  for (const path of [dirs.root, dirs.tmp]) await removeTree(path, clock);
}

/** Removes `path` and everything below it; it may be absent. @throws the last error when it cannot be removed. */
export async function removeTree(path: string, clock: Clock = systemClock): Promise<void> {
  for (const wait of REMOVE_RETRY_MS) {
    try {
      return await rm(path, { recursive: true, force: true });
    } catch {
      await clock.sleep(wait);
    }
  }
  await rm(path, { recursive: true, force: true });
}

const SMALL_SHM_BYTES = 1024 ** 3;

/** Whether /dev/shm is absent or below 1 GiB, where Chromium shows black pages or dies. */
export async function isShmSmall(): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs("/dev/shm");
    return bavail * bsize < SMALL_SHM_BYTES;
  } catch {
    return true;
  }
}
