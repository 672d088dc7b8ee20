import { access } from "#hub/platform/http/access.ts";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { keyedCall } from "#hub/platform/idempotency/keyed-call.ts";
import {
  DeployList,
  DeployQuery,
  DeployStarted,
  StartDeploy,
} from "#shared/protocol/schema/operations.ts";
import type { PipelineContext } from "../context.ts";
import { listDeploys } from "../operations/deploy.ts";

const path = "/api/v1/admin/deploy";
const tags = ["admin"];

const routes = {
  start: createRoute({
    method: "post",
    path,
    tags,
    access: "admin",
    changes: ["v1/admin"],
    operationId: "startDeploy",
    summary: "Run the configured deploy command for a target; one at a time (administrator)",
    description:
      "Answers immediately; 409 while another deploy runs. The output is in the history.",
    request: json(StartDeploy, { target: "production", args: ["--fast"] }),
    responses: {
      202: {
        ...ok(DeployStarted)[200],
        description: "Started; its history entry shows the progress",
      },
      ...fails(400, 401, 403, 409, 413, 415, 422, 429),
    },
  }),
  list: createRoute({
    method: "get",
    path,
    tags,
    access: "admin",
    operationId: "listDeploys",
    summary: "Deploys with their output, newest first (administrator)",
    description:
      "With exit code and duration; for a running deploy, the output so far. `next_cursor` is the `cursor` of the next page, null on the last.",
    request: { query: DeployQuery },
    responses: { ...ok(DeployList), ...fails(401, 403, 422, 429) },
  }),
};

/** The deploy action and its history (rules/pipeline-operations#deploys). */
export function deployRoutes(ctx: PipelineContext) {
  const app = newApp();
  app.on("POST", path, access(routes.start.rules), jsonBodyLimit, keyedCall(ctx));
  return app
    .openapi(routes.start, async (c) =>
      c.json({ deploy_id: await ctx.operations.deploys.start(c.req.valid("json")) }, 202),
    )
    .openapi(routes.list, async (c) => c.json(await listDeploys(ctx, c.req.valid("query")), 200));
}
