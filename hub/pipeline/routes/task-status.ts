import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { TaskStatus, TaskStatusQuery } from "#shared/protocol/schema/queue.ts";
import type { PipelineContext } from "../context.ts";
import { taskStatus } from "../tasks/task-status.ts";
import { MAX_BATCH_BYTES } from "./workload-routes.ts";

const status = createRoute({
  method: "post",
  path: "/api/v1/workloads/{slug}/tasks/status",
  access: "view",
  changes: [],
  tags: ["workloads"],
  operationId: "getTaskStatus",
  summary: "Read the state of up to 10,000 tasks",
  description:
    "`items` are those in the queue: pending, claimed or failed. The others are counted as `absent`: a task leaves the queue " +
    "when it succeeds or is removed. Changes nothing.",
  middleware: [jsonLimit(MAX_BATCH_BYTES)],
  request: {
    params: z.object({
      slug: z.string().openapi({ param: { name: "slug", in: "path" }, example: "thumbnails" }),
    }),
    ...json(TaskStatusQuery, { pks: ["page-1", "page-2"] }),
  },
  responses: { ...ok(TaskStatus), ...fails(400, 404, 409, 413, 415, 422) },
});

/** The state of many tasks at a time: clients that wait for tasks ask only for those. */
export const taskStatusRoutes = (ctx: Pick<PipelineContext, "pipeline" | "db">) =>
  newApp().openapi(status, async (c) =>
    c.json(await taskStatus(ctx, c.req.valid("param").slug, c.req.valid("json").pks), 200),
  );
