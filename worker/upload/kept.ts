import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";

/** Room for what one job captured, until it is stored. */
export interface KeptPlace {
  dir: string;
  /** Removes what is left in it. Never rejects. */
  leave(): Promise<void>;
}

/** Where bodies wait when their lane was released because the hub stores nothing now. */
export interface KeptUploads {
  /**
   * @returns null when the bodies of other jobs leave no room for this many bytes. @throws when the directory cannot
   * be created.
   */
  take(bytes: number): KeptPlace | null;
}

/** Each of them takes a few kilobytes of memory in addition to its files. */
const MAX_JOBS = 1_000;

/** Empties `dir`: what an earlier process kept was lost with its link. `max_bytes` is for all jobs together. */
export async function openKeptUploads(dir: string, max_bytes: number): Promise<KeptUploads> {
  await rm(dir, { recursive: true, force: true });
  let count = 0;
  let used = 0;
  let jobs = 0;
  return {
    take: (bytes) => {
      if (jobs >= MAX_JOBS || used + bytes > max_bytes) return null;
      const place = join(dir, `job-${++count}`);
      mkdirSync(place, { recursive: true, mode: 0o700 });
      jobs += 1;
      used += bytes;
      let left: Promise<void> | undefined;
      const leave = async () => {
        jobs -= 1;
        used -= bytes;
        // The next start removes it.
        await rm(place, { recursive: true, force: true }).catch(() => {});
      };
      return { dir: place, leave: () => (left ??= leave()) };
    },
  };
}
