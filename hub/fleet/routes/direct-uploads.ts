import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import {
  DirectUpload,
  DirectUploadBody,
  DirectUploadDone,
} from "#shared/protocol/schema/direct-upload.ts";
import type { FleetContext } from "../context.ts";
import { beginDirectUpload, endDirectUpload } from "../jobs/direct-uploads.ts";
import { countUpload } from "../metrics/count-upload.ts";
import { BatchParams, DirectUploadParams } from "./params.ts";
import { leaseOf, RULES, StoredFile, UploadHeaders } from "./worker-uploads.ts";

const tags = ["worker uploads"];
const headers = UploadHeaders.pick({ "x-lease-token": true });
const description = "With Authorization: Bearer <upload_token> of the link's registration.";
const BODY = {
  size: 5_242_880,
  sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
};
const DONE = {
  ...BODY,
  name: "film.mp4",
  kind: "video" as const,
  mime: "video/mp4",
  ext: "mp4",
  source_url: "https://example.org/film.mp4",
  page_url: "https://example.org/",
  frame_url: "https://example.org/",
  status: 200,
  from_cache: false,
  from_service_worker: false,
  partial: false,
  ranges: [],
};

const begin = createRoute({
  method: "post",
  path: "/workers/{worker_id}/jobs/{job_id}/direct-uploads",
  ...RULES,
  changes: [],
  tags,
  operationId: "startDirectUpload",
  summary: "Ask for permission to put a captured body into the object store",
  description,
  middleware: [jsonBodyLimit],
  request: { params: BatchParams, headers, ...json(DirectUploadBody, BODY) },
  responses: { ...ok(DirectUpload), ...fails(400, 401, 404, 409, 413, 415, 422) },
});
const end = createRoute({
  method: "put",
  path: "/workers/{worker_id}/jobs/{job_id}/direct-uploads/{upload_id}",
  ...RULES,
  tags,
  operationId: "finishDirectUpload",
  summary: "Report that the body is in the object store",
  description: `${description} The body is checked and becomes an asset.`,
  middleware: [jsonBodyLimit],
  request: { params: DirectUploadParams, headers, ...json(DirectUploadDone, DONE) },
  responses: { ...ok(StoredFile), ...fails(400, 401, 404, 409, 413, 415, 422) },
});

/** Bodies that workers put into the object store themselves (SVC_DIRECT_UPLOADS). */
export function directUploadRoutes(ctx: FleetContext) {
  return newApp()
    .openapi(begin, async (c) => {
      const held = leaseOf(ctx, c);
      return c.json(await beginDirectUpload(ctx, held, c.req.valid("json")), 200);
    })
    .openapi(end, async (c) => {
      const held = leaseOf(ctx, c);
      const { upload_id } = c.req.valid("param");
      const stored = endDirectUpload(ctx, held, upload_id, c.req.valid("json"));
      return c.json(await countUpload(ctx, "direct", stored), 200);
    });
}
