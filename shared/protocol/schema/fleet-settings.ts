import { z } from "@hono/zod-openapi";

/**
 * GET and PATCH /settings (rules/settings#read-settings, rules/settings#change-settings): the values in force by key,
 * and the JSON schema of what PATCH takes.
 */
export const FleetSettings = z
  .object({
    settings: z.record(z.string(), z.unknown()),
    schema: z.record(z.string(), z.unknown()),
  })
  .openapi("FleetSettings");
export type FleetSettings = z.infer<typeof FleetSettings>;

/** Body of PATCH /settings: known keys only; null restores the default. */
export const PatchFleetSettings = z.record(z.string(), z.unknown()).openapi("PatchFleetSettings");
export type PatchFleetSettings = z.infer<typeof PatchFleetSettings>;
