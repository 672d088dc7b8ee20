import { open } from "node:fs/promises";

/** fsync of a file or directory that is there already. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
