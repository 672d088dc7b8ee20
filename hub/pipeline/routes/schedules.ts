import { createRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { SchedulePreview, SchedulePreviewQuery } from "#shared/protocol/schema/schedule.ts";
import type { PipelineContext } from "../context.ts";
import { previewSchedule } from "../schedules/next-times.ts";

const preview = createRoute({
  method: "get",
  path: "/api/v1/schedules/preview",
  access: "view",
  tags: ["workloads"],
  operationId: "previewSchedule",
  summary: "When a cron expression is due",
  description:
    "In words, and its next `n` times, each in UTC and as a clock in the zone shows it. 422 for an expression or a zone that cannot be read.",
  request: { query: SchedulePreviewQuery },
  responses: { ...ok(SchedulePreview), ...fails(422) },
});

/** Schedules before they are saved (rules/pipeline-schedules#next-times). */
export const scheduleRoutes = (ctx: Pick<PipelineContext, "clock">) =>
  newApp().openapi(preview, (c) =>
    c.json(previewSchedule(c.req.valid("query"), ctx.clock.now()), 200),
  );
