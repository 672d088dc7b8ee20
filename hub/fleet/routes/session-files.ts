import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { contentDisposition, safeMime } from "#hub/platform/http/file-response.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, ok, streamed } from "#hub/platform/http/openapi-parts.ts";
import { NetworkLog, SessionFileList } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { askBridge } from "../sessions/bridge.ts";
import { readPreview } from "../sessions/preview.ts";
import { filePath, listFiles, readNetwork } from "../sessions/read-sessions.ts";
import { SessionFileParams, SessionParams } from "./params.ts";
import { RELAYED, sessionOf } from "./session-call.ts";

const tags = ["sessions"];
const PASSED_HEADERS = ["content-length", "content-range", "accept-ranges", "last-modified"];
const RAW = { type: "string", format: "binary" } as const;

const network = createRoute({
  method: "get",
  path: "/sessions/{sid}/network",
  owner: "session",
  tags,
  operationId: "getSessionNetwork",
  summary: "Read the network log",
  description: "`since` is the `next` of the previous answer; 0 reads from the start.",
  access: "view",
  request: {
    params: SessionParams,
    query: z.object({
      since: z.coerce
        .number()
        .int()
        .min(0)
        .openapi({ param: { name: "since", in: "query" }, type: "integer" })
        .default(0),
    }),
  },
  responses: { ...ok(NetworkLog), ...fails(...RELAYED) },
});
const files = createRoute({
  method: "get",
  path: "/sessions/{sid}/files",
  owner: "session",
  tags,
  operationId: "listSessionFiles",
  summary: "List what the browser has downloaded",
  description: "With size and state; downloads in progress are listed too.",
  access: "view",
  request: { params: SessionParams },
  responses: { ...ok(SessionFileList), ...fails(...RELAYED) },
});
const file = createRoute({
  method: "get",
  path: "/sessions/{sid}/files/{name}",
  owner: "session",
  tags,
  operationId: "getSessionFile",
  summary: "Read a downloaded file",
  description:
    "As an attachment, with Range. `name` is the one in the list, or the guid by which CDP names the download.",
  access: "view",
  request: { params: SessionFileParams },
  responses: {
    200: bytes("The file, as an attachment"),
    206: bytes("The requested range"),
    ...fails(404, 502),
  },
});
const preview = createRoute({
  method: "get",
  path: "/sessions/{sid}/preview.jpg",
  owner: "session",
  tags,
  operationId: "getSessionPreview",
  summary: "Read a small screenshot, a few seconds old at most",
  description: "Its age is at most the setting preview_interval_s (2 s).",
  access: "view",
  request: { params: SessionParams },
  responses: {
    200: { description: "The screenshot", content: { "image/jpeg": { schema: RAW } } },
    ...fails(...RELAYED),
  },
});

/** Network log, downloads and preview of a session (rules/sessions#network-log, rules/sessions#downloads-of-a-session). */
export function sessionFileRoutes(ctx: FleetContext) {
  return newApp()
    .openapi(network, async (c) =>
      c.json(await readNetwork(ctx, sessionOf(ctx, c), c.req.valid("query").since), 200),
    )
    .openapi(files, async (c) => c.json(await listFiles(ctx, sessionOf(ctx, c)), 200))
    .openapi(file, async (c) => {
      const { name } = c.req.valid("param");
      const range = c.req.header("range");
      const body = await askBridge(ctx, sessionOf(ctx, c), filePath(name), {
        headers: range === undefined ? {} : { Range: range },
        signal: c.req.raw.signal,
      });
      return streamed(
        new Response(body.body, { status: body.status, headers: headersOf(body, name) }),
      );
    })
    .openapi(preview, async (c) => {
      const jpeg = await readPreview(ctx, sessionOf(ctx, c));
      const headers = { "Content-Type": "image/jpeg", "Cache-Control": "no-store" };
      return streamed(new Response(new Uint8Array(jpeg), { headers }));
    });
}

/** A download is a stranger's file: it is saved, never shown in the hub's origin. */
function headersOf({ headers }: Response, name: string): Headers {
  const out = new Headers({
    "Content-Type": safeMime(headers.get("content-type") ?? ""),
    "Content-Disposition": contentDisposition(name, "attachment"),
    "Content-Security-Policy": "sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
  });
  for (const header of PASSED_HEADERS) {
    const value = headers.get(header);
    if (value !== null) out.set(header, value);
  }
  return out;
}
