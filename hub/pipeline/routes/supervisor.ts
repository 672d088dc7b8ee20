import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { Supervision } from "#shared/protocol/schema/supervisor.ts";
import type { PipelineContext } from "../context.ts";
import { getSupervision } from "../supervisor/read-supervision.ts";

const read = createRoute({
  method: "get",
  path: "/api/v1/workloads/{slug}/supervisor",
  access: "view",
  tags: ["workloads"],
  operationId: "getWorkloadSupervisor",
  summary: "Read what the supervisor last saw and did about a workload",
  description:
    "Every intervention is in the service logs too. All fields are null if it never had to do anything.",
  request: {
    params: z.object({
      slug: z.string().openapi({ param: { name: "slug", in: "path" }, example: "thumbnails" }),
    }),
  },
  responses: { ...ok(Supervision), ...fails(404) },
});

/** What the supervisor did (rules/pipeline-supervision#read-what-it-did). */
export const supervisorRoutes = (ctx: Pick<PipelineContext, "db">) =>
  newApp().openapi(read, async (c) =>
    c.json(await getSupervision(ctx, c.req.valid("param").slug), 200),
  );
