import { rename, rmdir } from "node:fs/promises";
import { dirname } from "node:path";
import { createDirSync, makeDir } from "./fs-sync.ts";
import { codeOf, isMissing } from "./put-error.ts";

/** A directory can vanish between its creation and the rename into it when its last object was just deleted. */
const PLACE_TRIES = 10;

/** Puts files in their places below `root`, so they survive a power cut, and removes empty directories. */
export function createPlaces(root: string) {
  const syncDir = createDirSync();
  const move = async (from: string, to: string): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      try {
        // The directory nearly always exists.
        if (tries > 1) await makeDir(dirname(to), syncDir);
        return await rename(from, to);
      } catch (err) {
        if (codeOf(err) !== "ENOENT" || tries >= PLACE_TRIES) throw err;
      }
    }
  };
  const syncPlaced = (dir: string): Promise<void> =>
    syncDir(dir).catch((err: unknown) => {
      // Placed, and already deleted by another process.
      if (!isMissing(err)) throw err;
    });
  const place = async (from: string, to: string): Promise<void> => {
    await move(from, to);
    await syncPlaced(dirname(to));
  };
  /** Removes directories that became empty, upwards. */
  const prune = async (from: string): Promise<void> => {
    for (let empty = from; empty !== root && empty.startsWith(root); empty = dirname(empty)) {
      try {
        await rmdir(empty);
      } catch (err) {
        if (!isMissing(err)) return;
      }
    }
  };
  return { move, syncPlaced, place, prune };
}
