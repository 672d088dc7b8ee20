import { chmodSync, lstatSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "#shared/env.ts";
import { errorMessage } from "#shared/errors.ts";
import type { Log } from "#shared/log.ts";

const DIR_MODE = 0o700;
/** Lanes of a worker below it may run as another user, who must get through but sees nothing of it. */
const THROUGH_MODE = 0o711;
const FILE_MODE = 0o600;
const RIGHTS = 0o777;
/** Directories of the hub's own stores. Those of workers are theirs. */
const OWN_DIRS = ["objects", "kept"];

interface Change {
  path: string;
  from: string;
  to: string;
}

/** Takes away what others may, and nothing of what the owner may. @returns null when nobody else may anything. */
function tighten(path: string, mode: number, most: number): Change | null {
  const wanted = mode & most;
  if (mode === wanted) return null;
  chmodSync(path, wanted);
  return { path, from: mode.toString(8).padStart(4, "0"), to: wanted.toString(8).padStart(4, "0") };
}

/**
 * Makes the data directory, which holds captures, keys and tokens, for this user alone; one that was made more open
 * is closed, with the files and stores in it, and the log says what was changed. Links are not followed.
 * @param lets_through whether workers have their lanes below it
 * @throws ConfigError naming SVC_DATA_DIR when it cannot be made
 */
export function openDataDir(
  dir: string,
  { lets_through, log }: { lets_through: boolean; log: Log },
): void {
  try {
    mkdirSync(dir, { recursive: true, mode: lets_through ? THROUGH_MODE : DIR_MODE });
  } catch (err) {
    throw new ConfigError(`SVC_DATA_DIR: cannot create ${dir}: ${errorMessage(err)}`);
  }
  try {
    const changed = closeDirectory(dir, lets_through);
    if (changed.length > 0)
      log.warn({ changed }, "others could read the data directory: it was closed to them");
  } catch (err) {
    log.warn(
      { dir, err: errorMessage(err) },
      "the data directory may be open to other users: its permissions cannot be changed",
    );
  }
}

function closeDirectory(dir: string, lets_through: boolean): Change[] {
  const changes: (Change | null)[] = [];
  const entries = readdirSync(dir, { withFileTypes: true });
  const of = (path: string) => lstatSync(path).mode & RIGHTS;
  // A worker that shares the directory has its lanes there.
  const through = lets_through || entries.some(({ name }) => name === "lanes");
  changes.push(tighten(dir, of(dir), through ? THROUGH_MODE : DIR_MODE));
  for (const entry of entries) {
    const path = join(dir, entry.name);
    if (entry.isFile()) changes.push(tighten(path, of(path), FILE_MODE));
    else if (entry.isDirectory() && OWN_DIRS.includes(entry.name))
      changes.push(tighten(path, of(path), DIR_MODE));
  }
  return changes.filter((change) => change !== null);
}
