import { z } from "@hono/zod-openapi";

const DEGRADABLE = ["database", "worker_registry", "object_store", "backup"] as const;

/** A part that does not work as it should, and what is wrong with it. */
export const Degraded = z
  .object({ part: z.enum(DEGRADABLE), detail: z.string() })
  .openapi("Degraded");
export type Degraded = z.infer<typeof Degraded>;

/** A hub that is stopping: it assigns nothing new, and waits for these jobs and sessions for at most this long. */
export const Stopping = z
  .object({ jobs: z.int(), sessions: z.int(), left_s: z.int() })
  .openapi("Stopping");
export type Stopping = z.infer<typeof Stopping>;

/** GET /health (rules/operations#health): `store` is the database dialect, or `error` while it does not answer. */
export const Health = z
  .object({
    status: z.enum(["ok", "degraded"]),
    store: z.string(),
    workers: z.int(),
    version: z.string(),
    degraded: z.array(Degraded).openapi({ description: "Empty while `status` is ok" }),
    stopping: Stopping.nullable().openapi({
      description:
        "While the hub is stopping: the jobs and sessions it still waits for, and for how many seconds at most; null otherwise",
    }),
  })
  .openapi("Health");
export type Health = z.infer<typeof Health>;

/** GET /api/v1/health (rules/pipeline-overview#health). */
export const ControlHealth = z
  .object({
    ok: z.boolean(),
    version: z.string(),
    degraded: z
      .array(Degraded)
      .openapi({ description: "What does not work as it should, and why" }),
  })
  .openapi("ControlHealth");

/** GET /api/v1/status (rules/pipeline-overview#status). `db_url` never shows a password. */
export const ControlStatus = z
  .object({ version: z.string(), mode: z.string(), db_url: z.string(), now: z.string() })
  .openapi("ControlStatus");
