import type { Engine } from "#shared/protocol/schema/engine.ts";
import type { ColumnKit } from "../kit.pg.ts";

/**
 * Engines and what scripts are made of and leave behind (rules/engines#engine-record, rules/library#registry-calls,
 * rules/scripts#attempts). Times epoch ms.
 */
export function defineLibraryTables(c: ColumnKit) {
  /** AI backends. The key itself is only in the hub's environment. At most one row is promoted. */
  const engines = c.table("engines", {
    slug: c.str("slug").primaryKey(),
    name: c.str("name").notNull(),
    kind: c.str("kind").$type<Engine["kind"]>().notNull(),
    protocol: c.str("protocol").notNull(),
    endpoint: c.str("endpoint").notNull(),
    model: c.str("model").notNull(),
    timeout_s: c.float("timeout_s").notNull(),
    supports_tools: c.bool("supports_tools").notNull(),
    use_for_codegen: c.bool("use_for_codegen").notNull(),
    api_key_env: c.str("api_key_env"),
    notes: c.str("notes").notNull(),
    promoted: c.bool("promoted").notNull(),
    updated_at: c.time("updated_at").notNull(),
  });

  const presets = c.table("presets", {
    slug: c.str("slug").primaryKey(),
    name: c.str("name").notNull(),
    description: c.str("description").notNull(),
    options: c.json<Record<string, unknown>>("options").notNull(),
    created_at: c.time("created_at").notNull(),
    updated_at: c.time("updated_at").notNull(),
  });

  const skills = c.table("skills", {
    slug: c.str("slug").primaryKey(),
    name: c.str("name").notNull(),
    description: c.str("description").notNull(),
    host_pattern: c.str("host_pattern").notNull(),
    code: c.str("code").notNull(),
    tags: c.json<string[]>("tags").notNull(),
    created_by: c.str("created_by").$type<"operator" | "ai">().notNull(),
    created_from_job: c.str("created_from_job"),
    created_at: c.time("created_at").notNull(),
    updated_at: c.time("updated_at").notNull(),
  });

  const conventions = c.table("conventions", {
    slug: c.str("slug").primaryKey(),
    title: c.str("title").notNull(),
    text: c.str("text").notNull(),
    enabled: c.bool("enabled").notNull(),
    created_at: c.time("created_at").notNull(),
    updated_at: c.time("updated_at").notNull(),
  });
  return { engines, presets, skills, conventions };
}
