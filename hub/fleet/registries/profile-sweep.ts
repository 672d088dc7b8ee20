import type { FleetContext } from "../context.ts";
import { INCOMING } from "./profile-store.ts";
import { beginWriting } from "./profile-writers.ts";
import { profileKey } from "./profiles.ts";

/** How often `sweep` should run: a replaced archive stays at least this long for the runs that were given it. */
export const SWEEP_EVERY_MS = 600_000;

export interface ProfileSweeper {
  /** Deletes archives that no profile names now, nor did at the sweep before. */
  sweep(): Promise<void>;
  /** The same without a grace, and what a crash left on its way in: for a start with no other hub alive. */
  sweepAll(): Promise<void>;
}

/** Removes the archives of replaced profiles. */
export function createProfileSweeper(
  ctx: Pick<FleetContext, "clock" | "db" | "hub_id" | "kv" | "log" | "objects" | "profile_writers">,
): ProfileSweeper {
  let unnamed = new Set<string>();
  const find = async () => {
    const stored = await ctx.objects.list("profiles");
    // Read after the list: an archive that came since is not in it.
    const rows = await ctx.db.profiles.list();
    const named = new Set(rows.map((row) => profileKey(row.name, row.sha256)));
    return stored.filter((key) => !named.has(key));
  };
  const remove = async (keys: string[]) => {
    let deleted = 0;
    for (const [name, own] of byName(keys)) deleted += await removeOf(ctx, name, own);
    if (deleted > 0) ctx.log.info({ keys: deleted }, "replaced profile archives deleted");
  };
  return {
    sweep: async () => {
      const found = await find();
      await remove(found.filter((key) => unnamed.has(key)));
      unnamed = new Set(found.filter((key) => !unnamed.has(key)));
    },
    sweepAll: async () => {
      await ctx.objects.deletePrefix(INCOMING);
      await remove(await find());
    },
  };
}

const byName = (keys: string[]): Map<string, string[]> =>
  Map.groupBy(keys, (key) => /^profiles\/p-([^/]+)\//.exec(key)?.[1] ?? "");

/**
 * As the profile's writer: a caller that is storing the same archive again, at any hub, is left alone till the next
 * sweep.
 */
async function removeOf(
  ctx: Pick<FleetContext, "clock" | "db" | "hub_id" | "kv" | "log" | "objects" | "profile_writers">,
  name: string,
  keys: string[],
): Promise<number> {
  const done = await beginWriting(ctx, name, "sweep").catch(() => null);
  if (!done) return 0;
  try {
    const row = await ctx.db.profiles.get(name);
    const old = keys.filter((key) => !row || key !== profileKey(name, row.sha256));
    for (const key of old) await ctx.objects.delete(key);
    return old.length;
  } finally {
    await done();
  }
}
