import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { systemClock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { isProcessAlive } from "../process-alive.ts";

/** Directories in use by stores of this process: after a container restart, an old one may carry the same pid. */
const ours = new Set<string>();

/** A process id means something on its own machine alone, and several machines may share a store. */
const HOST = hostname().replace(/[^A-Za-z0-9.-]/g, "_");
const nameOf = (pid: number): string => `${pid}-${crypto.randomUUID()}@${HOST}`;
const NAME = /^(\d+)-[^@]+@(.+)$/;

/** No body is on its way for so long. */
const ABANDONED_MS = 7 * 86_400_000;

/** A directory of this process for bodies on their way, in the store's file system, so rename is atomic. */
export interface TempDir {
  /** A path that nothing else uses. */
  path(): string;
  /** Makes it again where somebody has removed it: without it no body can be stored. */
  ensure(): Promise<void>;
  close(): Promise<void>;
}

/** Removes what dead processes left in `root/.tmp` and creates its own directory there. */
export async function openTempDir(root: string, log: Log): Promise<TempDir> {
  const base = join(root, ".tmp");
  await mkdir(base, { recursive: true });
  for (const name of await readdir(base)) {
    const dir = join(base, name);
    for (const path of await leftoversOf(dir, name)) {
      await rm(path, { recursive: true, force: true });
      log.info({ path }, "leftover of an earlier run removed");
    }
  }
  const dir = join(base, nameOf(process.pid));
  ours.add(dir);
  await mkdir(dir);
  let count = 0;
  return {
    path: () => {
      count += 1;
      return join(dir, String(count));
    },
    ensure: async () => void (await mkdir(dir, { recursive: true })),
    close: async () => {
      await rm(dir, { recursive: true, force: true });
      ours.delete(dir);
    },
  };
}

/**
 * What nobody uses any more. Whether a process of another machine lives, or one of a version whose directories do not name
 * their machine, cannot be known here: it keeps its directory and loses only what is too old to be on its way.
 */
async function leftoversOf(dir: string, name: string): Promise<string[]> {
  const [, pid = "", host] = NAME.exec(name) ?? [];
  if (host === HOST) {
    const used = Number(pid) === process.pid ? ours.has(dir) : isProcessAlive(Number(pid));
    return used ? [] : [dir];
  }
  const since = systemClock.now() - ABANDONED_MS;
  const paths = (await readdir(dir).catch(() => [])).map((entry) => join(dir, entry));
  const old = await Promise.all(
    paths.map(async (path) => {
      const found = await stat(path).catch(() => null);
      return found !== null && found.mtimeMs < since ? [path] : [];
    }),
  );
  return old.flat();
}
