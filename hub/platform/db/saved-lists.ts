import { and, asc, count, eq } from "drizzle-orm";
import type { Tables } from "#drizzle/tables.ts";
import type { Conn } from "./conn.ts";

export type SavedListRow = Tables["saved_lists"]["$inferSelect"];

/** Lists with their filters, by page and name. */
export interface SavedListsRepo {
  /** In the order of their names, of one page or of all. */
  list(page?: string): Promise<SavedListRow[]>;
  count(): Promise<number>;
  /** One that is there keeps who saved it first, and when. */
  put(row: SavedListRow): Promise<SavedListRow>;
  delete(page: string, name: string): Promise<boolean>;
}

export function savedListsRepo({ q, t: { saved_lists: l } }: Conn): SavedListsRepo {
  return {
    list: async (page) =>
      q
        .select()
        .from(l)
        .where(page === undefined ? undefined : eq(l.page, page))
        .orderBy(asc(l.page), asc(l.name)),
    count: async () => (await q.select({ n: count() }).from(l))[0]?.n ?? 0,
    put: async (row) => {
      const { filters, updated_at } = row;
      const [stored] = await q
        .insert(l)
        .values(row)
        .onConflictDoUpdate({ target: [l.page, l.name], set: { filters, updated_at } })
        .returning();
      if (!stored) throw new Error(`${row.name} was neither inserted nor updated`);
      return stored;
    },
    delete: async (page, name) =>
      (
        await q
          .delete(l)
          .where(and(eq(l.page, page), eq(l.name, name)))
          .returning({ name: l.name })
      ).length > 0,
  };
}
