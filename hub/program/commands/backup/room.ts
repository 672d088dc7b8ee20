import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { humanSize } from "#shared/kit/words.ts";
import { CommandRefused } from "../refused.ts";

/** @throws CommandRefused when `bytes` do not fit into the file system of `dir`. */
export async function demandRoom(dir: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  const free = bavail * bsize;
  if (bytes > free)
    throw new CommandRefused(
      `${dir}: the disk is full: needs ${humanSize(bytes)}, has ${humanSize(free)} free`,
    );
}

/** Size of the files at or below `path`; a missing path takes no room. */
async function bytesOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => null);
  if (found === null || !found.isDirectory()) return found?.size ?? 0;
  const names = await readdir(path);
  let sum = 0;
  for (const name of names) sum += await bytesOf(join(path, name));
  return sum;
}

const FULL = ["ENOSPC", "EDQUOT", "SQLITE_FULL"];

/**
 * Names the directory of a full disk and the size of what should go there: `ENOSPC` alone says neither.
 * @throws CommandRefused for a full disk; everything else unchanged.
 */
export async function tellFull(err: unknown, dir: string, what: readonly string[]): Promise<never> {
  const code = err instanceof Error && "code" in err ? String(err.code) : "";
  if (!FULL.includes(code)) throw err;
  let bytes = 0;
  for (const path of what) bytes += await bytesOf(path);
  const { bavail, bsize } = await statfs(dir);
  throw new CommandRefused(
    `${dir}: the disk is full: needs up to ${humanSize(bytes)}, has ${humanSize(bavail * bsize)} free`,
  );
}
