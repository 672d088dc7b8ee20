import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { contentDisposition, safeMime } from "#hub/platform/http/file-response.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, json, ok, streamed } from "#hub/platform/http/openapi-parts.ts";
import {
  CookieList,
  NetworkLog,
  PutCookies,
  SessionFileList,
} from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { askBridge } from "../sessions/bridge.ts";
import { readPreview } from "../sessions/preview.ts";
import {
  clearCookies,
  filePath,
  listFiles,
  putCookies,
  readCookies,
  readNetwork,
} from "../sessions/read.ts";
import { requireSession } from "../sessions/registry.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, SessionFileParams, SessionParams } from "./params.ts";
import { thisSession } from "./sessions.ts";

const tags = ["sessions"];
/** The errors of a call that needs the worker. */
const RELAYED = [404, 422, 502, 503, 504] as const;
const PASSED_HEADERS = ["content-length", "content-range", "accept-ranges", "last-modified"];

/**
 * Cookies, network log, downloads and preview of a session (rules/sessions#cookies-of-a-session, rules/sessions#network-log,
 * rules/sessions#downloads-of-a-session).
 */
export function sessionFileRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx), thisSession(ctx)];
  const route = <M extends "get" | "put" | "delete", P extends string>(
    method: M,
    path: P,
    texts: { operationId: string; summary: string; description: string },
  ) => ({ method, path, owner: "session" as const, tags, ...texts });
  const params = { params: SessionParams };
  const getCookies = createRoute({
    ...route("get", "/sessions/{sid}/cookies", {
      operationId: "listSessionCookies",
      summary: "List the cookies, with their values",
      description: "In Playwright's shape. Anyone who knows the session's id may read them.",
    }),
    access: "operate",
    request: params,
    responses: { ...ok(CookieList), ...fails(...RELAYED) },
  });
  const setCookies = createRoute({
    ...route("put", "/sessions/{sid}/cookies", {
      operationId: "putSessionCookies",
      summary: "Add or replace cookies; the others stay",
      description: "Each needs `url`, or `domain` and `path`.",
    }),
    access: "operate",
    changes: ["sessions"],
    middleware,
    request: {
      ...params,
      ...json(PutCookies, {
        cookies: [{ name: "lang", value: "en", url: "https://example.com/" }],
      }),
      headers: IdempotencyHeader,
    },
    responses: { ...ok(CookieList), ...fails(400, 409, 413, 415, ...RELAYED) },
  });
  const deleteCookies = createRoute({
    ...route("delete", "/sessions/{sid}/cookies", {
      operationId: "clearSessionCookies",
      summary: "Delete every cookie",
      description: "Deletes them from the session's browser; cookies stored for hosts stay.",
    }),
    access: "operate",
    changes: ["sessions"],
    middleware,
    request: { ...params, headers: IdempotencyHeader },
    responses: { 204: { description: "Deleted" }, ...fails(409, 413, ...RELAYED) },
  });
  const network = createRoute({
    ...route("get", "/sessions/{sid}/network", {
      operationId: "getSessionNetwork",
      summary: "Read the network log",
      description: "`since` is the `next` of the previous answer; 0 reads from the start.",
    }),
    access: "view",
    request: {
      ...params,
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
    ...route("get", "/sessions/{sid}/files", {
      operationId: "listSessionFiles",
      summary: "List what the browser has downloaded",
      description: "With size and state; downloads in progress are listed too.",
    }),
    access: "view",
    request: params,
    responses: { ...ok(SessionFileList), ...fails(...RELAYED) },
  });
  const file = createRoute({
    ...route("get", "/sessions/{sid}/files/{name}", {
      operationId: "getSessionFile",
      summary: "Read a downloaded file",
      description:
        "As an attachment, with Range. `name` is the one in the list, or the guid by which CDP names the download.",
    }),
    access: "view",
    request: { params: SessionFileParams },
    responses: {
      200: bytes("The file, as an attachment"),
      206: bytes("The requested range"),
      ...fails(404, 502),
    },
  });
  const preview = createRoute({
    ...route("get", "/sessions/{sid}/preview.jpg", {
      operationId: "getSessionPreview",
      summary: "Read a small screenshot, a few seconds old at most",
      description: "Its age is at most the setting preview_interval_s (2 s).",
    }),
    access: "view",
    request: params,
    responses: {
      200: { description: "The screenshot", content: { "image/jpeg": { schema: RAW } } },
      ...fails(...RELAYED),
    },
  });
  const sessionOf = (c: { req: { param(name: string): string | undefined } }) =>
    requireSession(ctx, c.req.param("sid") ?? "");

  return newApp()
    .openapi(getCookies, async (c) => c.json(await readCookies(ctx, sessionOf(c)), 200))
    .openapi(setCookies, async (c) =>
      c.json(await putCookies(ctx, sessionOf(c), c.req.valid("json")), 200),
    )
    .openapi(deleteCookies, async (c) => {
      await clearCookies(ctx, sessionOf(c));
      return c.body(null, 204);
    })
    .openapi(network, async (c) =>
      c.json(await readNetwork(ctx, sessionOf(c), c.req.valid("query").since), 200),
    )
    .openapi(files, async (c) => c.json(await listFiles(ctx, sessionOf(c)), 200))
    .openapi(file, async (c) => {
      const { name } = c.req.valid("param");
      const range = c.req.header("range");
      const body = await askBridge(ctx, sessionOf(c), filePath(name), {
        headers: range === undefined ? {} : { Range: range },
        signal: c.req.raw.signal,
      });
      return streamed(
        new Response(body.body, { status: body.status, headers: headersOf(body, name) }),
      );
    })
    .openapi(preview, async (c) => {
      const jpeg = await readPreview(ctx, sessionOf(c));
      const headers = { "Content-Type": "image/jpeg", "Cache-Control": "no-store" };
      return streamed(new Response(new Uint8Array(jpeg), { headers }));
    });
}

const RAW = { type: "string", format: "binary" } as const;

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
