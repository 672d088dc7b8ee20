import { eq } from "drizzle-orm";
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
  };
}
