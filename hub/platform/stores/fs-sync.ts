import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { syncPath } from "#shared/kit/sync-path.ts";

/**
 * fsync of directories, shared: callers that ask while one runs are served together by the next, so many uploads into
 * one directory cost a few syncs instead of one each.
 */
export function createDirSync(): (dir: string) => Promise<void> {
  const waiting = new Map<string, Promise<void>>();
  const running = new Map<string, Promise<void>>();
  const syncAfterRunning = async (dir: string): Promise<void> => {
    await Promise.allSettled([running.get(dir)]);
    waiting.delete(dir);
    const sync = syncPath(dir);
    running.set(dir, sync);
    try {
      await sync;
    } finally {
      if (running.get(dir) === sync) running.delete(dir);
    }
  };
  return (dir) => {
    const next = waiting.get(dir) ?? syncAfterRunning(dir);
    waiting.set(dir, next);
    return next;
  };
}

/** Creates `dir` and syncs the parent of every level that was missing, so the path survives a power cut. */
export async function makeDir(dir: string, syncDir: (dir: string) => Promise<void>): Promise<void> {
  const first = await mkdir(dir, { recursive: true });
  if (first === undefined) return;
  for (let made = dir; made.length >= first.length; made = dirname(made))
    await syncDir(dirname(made));
}
