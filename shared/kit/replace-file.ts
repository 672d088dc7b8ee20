import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncPath } from "./sync-path.ts";

/**
 * Gives a file this text, for its owner alone. A reader finds either the old text or the new one, whatever ends the process
 * or the machine meanwhile; when it returns, the new one is on the disk. A process does not replace one file twice at a time.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  // A launcher and its worker write to one directory.
  const temp = `${path}.${process.pid}.new`;
  await rm(temp, { force: true });
  const file = await open(temp, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temp, path);
  await syncPath(dirname(path));
}
