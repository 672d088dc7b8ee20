import { existsSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { makeOwnDir, OWN_DIR, THROUGH_DIR, tightenMode } from "#shared/kit/own-dir.ts";

/** Profiles, bodies that wait for the hub, versions and task output: nobody else may read them. */
const OWN = ["profiles", "uploads", "versions", "pipeline", "agent"];

/**
 * Creates the data directory for this user alone, and restricts one that an earlier version left more open. A browser
 * that runs as another account passes through to its lanes and sees nothing else.
 */
export function closeDataDir(data_dir: string, log: Log): void {
  // Only root's browsers run as another user.
  const most = process.getuid?.() === 0 ? THROUGH_DIR : OWN_DIR;
  try {
    const made = [makeOwnDir(data_dir, most)];
    for (const name of OWN) {
      const path = join(data_dir, name);
      if (existsSync(path)) made.push(tightenMode(path, OWN_DIR));
    }
    const lanes = join(data_dir, "lanes");
    if (existsSync(lanes)) made.push(tightenMode(lanes, most));
    const changed = made.filter((change) => change !== null);
    if (changed.length > 0)
      log.warn({ changed }, "other users could read the data directory: their access was removed");
  } catch (err) {
    log.warn(
      { data_dir, err: errorMessage(err) },
      "the data directory may be open to other users: its permissions cannot be changed",
    );
  }
}
