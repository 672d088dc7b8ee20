import { inArray, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { EnginesRepo } from "./library-types.ts";
import { slugRows } from "./slug-rows.ts";

export function enginesRepo(conn: Conn): EnginesRepo {
  const {
    dialect,
    q,
    t: { engines },
  } = conn;
  const { put, ...rows } = slugRows(conn, engines, ["promoted"]);
  /**
   * Takes every row, in the order of the slugs. Two statements that touched only the old and the new engine could each
   * miss the other's row, and without an order they could wait for each other. SQLite has one writer.
   */
  const all = () =>
    sql`(select slug from ${engines} order by slug ${dialect === "postgres" ? sql`for update` : sql``})`;
  return {
    ...rows,
    put: (row) => put({ ...row, promoted: false }),
    promote: async (slug) => {
      const named = sql.param(slug, engines.slug);
      const changed = await q
        .update(engines)
        .set({ promoted: sql`${engines.slug} = ${named}` })
        .where(
          sql`${inArray(engines.slug, all())} and exists (select 1 from ${engines} e where e.slug = ${named})`,
        )
        .returning();
      return changed.find((row) => row.slug === slug) ?? null;
    },
  };
}
