import { z } from "@hono/zod-openapi";

/** Why a process should get nothing now: a word for programs, a sentence for people. */
export const ProbeReason = z
  .object({ reason: z.string(), detail: z.string() })
  .openapi("ProbeReason");
export type ProbeReason = z.infer<typeof ProbeReason>;

/** GET /live (rules/metrics#live-and-ready). */
export const Live = z.object({ status: z.literal("live") }).openapi("Live");

/** GET /ready. */
export const Ready = z
  .object({
    ready: z.boolean(),
    reasons: z.array(ProbeReason).openapi({ description: "Empty while it is ready" }),
  })
  .openapi("Ready");

/** GET /pressure (rules/metrics#pressure). */
export const Pressure = z
  .object({
    is_available: z
      .boolean()
      .openapi({ description: "Whether what is submitted now would begin at once" }),
    reasons: z.array(ProbeReason).openapi({ description: "Why not; empty while it is available" }),
    running: z.int().openapi({ description: "Lanes with a job or a session; claimed tasks" }),
    max_running: z
      .int()
      .nullable()
      .openapi({ description: "Lanes that can be used; null for tasks, whose slots workers have" }),
    queued: z.int().openapi({ description: "Queued jobs, or tasks that could run now" }),
    oldest_queued_s: z
      .number()
      .nullable()
      .openapi({ description: "How long the oldest of them has waited; null without one" }),
    workers: z.int().openapi({ description: "Connected workers" }),
    at: z.string(),
  })
  .openapi("Pressure");
export type Pressure = z.infer<typeof Pressure>;
