import { asc, eq, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { SettingsRepo } from "./types.ts";

export function settingsRepo({ q, t: { settings } }: Conn): SettingsRepo {
  return {
    get: async (key) => {
      const [row] = await q
        .select({ value: settings.value })
        .from(settings)
        .where(eq(settings.key, key));
      return row?.value ?? null;
    },
    set: async (key, value, updated_at) => {
      if (value === null || value === undefined) {
        await q.delete(settings).where(eq(settings.key, key));
        return;
      }
      await q
        .insert(settings)
        .values({ key, value, updated_at })
        .onConflictDoUpdate({ target: settings.key, set: { value, updated_at } });
    },
    add: async (key, value, updated_at) => {
      const added = await q
        .insert(settings)
        .values({ key, value, updated_at })
        .onConflictDoNothing({ target: settings.key })
        .returning({ key: settings.key });
      return added.length > 0;
    },
    delete: async (key) => {
      const gone = await q
        .delete(settings)
        .where(eq(settings.key, key))
        .returning({ key: settings.key });
      return gone.length > 0;
    },
    list: (prefix) =>
      q
        .select()
        .from(settings)
        .where(sql`substr(${settings.key}, 1, ${prefix.length}) = ${prefix}`)
        .orderBy(asc(settings.key)),
  };
}
