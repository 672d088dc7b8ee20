import { asc, eq, inArray, sql } from "drizzle-orm";
import { once } from "#shared/kit/once.ts";
import { createBatcher } from "./batch.ts";
import type { Conn } from "./conn.ts";
import type { ProfilesRepo } from "./fleet-types.ts";
import type { ProfileRow } from "./rows.ts";

export function profilesRepo({ dialect, q, t: { profiles } }: Conn): ProfilesRepo {
  /**
   * Takes every row, in the order of the names. Two statements that touched only the old and the new default could each
   * miss the other's row, and without an order they could wait for each other. SQLite has one writer.
   */
  const all = () =>
    sql`(select name from ${profiles} order by name ${dialect === "postgres" ? sql`for update` : sql``})`;
  // Built once, because every job asks it.
  const theDefault = once(() =>
    q.select().from(profiles).where(eq(profiles.is_default, true)).prepare("default_profile"),
  );
  const readDefault = async (): Promise<ProfileRow | null> => {
    const [row] = await theDefault().execute();
    return row ?? null;
  };
  const shared = createBatcher<null, ProfileRow | null>({
    splits: () => false,
    one: readDefault,
    many: async (asked) => {
      const row = await readDefault();
      return asked.map(() => row);
    },
  });
  return {
    put: async (row) => {
      const { name, created_at, ...fresh } = row;
      const [stored] = await q
        .insert(profiles)
        .values({ name, created_at, is_default: false, ...fresh })
        .onConflictDoUpdate({ target: profiles.name, set: fresh })
        .returning();
      if (!stored) throw new Error(`profile ${name} was neither inserted nor updated`);
      return stored;
    },
    get: async (name) => {
      const [row] = await q.select().from(profiles).where(eq(profiles.name, name));
      return row ?? null;
    },
    list: async () => q.select().from(profiles).orderBy(asc(profiles.name)),
    getDefault: dialect === "postgres" ? () => shared(null) : readDefault,
    setDefault: async (name) => {
      // With the column's encoder, a name with NUL matches no row instead of being refused by Postgres.
      const named = sql.param(name, profiles.name);
      const rows = await q
        .update(profiles)
        .set({ is_default: sql`${profiles.name} = ${named}` })
        .where(
          sql`${inArray(profiles.name, all())} and exists (select 1 from ${profiles} p where p.name = ${named})`,
        )
        .returning();
      return rows.find((row) => row.name === name) ?? null;
    },
    clearDefault: async () => {
      await q.update(profiles).set({ is_default: false }).where(eq(profiles.is_default, true));
    },
    delete: async (name) => {
      const gone = await q.delete(profiles).where(eq(profiles.name, name)).returning();
      return gone[0] ?? null;
    },
  };
}
