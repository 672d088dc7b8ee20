import { z } from "@hono/zod-openapi";

export const DEGRADABLE = ["database", "worker_registry", "object_store", "backup"] as const;

/** A part that does not work as it should, and what is wrong with it. */
export const Degraded = z
  .object({ part: z.enum(DEGRADABLE), detail: z.string() })
  .openapi("Degraded");
export type Degraded = z.infer<typeof Degraded>;

/** GET /health (fleet spec §2.6): `store` is the database dialect, or `error` while it does not answer. */
export const Health = z
  .object({
    status: z.enum(["ok", "degraded"]),
    store: z.string(),
    workers: z.int(),
    version: z.string(),
    degraded: z.array(Degraded).openapi({ description: "Empty while `status` is ok" }),
  })
  .openapi("Health");

/** GET /api/v1/health (pipeline spec §2.5). */
export const ControlHealth = z
  .object({
    ok: z.boolean(),
    version: z.string(),
    degraded: z
      .array(Degraded)
      .openapi({ description: "What does not work as it should, and why" }),
  })
  .openapi("ControlHealth");

/** GET /api/v1/status (pipeline spec §2.5). `db_url` never shows a password. */
export const ControlStatus = z
  .object({ version: z.string(), mode: z.string(), db_url: z.string(), now: z.string() })
  .openapi("ControlStatus");
