import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname } from "node:path";
import { errorMessage } from "#shared/kit/errors.ts";
import { humanSize } from "#shared/kit/words.ts";

/** Files that SQLite keeps next to the database, all of which it must be able to write. */
const BESIDE = ["", "-wal", "-shm", "-lock"];
/** With less free space, nothing useful can be written. */
const LEAST_FREE = 1024 * 1024;

const codeOf = (err: unknown): string =>
  err instanceof Error && "code" in err && typeof err.code === "string" ? err.code : "";

/** Why this process may not write to that path; null when it may. */
function refusalAt(path: string): string | null {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return null;
  } catch (err) {
    if (codeOf(err) === "EROFS") return `${path} is on a file system that is mounted read-only`;
    if (codeOf(err) !== "EACCES") return `${path}: ${errorMessage(err)}`;
    const { uid, gid, mode } = statSync(path);
    const rights = (mode & 0o7777).toString(8).padStart(4, "0");
    const { username, uid: own } = userInfo();
    return `${path} belongs to user ${uid}, group ${gid} (${rights}), and this process is user ${own} (${username}), who may not write it: chown it, or run as its owner`;
  }
}

const isFull = (dir: string): boolean => {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize < LEAST_FREE;
};

/**
 * Why SQLite cannot use the database `file`, in words that say what to fix: its own are the same for a wrong owner, a
 * read-only disk and a directory. `full` means that the configuration is not at fault.
 */
export function whyNotOpen(file: string, err: unknown): { words: string; full: boolean } {
  const dir = dirname(file);
  const because = (words: string, full = false) => ({ words, full });
  if (existsSync(file) && statSync(file).isDirectory()) return because("it is a directory");
  if (codeOf(err) === "SQLITE_NOTADB" || codeOf(err) === "SQLITE_CORRUPT")
    return because(
      `${errorMessage(err)}: the file is damaged, or is not Flotilla's; flotilla restore FILE replaces it with a backup`,
    );
  for (const path of [dir, ...BESIDE.map((end) => file + end).filter((at) => existsSync(at))]) {
    const refusal = refusalAt(path);
    if (refusal !== null) return because(refusal);
  }
  if (codeOf(err) === "SQLITE_FULL" || codeOf(err) === "ENOSPC" || isFull(dir)) {
    const { bavail, bsize } = statfsSync(dir);
    const free = humanSize(bavail * bsize);
    return because(`the disk of ${dir} is full (${free} free): free up space`, true);
  }
  return because(errorMessage(err));
}
