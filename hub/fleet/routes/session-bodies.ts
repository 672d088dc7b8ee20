import { z } from "@hono/zod-openapi";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { fileResponse } from "#hub/platform/http/file-response.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, NOT_MODIFIED, ok } from "#hub/platform/http/openapi-parts.ts";
import { invalid, notFound } from "#shared/kit/errors.ts";
import type { FleetContext } from "../context.ts";
import { bodyOf, storeBody } from "../recordings/bodies.ts";
import { SessionBodyParams, SessionOfWorkerParams } from "./params.ts";
import { sessionOfWorker } from "./worker-recordings.ts";
import { RULES, StoredFile, UploadHeaders, uploadOf } from "./worker-uploads.ts";

const read = createRoute({
  method: "get",
  path: "/sessions/{sid}/bodies/{sha256}",
  access: "view",
  owner: "session",
  tags: ["sessions"],
  operationId: "getSessionBody",
  summary: "Read a body that a session's pages received",
  description:
    "Of sessions that were opened with capture, also when they have ended. Their HAR names each body as `content._body`. With ETag, Range and If-None-Match.",
  request: { params: SessionBodyParams },
  responses: {
    200: bytes("The body, with its captured type"),
    206: bytes("The requested range"),
    ...NOT_MODIFIED,
    ...fails(404, 416, 422, 503),
  },
});
const store = createRoute({
  method: "put",
  path: "/workers/{worker_id}/sessions/{session_id}/bodies",
  ...RULES,
  changes: [],
  tags: ["worker uploads"],
  operationId: "uploadSessionBody",
  summary: "Upload a body that a session's pages received",
  description:
    "With Authorization: Bearer <upload_token> of the link's registration, while the session's lane is not given back, and once its recording has begun.",
  request: {
    params: SessionOfWorkerParams,
    query: z.object({ mime: z.string().max(255).openapi({ description: "Its captured type" }) }),
    headers: UploadHeaders,
    body: { required: true, ...bytes("The body") },
  },
  responses: { ...ok(StoredFile), ...fails(400, 401, 404, 413, 422, 503) },
});

/** Bodies that a session's pages received (rules/recordings#bodies-of-a-session). */
export function sessionBodyRoutes(ctx: FleetContext) {
  const app = newApp();
  describeRoute(app, store);
  return app
    .openapi(read, async (c) => {
      const { sid, sha256 } = c.req.valid("param");
      const { key, mime, size } = await bodyOf(ctx, sid, sha256);
      const answer = await fileResponse(c, {
        name: sha256,
        mime,
        size,
        sha256,
        read: (range) => ctx.objects.read(key, range),
        file: async () => (await ctx.objects.localFile?.(key)) ?? null,
      });
      if (!answer) throw notFound("body");
      return answer;
    })
    .put("/workers/:worker_id/sessions/:session_id/bodies", access(store.rules), async (c) => {
      const { session_id } = sessionOfWorker(ctx, c);
      const mime = c.req.query("mime") ?? "";
      if (mime.length > 255) throw invalid(["query", "mime"], "must have at most 255 characters");
      const stored = await storeBody(ctx, session_id, { ...uploadOf(c), mime });
      return c.json({ name: stored.sha256, ...stored });
    });
}
