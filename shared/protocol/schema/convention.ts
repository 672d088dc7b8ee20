import { z } from "@hono/zod-openapi";
import { RegistrySlug } from "./engine.ts";
import { NextCursor } from "./page.ts";

/** Body of PUT /conventions/{slug} (rules/library#conventions): a house rule given to the planner while it is enabled. */
export const PutConvention = z
  .strictObject({
    slug: RegistrySlug.optional(),
    title: z.string().max(200).default(""),
    text: z.string().min(1).max(20_000),
    enabled: z.boolean().default(true),
  })
  .openapi("PutConvention");
export type PutConvention = z.infer<typeof PutConvention>;

export const Convention = z
  .object({
    slug: z.string(),
    title: z.string(),
    text: z.string(),
    enabled: z.boolean(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .openapi("Convention");
export type Convention = z.infer<typeof Convention>;
export const ConventionList = z
  .object({ conventions: z.array(Convention), ...NextCursor })
  .openapi("ConventionList");
