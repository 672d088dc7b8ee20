import { z } from "@hono/zod-openapi";

/** GET /api/v1/schedules/preview: when a cron expression is due, before it is saved (rules/pipeline-schedules#next-times). */
export const SchedulePreviewQuery = z.object({
  schedule: z.string().min(1).max(200).openapi({ example: "30 9 * * 1-5" }),
  schedule_tz: z.string().max(100).default("UTC").openapi({ example: "Europe/Berlin" }),
  n: z.coerce.number().int().min(1).max(50).default(5),
});
export type SchedulePreviewQuery = z.infer<typeof SchedulePreviewQuery>;

/** `local`: what a clock in the zone shows at that moment; `offset`: the zone's distance from UTC then. */
export const SchedulePreview = z
  .object({
    schedule: z.string(),
    schedule_tz: z.string(),
    words: z.string(),
    next_times: z.array(z.object({ at: z.string(), local: z.string(), offset: z.string() })),
  })
  .openapi("SchedulePreview");
export type SchedulePreview = z.infer<typeof SchedulePreview>;
