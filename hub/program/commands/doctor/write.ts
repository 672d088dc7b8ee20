import { randomBytes } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage } from "#shared/kit/errors.ts";

/** Trial writes on this machine, and what to do when they fail. */

const BLOCK_BYTES = 4_096;

/** Milliseconds to sync 4 KB to the disk of `dir`; leaves nothing behind. @throws the system's error */
export async function measureFsync(dir: string): Promise<number> {
  const path = join(dir, `.flotilla-doctor-${process.pid}-${randomBytes(4).toString("hex")}`);
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(Buffer.alloc(BLOCK_BYTES));
    const began = performance.now();
    await file.sync();
    return performance.now() - began;
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

export const codeOf = (err: unknown): string =>
  err instanceof Error && "code" in err ? String(err.code) : "";

export const whoAmI = (): string => {
  const uid = process.getuid?.() ?? 0;
  return uid === 0 ? "root" : `user ${uid}`;
};

/** What to do about `err` of a write below `path`, which `variable` names. */
export function adviceOnWrite(err: unknown, path: string, variable: string): string {
  switch (codeOf(err)) {
    case "EACCES":
    case "EPERM":
      return `${whoAmI()} may not write there: chown ${path} to the service's user, or set ${variable} to a directory that belongs to it`;
    case "EROFS":
      return `it is read-only here: mount it for writing, or add it to ReadWritePaths= (systemctl edit the unit)`;
    case "ENOSPC":
    case "EDQUOT":
      return `free up space there, or set ${variable} to a disk with free space`;
    case "ENOTDIR":
    case "EEXIST":
      return `a part of the path is a file: set ${variable} to a directory`;
    case "EIO":
      return "the disk is failing: see dmesg";
    default:
      return `${variable} must name a writable directory (${errorMessage(err)})`;
  }
}
