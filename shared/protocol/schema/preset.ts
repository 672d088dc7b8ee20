import { z } from "@hono/zod-openapi";
import { RegistrySlug } from "./engine.ts";
import { NextCursor } from "./page.ts";

/**
 * Body of PUT /presets/{slug} (rules/library#presets). `options`: some of JobOptions, which a job's own options
 * override.
 */
export const PutPreset = z
  .strictObject({
    slug: RegistrySlug.optional(),
    name: z.string().max(200).default(""),
    description: z.string().max(20_000).default(""),
    options: z.record(z.string(), z.unknown()).default({}),
  })
  .openapi("PutPreset");
export type PutPreset = z.infer<typeof PutPreset>;

/** Named options for POST /jobs. */
export const Preset = z
  .object({
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    options: z.record(z.string(), z.unknown()),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .openapi("Preset");
export type Preset = z.infer<typeof Preset>;
export const PresetList = z
  .object({ presets: z.array(Preset), ...NextCursor })
  .openapi("PresetList");
