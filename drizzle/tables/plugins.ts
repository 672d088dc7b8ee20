import type { ColumnKit } from "../kit.pg.ts";

/** What plugins keep on the hub (rules/pipeline-plugins#state). Times epoch ms. */
export function definePluginTables(c: ColumnKit) {
  const plugin_state = c.table(
    "plugin_state",
    {
      slug: c.str("slug").notNull(),
      key: c.str("key").notNull(),
      value: c.json<{ value: unknown }>("value").notNull(),
      updated_at: c.time("updated_at").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.slug, t.key] })],
  );

  /** The bytes are in the object store under `object_key`, another one with every write: a blob never changes under a reader. */
  const plugin_blobs = c.table(
    "plugin_blobs",
    {
      slug: c.str("slug").notNull(),
      key: c.str("key").notNull(),
      mime: c.str("mime").notNull(),
      size: c.big("size").notNull(),
      sha256: c.str("sha256").notNull(),
      object_key: c.str("object_key").notNull(),
      updated_at: c.time("updated_at").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.slug, t.key] })],
  );

  return { plugin_state, plugin_blobs };
}
