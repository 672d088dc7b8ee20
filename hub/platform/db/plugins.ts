import { and, asc, eq, gt, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import { laterThan } from "./not-before.ts";
import type { KeyPage, PluginsRepo } from "./pipeline-types.ts";

type Tables = Conn["t"];

const onPage = (
  of: Tables["plugin_state"] | Tables["plugin_blobs"],
  slug: string,
  { prefix, after }: KeyPage,
) =>
  and(
    eq(of.slug, slug),
    after === null ? undefined : gt(of.key, after),
    prefix === "" ? undefined : sql`substr(${of.key}, 1, length(${prefix})) = ${prefix}`,
  );

/** Values of plugins, each with the version of its last write. */
function pluginState({
  q,
  t: { plugin_state },
}: Conn): Pick<PluginsRepo, "getState" | "listState" | "putState" | "deleteState"> {
  const ofState = (slug: string, key: string) =>
    and(eq(plugin_state.slug, slug), eq(plugin_state.key, key));
  return {
    getState: async (slug, key) => {
      const [row] = await q.select().from(plugin_state).where(ofState(slug, key));
      return row ?? null;
    },
    listState: async (slug, page) =>
      q
        .select({ key: plugin_state.key, updated_at: plugin_state.updated_at })
        .from(plugin_state)
        .where(onPage(plugin_state, slug, page))
        .orderBy(asc(plugin_state.key))
        .limit(page.limit),
    putState: async ({ slug, key, value, updated_at: now }, expected) => {
      const stored = { slug, key, value: { value }, updated_at: now };
      if (expected === null) {
        const rows = await q.insert(plugin_state).values(stored).onConflictDoNothing().returning();
        return rows[0] ?? null;
      }
      const set = { value: stored.value, updated_at: laterThan(plugin_state.updated_at, now) };
      const rows =
        expected === undefined
          ? await q
              .insert(plugin_state)
              .values(stored)
              .onConflictDoUpdate({ target: [plugin_state.slug, plugin_state.key], set })
              .returning()
          : await q
              .update(plugin_state)
              .set(set)
              .where(and(ofState(slug, key), eq(plugin_state.updated_at, expected)))
              .returning();
      return rows[0] ?? null;
    },
    deleteState: async (slug, key) =>
      (await q.delete(plugin_state).where(ofState(slug, key)).returning()).length > 0,
  };
}

/** Which object holds each of a plugin's blobs. */
function pluginBlobs({
  q,
  t: { plugin_blobs },
}: Conn): Pick<PluginsRepo, "getBlob" | "listBlobs" | "putBlob" | "deleteBlob" | "blobObjects"> {
  const ofBlob = (slug: string, key: string) =>
    and(eq(plugin_blobs.slug, slug), eq(plugin_blobs.key, key));
  const getBlob: PluginsRepo["getBlob"] = async (slug, key) => {
    const [row] = await q.select().from(plugin_blobs).where(ofBlob(slug, key));
    return row ?? null;
  };
  return {
    getBlob,
    listBlobs: async (slug, page) =>
      q
        .select()
        .from(plugin_blobs)
        .where(onPage(plugin_blobs, slug, page))
        .orderBy(asc(plugin_blobs.key))
        .limit(page.limit),
    putBlob: async (row) => {
      const { slug, key, ...set } = row;
      // Each try names the object that it replaces, so no object is deleted twice and none is forgotten. A try is lost
      // only to another writer that won.
      for (;;) {
        const before = await getBlob(slug, key);
        const won = before
          ? await q
              .update(plugin_blobs)
              .set(set)
              .where(and(ofBlob(slug, key), eq(plugin_blobs.object_key, before.object_key)))
              .returning()
          : await q.insert(plugin_blobs).values(row).onConflictDoNothing().returning();
        if (won.length > 0) return before?.object_key ?? null;
      }
    },
    deleteBlob: async (slug, key) => {
      const rows = await q.delete(plugin_blobs).where(ofBlob(slug, key)).returning();
      return rows[0]?.object_key ?? null;
    },
    blobObjects: async () => {
      const rows = await q.select({ object_key: plugin_blobs.object_key }).from(plugin_blobs);
      return rows.map(({ object_key }) => object_key);
    },
  };
}

export const pluginsRepo = (conn: Conn): PluginsRepo => ({
  ...pluginState(conn),
  ...pluginBlobs(conn),
});
