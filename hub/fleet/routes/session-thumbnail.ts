import { createRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, streamed } from "#hub/platform/http/openapi-parts.ts";
import { JOB_DOCUMENTS } from "#shared/protocol/documents.ts";
import type { FleetContext } from "../context.ts";
import type { RecordingsContext } from "../recordings/runs.ts";
import { sessionThumbnail } from "../recordings/thumbnail/thumbnails.ts";
import { SessionParams } from "./params.ts";
import { PICTURE_HEADERS } from "./picture-headers.ts";

/** As the small pictures of jobs are. */
const { mime } = JOB_DOCUMENTS["thumbnail.webp"];

const read = createRoute({
  method: "get",
  path: "/sessions/{sid}/thumbnail.webp",
  access: "view",
  owner: "session",
  tags: ["sessions"],
  operationId: "getSessionThumbnail",
  summary: "Read a small picture of a session that has ended",
  description:
    "What its recording shows last, at most 320 pixels wide. 404 where there is none: `thumbnail_href` of its record says so.",
  request: { params: SessionParams },
  responses: {
    200: {
      description: "The picture",
      content: { [mime]: { schema: { type: "string", format: "binary" } as const } },
    },
    ...fails(404, 503),
  },
});

/** The small pictures of sessions that have ended (rules/recordings#the-small-picture-of-a-session). */
export function sessionThumbnailRoutes(
  ctx: RecordingsContext & Pick<FleetContext, "thumbnail_turns">,
) {
  return newApp().openapi(read, async (c) => {
    const webp = await sessionThumbnail(ctx, c.req.valid("param").sid);
    const headers = { "Content-Type": mime, ...PICTURE_HEADERS };
    return streamed(new Response(new Uint8Array(webp), { headers }));
  });
}
