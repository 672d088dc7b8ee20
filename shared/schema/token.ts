import { z } from "@hono/zod-openapi";

/** Each may do what those before it may. */
export const ROLES = ["viewer", "submitter", "operator", "admin"] as const;
export const Role = z.enum(ROLES);
export type Role = z.infer<typeof Role>;
