import type { Context } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails } from "#hub/platform/http/openapi-parts.ts";
import { notFound } from "#shared/kit/errors.ts";
import { isSafeName } from "#shared/protocol/names.ts";
import type { FleetContext } from "../context.ts";
import { replayIndex } from "../jobs/replay-index.ts";
import { assetKey } from "../jobs/stored-files.ts";
import { BatchParams, UploadParams } from "./params.ts";
import { requireWorker } from "./worker-profiles.ts";

const tags = ["worker uploads"];
const description =
  "With Authorization: Bearer <upload_token> of the link's registration, for a job whose capture this worker was given to replay.";
const getIndex = createRoute({
  method: "get",
  path: "/workers/{worker_id}/replays/{job_id}",
  access: "worker",
  proof: "upload token",
  owner: "worker",
  tags,
  operationId: "getReplayIndex",
  summary: "What a job's capture answers, a ReplayEntry as JSON on each line",
  description,
  request: { params: BatchParams },
  responses: { 200: bytes("Lines of JSON"), ...fails(401, 404, 503) },
});
const getBody = createRoute({
  method: "get",
  path: "/workers/{worker_id}/replays/{job_id}/bodies/{name}",
  access: "worker",
  proof: "upload token",
  owner: "worker",
  tags,
  operationId: "getReplayBody",
  summary: "A body of a job's capture",
  description,
  request: { params: UploadParams },
  responses: { 200: bytes("The body as it was stored"), ...fails(401, 404, 503) },
});

/** The job that the call names, if its capture was given to the worker that calls. @throws AppError */
function replayedBy(ctx: Pick<FleetContext, "links">, c: Context): string {
  const link = requireWorker(ctx, c);
  const job_id = c.req.param("job_id") ?? "";
  if (!link.replays.has(job_id)) throw notFound("job");
  return job_id;
}

/** Captures on their way to the workers that replay them. */
export function workerReplayRoutes(ctx: Pick<FleetContext, "db" | "objects" | "links">) {
  const app = newApp();
  describeRoute(app, getIndex);
  describeRoute(app, getBody);
  return app
    .get("/workers/:worker_id/replays/:job_id", access(getIndex.rules), async (c) => {
      const row = await ctx.db.jobs.get(replayedBy(ctx, c));
      if (!row) throw notFound("job");
      const headers = { "Content-Type": "application/x-ndjson" };
      return new Response(replayIndex(ctx, row), { headers });
    })
    .get("/workers/:worker_id/replays/:job_id/bodies/:name", access(getBody.rules), async (c) => {
      const job_id = replayedBy(ctx, c);
      const name = c.req.param("name");
      const body = isSafeName(name) ? await ctx.objects.read(assetKey(job_id, name)) : null;
      if (!body) throw notFound("asset");
      return new Response(body, { headers: { "Content-Type": "application/octet-stream" } });
    });
}
