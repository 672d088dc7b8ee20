import { z } from "@hono/zod-openapi";

const DEGRADABLE = ["database", "worker_registry", "object_store", "disk", "backup"] as const;

/** A part that does not work as it should, and what is wrong with it. */
export const Degraded = z
  .object({ part: z.enum(DEGRADABLE), detail: z.string() })
  .openapi("Degraded");
export type Degraded = z.infer<typeof Degraded>;

/** Of the disks that the hub writes to, the one that has least beside its reserve (rules/storage#disk-reserve). */
export const DiskHealth = z
  .object({
    status: z.enum(["ok", "degraded"]).openapi({
      description: "`degraded`: the disk is short, and no new work is taken",
    }),
    free_bytes: z.number(),
    reserve_bytes: z.number().openapi({ description: "What SVC_DISK_RESERVE_BYTES keeps free" }),
  })
  .openapi("DiskHealth");
export type DiskHealth = z.infer<typeof DiskHealth>;

const disk = DiskHealth.nullable().openapi({
  description:
    "Of the disks that the hub writes to, the one that has least beside its reserve; null where SVC_DISK_RESERVE_BYTES is 0",
});

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
    lanes: z.object({ total: z.int(), busy: z.int() }).openapi({
      description: "Lanes of those workers, and how many of them a job or a session has",
    }),
    version: z.string(),
    degraded: z.array(Degraded).openapi({ description: "Empty while `status` is ok" }),
    disk,
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
    disk,
  })
  .openapi("ControlHealth");

/** GET /api/v1/status (rules/pipeline-overview#status). `db_url` never shows a password. */
export const ControlStatus = z
  .object({ version: z.string(), mode: z.string(), db_url: z.string(), now: z.string() })
  .openapi("ControlStatus");
