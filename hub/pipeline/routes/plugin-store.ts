import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { fileResponse, safeMime } from "#hub/platform/http/file-response.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, NOT_MODIFIED, ok } from "#hub/platform/http/openapi-parts.ts";
import { windUpWithin } from "#shared/kit/call-within.ts";
import { AppError, notFound } from "#shared/kit/errors.ts";
import {
  MAX_BLOB_BYTES,
  MAX_STATE_BYTES,
  PluginBlob,
  PluginBlobList,
  PluginKeysQuery,
  PluginState,
  PluginStateList,
} from "#shared/protocol/schema/plugin.ts";
import { Slug } from "#shared/protocol/schema/workload.ts";
import type { PipelineContext } from "../context.ts";
import { deleteBlob, getBlob, listBlobs, putBlob } from "../plugins/blobs.ts";
import {
  deleteState,
  getState,
  listState,
  putState,
  type StateCondition,
} from "../plugins/state.ts";
import { PlaceParams, PluginParams, placeOf } from "./plugin-params.ts";

const tags = ["plugins"];
const request = { params: PlaceParams };
const STATE = "/api/v1/plugins/{slug}/state/{key}";
const BLOB = "/api/v1/plugins/{slug}/blob/{key}";
/** Time to send 5 MB over a slow network; then the call ends. */
const UPLOAD_MS = 120_000;
/** Anybody may have put anything into a blob: it may be displayed, but must not run anything. */
const BLOB_CSP =
  "sandbox; default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'";

const listing = (operationId: string, what: string) => ({
  method: "get" as const,
  tags,
  operationId,
  summary: `List the ${what} of a plugin`,
  description:
    "Keys that begin with `prefix`, in order; `next_cursor` is the `cursor` of the next page, null on the last.",
  request: { params: PluginParams, query: PluginKeysQuery },
});
const states = createRoute({
  access: "view",
  ...listing("listPluginState", "state keys"),
  path: "/api/v1/plugins/{slug}/state",
  responses: { ...ok(PluginStateList), ...fails(404, 422) },
});
const blobs = createRoute({
  access: "view",
  ...listing("listPluginBlobs", "blobs"),
  path: "/api/v1/plugins/{slug}/blob",
  responses: { ...ok(PluginBlobList), ...fails(404, 422) },
});

const binary = { schema: { type: "string", format: "binary" } as const };
const byKey = {
  readState: createRoute({
    method: "get",
    path: STATE,
    access: "view",
    also: "worker",
    tags,
    operationId: "getPluginState",
    summary: "Read a state value of a plugin",
    description: "Any JSON value that the plugin or its page stored under the key.",
    request,
    responses: { ...ok(PluginState), ...fails(400, 404, 422) },
  }),
  writeState: createRoute({
    method: "put",
    path: STATE,
    access: "operate",
    also: "worker",
    changes: ["v1/plugins"],
    tags,
    operationId: "putPluginState",
    summary: "Store a state value of a plugin",
    description:
      `The body is the value: any JSON of at most ${MAX_STATE_BYTES} bytes. With If-Match and the ETag of an earlier ` +
      "answer it replaces only that version; with If-None-Match: * it is stored only if the key has no value. Slashes in the key " +
      "may be sent as / or as %2F.",
    request: {
      ...request,
      headers: z.object({
        "if-match": z.string().optional().openapi({ example: '"1767225600000"' }),
        "if-none-match": z.string().optional(),
      }),
      body: {
        required: true,
        content: { "application/json": { schema: z.unknown(), example: { words: 1200 } } },
      },
    },
    responses: { ...ok(PluginState), ...fails(400, 409, 412, 413, 415, 422, 503) },
  }),
  removeState: createRoute({
    method: "delete",
    path: STATE,
    access: "operate",
    also: "worker",
    changes: ["v1/plugins"],
    tags,
    operationId: "deletePluginState",
    summary: "Delete a state value of a plugin",
    description: "404 when there is none.",
    request,
    responses: { 204: { description: "Deleted" }, ...fails(400, 404, 409, 413, 422, 503) },
  }),
  readBlob: createRoute({
    method: "get",
    path: BLOB,
    access: "view",
    also: "worker",
    tags,
    operationId: "getPluginBlob",
    summary: "Read a blob of a plugin",
    description: "Supports ETag (sha256), Range and If-None-Match; browsers show it in a sandbox.",
    request,
    responses: {
      200: bytes("The blob, with the content type it was stored with"),
      206: bytes("The requested range"),
      ...NOT_MODIFIED,
      ...fails(400, 404, 416, 422, 503),
    },
  }),
  writeBlob: createRoute({
    method: "put",
    path: BLOB,
    access: "operate",
    also: "worker",
    changes: ["v1/plugins"],
    tags,
    operationId: "putPluginBlob",
    summary: "Store a blob of a plugin",
    description: `At most ${MAX_BLOB_BYTES} bytes. The Content-Type is kept. Slashes in the key may be sent as / or as %2F.`,
    request: {
      ...request,
      body: { required: true, description: "The blob", content: { "*/*": binary } },
    },
    responses: { ...ok(PluginBlob), ...fails(400, 409, 413, 422, 503, 504) },
  }),
  removeBlob: createRoute({
    method: "delete",
    path: BLOB,
    access: "operate",
    also: "worker",
    changes: ["v1/plugins"],
    tags,
    operationId: "deletePluginBlob",
    summary: "Delete a blob of a plugin",
    description: "404 when there is none.",
    request,
    responses: { 204: { description: "Deleted" }, ...fails(400, 404, 409, 413, 422, 503) },
  }),
};

