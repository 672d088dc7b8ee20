import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "#shared/kit/log.ts";
import { isProcessAlive } from "../process-alive.ts";

/** Directories in use by stores of this process: after a container restart, an old one may carry the same pid. */
const ours = new Set<string>();

/** A directory of this process for bodies on their way, in the store's file system, so rename is atomic. */
export interface TempDir {
  /** A path that nothing else uses. */
  path(): string;
  close(): Promise<void>;
}

/** Removes what dead processes left in `root/.tmp` and creates its own directory there. */
export async function openTempDir(root: string, log: Log): Promise<TempDir> {
  const base = join(root, ".tmp");
  await mkdir(base, { recursive: true });
  for (const name of await readdir(base)) {
    const dir = join(base, name);
    const pid = Number(name.split("-")[0]);
    if (pid === process.pid ? ours.has(dir) : isProcessAlive(pid)) continue;
    await rm(dir, { recursive: true, force: true });
    log.info({ dir }, "leftover of an earlier run removed");
  }
  const dir = join(base, `${process.pid}-${crypto.randomUUID()}`);
  ours.add(dir);
  await mkdir(dir);
  let count = 0;
  return {
    path: () => {
      count += 1;
      return join(dir, String(count));
    },
    close: async () => {
      await rm(dir, { recursive: true, force: true });
      ours.delete(dir);
    },
  };
}
