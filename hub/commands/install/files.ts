import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { copyFile, link, mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { syncPath } from "#shared/sync-path.ts";

export const readText = (path: string): Promise<string | null> =>
  readFile(path, "utf8").catch((err: NodeJS.ErrnoException) => {
    if (err.code === "ENOENT") return null;
    throw err;
  });

/** The whole new text or what was there before, also after a crash. */
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

async function hashFile(path: string): Promise<string | null> {
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
 * Puts an executable into place while the one before it runs: that one stays beside it as `<path>.previous`, for a
 * rollback.
 */
export async function replaceExecutable(from: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temp = `${path}.new`;
  await rm(temp, { force: true });
  await copyFile(from, temp);
  const file = await open(temp, "r");
  try {
    await file.chmod(0o755);
  } finally {
    await file.close();
  }
  await syncPath(temp);
  const previous = `${path}.previous`;
  if (await stat(path).catch(() => null)) {
    await rm(previous, { force: true });
    await link(path, previous);
  }
  await rename(temp, path);
}
