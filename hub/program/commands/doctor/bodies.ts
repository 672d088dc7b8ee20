import { existsSync } from "node:fs";
import type { HubConfig } from "#hub/platform/config.ts";
import { sampleBodies } from "#hub/platform/db/sample-bodies.ts";
import { readSchemaState } from "#hub/platform/db/schema-state.ts";
import { openObjects } from "#hub/platform/stores/open-objects.ts";
import { withDeadline } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { type Check, fail, ok } from "./check.ts";

/** Enough to find one missing body in a hundred almost surely. */
const SAMPLE = 500;
const AT_ONCE = 20;
const LOOK_MS = 40_000;
const SHOWN = 3;

/**
 * Checks for the bodies that the database names: only the database may have been restored, or another bucket
 * configured.
 */
export async function checkBodies({
  db_url,
  objects_url,
  object_keys,
}: Pick<HubConfig, "db_url" | "objects_url" | "object_keys">): Promise<Check> {
  const name = "bodies";
  // The database has its own check.
  const state = await readSchemaState(db_url).catch(() => null);
  if (!state?.exists || state.applied.length === 0) return ok(name, "there are none yet");
  const keys = await sampleBodies(db_url, SAMPLE);
  if (keys.length === 0) return ok(name, "there are none yet");
  const [, dir] = /^file:(?:\/\/)?(.+)$/is.exec(objects_url.trim()) ?? [];
  // Opening a store would create its directory, which the service must own.
  const missing =
    dir !== undefined && !existsSync(dir)
      ? keys
      : await withDeadline("the object store", LOOK_MS, missingOf(keys, objects_url, object_keys));
  if (missing.length === 0) return ok(name, `all ${keys.length} sampled bodies are there`);
  return fail(
    name,
    `${missing.length} of ${keys.length} sampled bodies are missing: ${missing.slice(0, SHOWN).join(", ")}`,
    dir === undefined
      ? "SVC_OBJECTS_URL must name the bucket and prefix that belong to this database; after a restore, also restore the bucket's versions from that time"
      : "SVC_OBJECTS_URL must name the directory that belongs to this database; if only the database was restored, also put the copy of the directory back",
  );
}

async function missingOf(
  keys: string[],
  url: string,
  object_keys: HubConfig["object_keys"],
): Promise<string[]> {
  const store = await openObjects(url, { log: silentLog, keys: object_keys });
  const missing: string[] = [];
  try {
    for (let from = 0; from < keys.length; from += AT_ONCE) {
      const some = keys.slice(from, from + AT_ONCE);
      const found = await Promise.all(some.map((key) => store.stat(key)));
      missing.push(...some.filter((_, i) => found[i] === null));
    }
    return missing;
  } finally {
    await store.close();
  }
}
