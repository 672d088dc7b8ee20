import { z } from "@hono/zod-openapi";
import { LIST_LIMIT } from "../limits.ts";
import { NextCursor } from "./page.ts";
import { ExecutorType, Slug } from "./workload.ts";

/** Plugins with their state and blobs (rules/pipeline-plugins#manifest). */

/** Size of a blob (rules/pipeline-plugins#blobs). */
export const MAX_BLOB_BYTES = 5 * 1024 * 1024;
/** Size of a value as JSON text (rules/pipeline-plugins#state). */
export const MAX_STATE_BYTES = 1024 * 1024;
/** What a plugin's folder may hold; its archive travels to every worker. */
export const PLUGIN_LIMITS = { max_files: 10_000, max_bytes: 128 * 1024 * 1024 } as const;
/** Keys may hold slashes; they name no file. */
export const PluginKey = z
  .string()
  .min(1)
  .max(500)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  .regex(/^[^\u0000-\u001f\u007f]+$/, "must not contain control characters");

/** `plugin.json` of a plugin; `web`: folder of its static files. */
export const PluginManifest = z
  .object({
    slug: Slug,
    name: z.string().min(1).max(200),
    version: z.string().min(1).max(64),
    description: z.string().max(10_000).default(""),
    executor: z
      .object({
        type: ExecutorType,
        module: z.string().max(1_000).optional(),
        argv: z.array(z.string().max(32_768)).min(1).max(1_000).optional(),
        /** For fleet_fetch: options of the jobs; the workload's own options override them. */
        options: z.record(z.string(), z.unknown()).optional(),
        /** Whether its tasks run jobs of the fleet themselves. */
        fleet: z.boolean().optional(),
        /** JSON Schema of the workload's init_kwargs. */
        init_schema: z.record(z.string(), z.unknown()).optional(),
      })
      .optional(),
    web: z
      .string()
      .max(200)
      .regex(/^[^/.\\][^/\\]*$/, "must be the name of a folder next to plugin.json")
      .optional(),
  })
  .openapi("PluginManifest");
export type PluginManifest = z.infer<typeof PluginManifest>;

/** `manifest` is null, and `errors` say why, when plugin.json cannot be used. */
export const Plugin = z
  .object({
    slug: z.string(),
    path: z.string(),
    manifest: PluginManifest.nullable(),
    /** Hash of what the folder holds, however it is packed; null when the plugin has errors. */
    sha256: z.string().nullable(),
    errors: z.array(z.string()),
  })
  .openapi("Plugin");
export type Plugin = z.infer<typeof Plugin>;
export const PluginList = z
  .object({ plugins: z.array(Plugin), ...NextCursor })
  .openapi("PluginList");

/** Query of the lists of a plugin's state and blobs: keys that begin with `prefix`, in the database's order. */
export const PluginKeysQuery = z.object({
  prefix: PluginKey.or(z.literal("")).default("").openapi({ example: "profiles/" }),
  limit: z.coerce.number().int().min(1).max(LIST_LIMIT.max).default(LIST_LIMIT.default),
  cursor: PluginKey.optional(),
});
export type PluginKeysQuery = z.infer<typeof PluginKeysQuery>;

export const PluginState = z
  .object({ key: z.string(), value: z.unknown(), updated_at: z.string() })
  .openapi("PluginState");
export type PluginState = z.infer<typeof PluginState>;
/** Without the values, which are large. */
export const PluginStateList = z
  .object({
    states: z.array(z.object({ key: z.string(), updated_at: z.string() })),
    next_cursor: z.string().nullable(),
  })
  .openapi("PluginStateList");

export const PluginBlob = z
  .object({
    key: z.string(),
    size: z.int(),
    mime: z.string(),
    sha256: z.string(),
    updated_at: z.string(),
  })
  .openapi("PluginBlob");
export type PluginBlob = z.infer<typeof PluginBlob>;
export const PluginBlobList = z
  .object({ blobs: z.array(PluginBlob), next_cursor: z.string().nullable() })
  .openapi("PluginBlobList");
