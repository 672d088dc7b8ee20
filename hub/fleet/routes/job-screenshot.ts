import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { Asset } from "#shared/protocol/schema/asset.ts";
import { ScreenshotRequest } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { captureScreenshot } from "../jobs/screenshot.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, JobParams } from "./params.ts";

/** POST /jobs/{id}/screenshot/capture (rules/documents#screenshot-of-a-running-job). */
export function jobScreenshotRoutes(ctx: FleetContext) {
  const capture = createRoute({
    method: "post",
    path: "/jobs/{id}/screenshot/capture",
    access: "operate",
    owner: "job",
    changes: ["jobs"],
    tags: ["job files"],
    operationId: "captureJobScreenshot",
    summary: "Take a screenshot of a running job's page and store it as an asset",
    description: "409 when no lane is bound to the job: it is queued, or it has ended.",
    middleware: [jsonBodyLimit, idempotent(ctx)],
    request: {
      params: JobParams,
      ...json(ScreenshotRequest, { format: "jpeg", quality: 70, full_page: true }),
      headers: IdempotencyHeader,
    },
    responses: {
      ...ok(Asset, "The stored screenshot"),
      ...fails(400, 404, 409, 413, 415, 422, 502, 503, 504),
    },
  });
  return newApp().openapi(capture, async (c) => {
    // The call has its own deadline; Bun would cut a quiet connection before it.
    c.env.server?.timeout(c.req.raw, 0);
    const { id } = c.req.valid("param");
    const asset = await captureScreenshot(ctx, id, c.req.valid("json"), c.req.raw.signal);
    return c.json(asset, 200);
  });
}
