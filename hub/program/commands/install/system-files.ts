import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { copyFile, link, lstat, mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { syncPath } from "#shared/kit/sync-path.ts";
import { demandRoom } from "../backup/room.ts";

export const readText = (path: string): Promise<string | null> =>
  readFile(path, "utf8").catch((err: NodeJS.ErrnoException) => {
    if (err.code === "ENOENT") return null;
    throw err;
  });

/** Atomic: leaves the whole new text or what was there before, even after a crash. */
export async function writeText(path: string, text: string, mode: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temp = `${path}.new`;
  await rm(temp, { force: true });
  const file = await open(temp, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, mode);
  try {
    await file.writeFile(text);
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temp, path);
}

/** Next to an executable: the last version that was healthy before it. */
export const previousOf = (path: string): string => `${path}.previous`;
/** Next to an executable: the version that was ready last; written by the units (`ExecStartPost=`). */
export const healthyOf = (path: string): string => `${path}.healthy`;

export const exists = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(() => null)) !== null;

/** Makes `path` a second name of the file `from`. */
async function replaceLink(from: string, path: string): Promise<void> {
  const temp = `${path}.new`;
  await rm(temp, { force: true });
  await link(from, temp);
  await rename(temp, path);
  // If both are already the same file, rename leaves both.
  await rm(temp, { force: true });
}

/** SHA-256 in hex; null: there is no such file. */
export async function hashFile(path: string): Promise<string | null> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
    return hash.digest("hex");
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw err;
  }
}

export async function sameFile(a: string, b: string): Promise<boolean> {
  const [x, y] = await Promise.all([a, b].map((path) => stat(path).catch(() => null)));
  if (!x || !y || x.size !== y.size) return false;
  return (await hashFile(a)) === (await hashFile(b));
}

/**
 * Puts an executable into place while the previous one runs. The file at `keep` stays as `<path>.previous`, for a
 * rollback; null leaves the previous one as it is.
 */
export async function replaceExecutable(
  from: string,
  path: string,
  keep: string | null,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temp = `${path}.new`;
  await rm(temp, { force: true });
  await demandRoom(dirname(path), (await stat(from)).size);
  await copyFile(from, temp);
  const file = await open(temp, "r");
  try {
    await file.chmod(0o755);
  } finally {
    await file.close();
  }
  await syncPath(temp);
  if (keep !== null && !(await sameFile(keep, temp))) await replaceLink(keep, previousOf(path));
  await rename(temp, path);
}
