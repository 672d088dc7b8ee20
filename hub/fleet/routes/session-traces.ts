import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { fileResponse } from "#hub/platform/http/file-response.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, NOT_MODIFIED, ok } from "#hub/platform/http/openapi-parts.ts";
import { notFound } from "#shared/kit/errors.ts";
import { JOB_DOCUMENTS } from "#shared/protocol/documents.ts";
import type { FleetContext } from "../context.ts";
import { sessionTraceOf, storeSessionTrace } from "../sessions/traces.ts";
import { SessionOfWorkerParams, SessionParams } from "./params.ts";
import { sessionOfWorker } from "./worker-recordings.ts";
import { RULES, StoredFile, UploadHeaders, uploadOf } from "./worker-uploads.ts";

const read = createRoute({
  method: "get",
  path: "/sessions/{sid}/trace.zip",
  access: "view",
  owner: "session",
  tags: ["sessions"],
  operationId: "getSessionTrace",
  summary: "Download the Playwright trace of a session that has ended",
  description:
    "For `npx playwright show-trace`. Of sessions that were opened with trace, a few seconds after their end; 404 says what there is instead. Known secrets are masked in its text; pictures show what the page showed.",
  request: { params: SessionParams },
  responses: {
    200: bytes("The trace, as an attachment"),
    206: bytes("The requested range"),
    ...NOT_MODIFIED,
    ...fails(404, 416, 503),
  },
});
const store = createRoute({
  method: "put",
  path: "/workers/{worker_id}/sessions/{session_id}/trace",
  ...RULES,
  changes: [],
  tags: ["worker uploads"],
  operationId: "uploadSessionTrace",
  summary: "Upload the Playwright trace of a session",
  description:
    "With Authorization: Bearer <upload_token> of the link's registration, while the session's lane is not given back.",
  request: {
    params: SessionOfWorkerParams,
    headers: UploadHeaders,
    body: { required: true, ...bytes("The trace") },
  },
  responses: { ...ok(StoredFile), ...fails(400, 401, 404, 413, 422, 503) },
});

/** The Playwright traces of sessions (rules/traces). */
export function sessionTraceRoutes(
  ctx: Pick<FleetContext, "objects" | "db" | "links" | "awaited">,
) {
  const app = newApp();
  describeRoute(app, store);
  return app
    .openapi(read, async (c) => {
      const { sid } = c.req.valid("param");
      const { key, ...found } = await sessionTraceOf(ctx, sid);
      const answer = await fileResponse(c, {
        name: `flotilla-${sid}-trace.zip`,
        mime: JOB_DOCUMENTS["trace.zip"].mime,
        ...found,
        read: (range) => ctx.objects.read(key, range),
        file: async () => (await ctx.objects.localFile?.(key)) ?? null,
      });
      if (!answer) throw notFound("trace");
      return answer;
    })
    .put("/workers/:worker_id/sessions/:session_id/trace", access(store.rules), async (c) => {
      const { session_id } = sessionOfWorker(ctx, c);
      const stored = await storeSessionTrace(ctx, session_id, uploadOf(c));
      return c.json({ name: "trace.zip", ...stored });
    });
}