/**
 * The body, refused immediately if its announced length is too large. It has already been read when the call has an
 * Idempotency-Key.
 */
async function announcedBody(
  c: Context,
  most: number,
  what: string,
): Promise<ReadableStream<Uint8Array> | Uint8Array> {
  const { raw } = c.req;
  if (Number(c.req.header("content-length") ?? 0) > most) {
    if (!raw.bodyUsed) await raw.body?.cancel();
    throw new AppError("too_large", `${what} ${most} bytes`);
  }
  return raw.bodyUsed ? new Uint8Array(await c.req.arrayBuffer()) : (raw.body ?? new Uint8Array());
}

/** @throws AppError not_found for an impossible plugin name */
function slugOf({ slug }: { slug: string }): string {
  if (!Slug.safeParse(slug).success) throw notFound("plugin");
  return slug;
}

function conditionOf(c: Context): StateCondition {
  const version = c.req.header("if-match")?.trim();
  if (version !== undefined && version !== "*") return { version };
  return c.req.header("if-none-match")?.trim() === "*" ? "none" : "any";
}

/**
 * The state and blobs of plugins (rules/pipeline-plugins#state-and-blob-keys). Their keys may hold slashes, which
 * OpenAPI cannot describe.
 */
export function pluginStoreRoutes(ctx: Pick<PipelineContext, "db" | "clock" | "objects">) {
  const app = newApp();
  for (const route of Object.values(byKey)) describeRoute(app, route);
  const state = "/api/v1/plugins/:slug/state/:key{[\\s\\S]+}";
  const blob = "/api/v1/plugins/:slug/blob/:key{[\\s\\S]+}";
  app.get(state, access(byKey.readState.rules), async (c) => {
    const { state: found, etag } = await getState(ctx, placeOf(c));
    return c.json(found, 200, { ETag: etag });
  });
  app.put(state, access(byKey.writeState.rules), async (c) => {
    const place = placeOf(c);
    if (!/^application\/([a-z-.]+\+)?json\b/i.test(c.req.header("content-type") ?? ""))
      throw new AppError("unsupported_media", "content-type must be application/json");
    const body = await announcedBody(c, MAX_STATE_BYTES, "a value is at most");
    const { state: stored, etag } = await putState(ctx, place, body, conditionOf(c));
    return c.json(stored, 200, { ETag: etag });
  });
  app.delete(state, access(byKey.removeState.rules), async (c) => {
    await deleteState(ctx, placeOf(c));
    return c.body(null, 204);
  });
  app.get(blob, access(byKey.readBlob.rules), (c) => answerBlob(ctx, c));
  app.put(blob, access(byKey.writeBlob.rules), async (c) => {
    const place = placeOf(c);
    const body = await announcedBody(c, MAX_BLOB_BYTES, "a blob is at most");
    const mime = safeMime(c.req.header("content-type") ?? "");
    const limit = { what: "the upload", ms: UPLOAD_MS, signal: c.req.raw.signal };
    const stored = await windUpWithin(ctx.clock, limit, (signal) =>
      putBlob(ctx, place, { body, mime, signal }),
    );
    return c.json(stored, 200, { ETag: `"${stored.sha256}"` });
  });
  app.delete(blob, access(byKey.removeBlob.rules), async (c) => {
    await deleteBlob(ctx, placeOf(c));
    return c.body(null, 204);
  });
  return app
    .openapi(states, async (c) =>
      c.json(await listState(ctx, slugOf(c.req.valid("param")), c.req.valid("query")), 200),
    )
    .openapi(blobs, async (c) =>
      c.json(await listBlobs(ctx, slugOf(c.req.valid("param")), c.req.valid("query")), 200),
    );
}

/** How often in a row a blob may be replaced between reading its row and opening its object. */
const READ_TRIES = 100;

async function answerBlob(
  ctx: Pick<PipelineContext, "objects" | "db">,
  c: Context,
): Promise<Response> {
  const place = placeOf(c);
  let missing: string | null = null;
  for (let tries = 0; tries < READ_TRIES; tries += 1) {
    const { object_key, size, mime, sha256 } = await getBlob(ctx, place);
    // Nobody has replaced it, so its body is lost.
    if (object_key === missing) throw notFound("blob");
    const name = place.key.split("/").at(-1) || "blob";
    const answer = await fileResponse(c, {
      name,
      size,
      mime,
      sha256,
      csp: BLOB_CSP,
      read: (range) => ctx.objects.read(object_key, range),
    });
    if (answer) return answer;
    missing = object_key;
  }
  throw new AppError(
    "unavailable",
    "the blob is being replaced faster than it can be read; try again",
  );
}
