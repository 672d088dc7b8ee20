import { mkdirSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import {
  type ModeChange,
  OWN_DIR,
  OWN_FILE,
  THROUGH_DIR,
  tightenMode,
} from "#shared/kit/own-dir.ts";

/** Directories of the hub's own stores; workers look after theirs. */
const OWN_DIRS = ["objects", "kept", "imports", "recordings", "exports"];

/**
 * Creates the data directory, which holds captures, keys and tokens, accessible only to this user; a directory that was
 * more open is restricted, with the files and stores in it, and the log says what was changed. Links are not followed.
 * @param lets_through whether workers have their lanes below it
 * @throws ConfigError naming SVC_DATA_DIR when it cannot be created
 */
export function openDataDir(
  dir: string,
  { lets_through, log }: { lets_through: boolean; log: Log },
): void {
  try {
    mkdirSync(dir, { recursive: true, mode: lets_through ? THROUGH_DIR : OWN_DIR });
  } catch (err) {
    throw new ConfigError(`SVC_DATA_DIR: cannot create ${dir}: ${errorMessage(err)}`);
  }
  try {
    const changed = closeDirectory(dir, lets_through);
    if (changed.length > 0)
      log.warn({ changed }, "others could read the data directory: their access was removed");
  } catch (err) {
    log.warn(
      { dir, err: errorMessage(err) },
      "the data directory may be open to other users: its permissions cannot be changed",
    );
  }
}

function closeDirectory(dir: string, lets_through: boolean): ModeChange[] {
  const changes: (ModeChange | null)[] = [];
  const entries = readdirSync(dir, { withFileTypes: true });
  // A worker that shares the directory has its lanes there.
  const through = lets_through || entries.some(({ name }) => name === "lanes");
  changes.push(tightenMode(realpathSync(dir), through ? THROUGH_DIR : OWN_DIR));
  for (const entry of entries) {
    const path = join(dir, entry.name);
    if (entry.isFile()) changes.push(tightenMode(path, OWN_FILE));
    else if (entry.isDirectory() && OWN_DIRS.includes(entry.name))
      changes.push(tightenMode(path, OWN_DIR));
  }
  return changes.filter((change) => change !== null);
}
