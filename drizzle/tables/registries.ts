import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type { BrowserOptions } from "#shared/protocol/schema/browser-options.ts";
import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import type { LoginRecipe, PopupPolicy, Recipe } from "#shared/protocol/schema/recipe.ts";
import type { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import type { WorkerStatus } from "#shared/protocol/schema/worker.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** What is known of workers of lanes, of hosts and of profiles. Times epoch ms. */
export function defineRegistryTables(c: ColumnKit) {
  /** What must outlive a worker's registration: the operator's status and the last time it was seen. */
  const workers = c.table("workers", {
    worker_id: c.str("worker_id").primaryKey(),
    status: c.str("status").$type<WorkerStatus>().notNull(),
    address: c.str("address").notNull(),
    hostname: c.str("hostname").notNull(),
    version: c.str("version").notNull(),
    first_seen_at: c.time("first_seen_at").notNull(),
    last_seen_at: c.time("last_seen_at").notNull(),
  });

  /** Host settings (rules/hosts#host-record). Cookie values are kept here and never leave but to a worker. */
  const hosts = c.table("hosts", {
    host: c.str("host").primaryKey(),
    recipes: c.json<Recipe[]>("recipes").notNull(),
    login_recipe: c.json<LoginRecipe>("login_recipe"),
    popup_policy: c.str("popup_policy").$type<PopupPolicy>().notNull(),
    notes: c.str("notes").notNull(),
    cookies: c.json<StoredCookie[]>("cookies").notNull(),
    proxy: c.json<ProxyOption>("proxy"),
    record: c.str("record").$type<RecordMode>(),
    browser_options: c.json<BrowserOptions>("browser_options"),
    updated_at: c.time("updated_at").notNull(),
  });

  /** Browser profile (rules/profiles#profile-record); its archive is `profiles/p-<name>/<sha256>.tar.gz` in the store. */
  const profiles = c.table("profiles", {
    name: c.str("name").primaryKey(),
    size: c.big("size").notNull(),
    files: c.int("files").notNull(),
    sha256: c.str("sha256").notNull(),
    is_default: c.bool("is_default").notNull(),
    source_browser: c.str("source_browser"),
    created_at: c.time("created_at").notNull(),
    updated_at: c.time("updated_at").notNull(),
  });

  return { workers, hosts, profiles };
}
