import { and, asc, eq, inArray, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { SettingsRepo } from "./library-types.ts";

export function settingsRepo({ q, t: { settings }, atomic }: Conn): SettingsRepo {
  const write = (key: string, value: unknown, updated_at: number) =>
    value === null || value === undefined
      ? q.delete(settings).where(eq(settings.key, key))
      : q
          .insert(settings)
          .values({ key, value, updated_at })
          .onConflictDoUpdate({ target: settings.key, set: { value, updated_at } });
  return {
    get: async (key) => {
      const [row] = await q
        .select({ value: settings.value })
        .from(settings)
        .where(eq(settings.key, key));
      return row?.value ?? null;
    },
    set: async (key, value, updated_at) => {
      await write(key, value, updated_at);
    },
    add: async (key, value, updated_at) => {
      const added = await q
        .insert(settings)
        .values({ key, value, updated_at })
        .onConflictDoNothing({ target: settings.key })
        .returning({ key: settings.key });
      return added.length > 0;
    },
    replace: async (key, value, { was, written_at }) => {
      const replaced = await q
        .update(settings)
        .set({ value, updated_at: written_at })
        .where(and(eq(settings.key, key), eq(settings.updated_at, was)))
        .returning({ key: settings.key });
      return replaced.length > 0;
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
    find: async (keys) =>
      keys.length === 0 ? [] : q.select().from(settings).where(inArray(settings.key, keys)),
    setAll: async (values, updated_at) => {
      // In one order, so two simultaneous calls wait for each other's rows and never deadlock.
      const entries = Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));
      if (entries.length > 0)
        await atomic(entries.map(([key, value]) => write(key, value, updated_at)));
    },
  };
}
