import { z } from "@hono/zod-openapi";

/** GET /health (fleet spec §2.6): `store` is the database dialect, or `error` while it does not answer. */
export const Health = z
  .object({
    status: z.enum(["ok", "degraded"]),
    store: z.string(),
    workers: z.int(),
    version: z.string(),
  })
  .openapi("Health");

/** GET /api/v1/health (pipeline spec §2.5). */
export const ControlHealth = z
  .object({ ok: z.boolean(), version: z.string() })
  .openapi("ControlHealth");

/** GET /api/v1/status (pipeline spec §2.5). `db_url` never shows a password. */
export const ControlStatus = z
  .object({ version: z.string(), mode: z.string(), db_url: z.string(), now: z.string() })
  .openapi("ControlStatus");
