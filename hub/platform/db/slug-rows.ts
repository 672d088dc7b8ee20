import { asc, eq } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { SlugRepo } from "./library-types.ts";

type SlugTable = Conn["t"]["engines" | "presets" | "skills" | "conventions"];

/**
 * The calls that every registry with a slug has. `kept` names columns of an existing row that a put leaves as they are.
 * Drizzle has no type for "a table with a slug", hence the two casts: input and output are rows of `table`.
 */
export function slugRows<T extends SlugTable>({ q }: Conn, table: T, kept: readonly string[]) {
  type Row = T["$inferSelect"];
  const t = table as Conn["t"]["presets"];
  const rows = <R>(found: R[]) => found as unknown as Row[];
  const repo: SlugRepo<Row> = {
    list: async () => rows(await q.select().from(t).orderBy(asc(t.slug))),
    get: async (slug) => rows(await q.select().from(t).where(eq(t.slug, slug)))[0] ?? null,
    put: async (row) => {
      const fresh = Object.fromEntries(
        Object.entries(row).filter(([column]) => column !== "slug" && !kept.includes(column)),
      );
      const [stored] = rows(
        await q
          .insert(t)
          .values(row as unknown as Conn["t"]["presets"]["$inferInsert"])
          .onConflictDoUpdate({ target: t.slug, set: fresh })
          .returning(),
      );
      if (!stored) throw new Error(`${row.slug} was neither inserted nor updated`);
      return stored;
    },
    delete: async (slug) =>
      (await q.delete(t).where(eq(t.slug, slug)).returning({ slug: t.slug })).length > 0,
  };
  return repo;
}
