import type { HubContext } from "../context.ts";
import { INCOMING } from "./profile-store.ts";
import { profileKey } from "./profiles.ts";

/** How often `sweep` is to run: an archive that was replaced stays at least so long for the runs that were given it. */
export const SWEEP_EVERY_MS = 600_000;

export interface ProfileSweeper {
  /** Deletes archives that no profile names now, nor did at the sweep before. */
  sweep(): Promise<void>;
  /** The same without a grace, and what a crash left on its way in: for a start with no other hub alive. */
  sweepAll(): Promise<void>;
}

/** Removes the archives of replaced profiles. */
export function createProfileSweeper(ctx: HubContext): ProfileSweeper {
  let unnamed = new Set<string>();
  const find = async () => {
    const stored = await ctx.objects.list("profiles");
    // Read after the list: an archive that came since is not in it.
    const rows = await ctx.db.profiles.list();
    const named = new Set(rows.map((row) => profileKey(row.name, row.sha256)));
    return stored.filter((key) => !named.has(key));
  };
  const remove = async (keys: string[]) => {
    for (const key of keys) await ctx.objects.delete(key);
    if (keys.length > 0) ctx.log.info({ keys: keys.length }, "replaced profile archives deleted");
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
