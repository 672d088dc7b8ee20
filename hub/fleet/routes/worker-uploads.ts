import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { access, type RouteRules } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { bearerOf } from "#hub/platform/http/guards.ts";
import { toIssues } from "#hub/platform/http/issues.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { AppError, badRequest, invalid } from "#shared/kit/errors.ts";
import { parseJson } from "#shared/kit/json.ts";
import { oneOf } from "#shared/kit/one-of.ts";
import { sameSecret } from "#shared/kit/secret.ts";
import { MAX_BATCH_BYTES, parseBatch } from "#shared/protocol/asset-batch.ts";
import { STORED_DOCUMENTS } from "#shared/protocol/documents.ts";
import { AssetMeta, DocumentName } from "#shared/protocol/schema/asset.ts";
import { ErrorBody } from "#shared/protocol/schema/error.ts";
import type { FleetContext } from "../context.ts";
import { storeAssets } from "../jobs/file-batch.ts";
import { requireLease, storeAsset, storeDocument, type Upload } from "../jobs/stored-files.ts";
import type { JobLane } from "../links/worker-link.ts";
import { countUpload } from "../metrics/count-upload.ts";
import { BatchParams, UploadParams } from "./params.ts";

const tags = ["worker uploads"];
/** The errors when a worker stores something for the job it runs. */
export const RULES = {
  access: "worker",
  proof: "upload token",
  owner: "worker",
  changes: ["jobs"],
} as const satisfies RouteRules;
export const StoredFile = z
  .object({ name: z.string(), size: z.int(), sha256: z.string() })
  .openapi("StoredFile");
const StoredFiles = z
  .object({
    items: z.array(
      z.union([
        StoredFile,
        z.object({
          name: z.string(),
          error: z.object({ status: z.int(), detail: ErrorBody.shape.detail }),
        }),
      ]),
    ),
  })
  .openapi("StoredFiles");

export const UploadHeaders = z.object({
  "x-lease-token": z.string().openapi({ description: "The lease_token of the assignment" }),
  "x-sha256": z.string().openapi({ description: "SHA-256 of the body, lower-case hex" }),
});
const route = (
  path: string,
  texts: { operationId: string; summary: string },
  headers: typeof UploadHeaders,
) =>
  createRoute({
    method: "put",
    path,
    ...RULES,
    tags,
    ...texts,
    description: "With Authorization: Bearer <upload_token> of the link's registration.",
    request: { params: UploadParams, headers, body: { required: true, ...bytes("The raw body") } },
    responses: { ...ok(StoredFile), ...fails(400, 401, 409, 413, 422) },
  });
const putAsset = route(
  "/workers/{worker_id}/jobs/{job_id}/assets/{name}",
  { operationId: "uploadAsset", summary: "Upload a captured body" },
  UploadHeaders.extend({
    "x-asset-meta": z.string().openapi({ description: "base64url of AssetMeta as JSON" }),
  }),
);
const putAssets = createRoute({
  method: "put",
  path: "/workers/{worker_id}/jobs/{job_id}/assets",
  ...RULES,
  tags,
  operationId: "uploadAssets",
  summary: "Upload several small captured bodies at once",
  description:
    "With Authorization: Bearer <upload_token> of the link's registration. For each body: the length of its head " +
    "(32 bits, big endian), the head (AssetMeta with size and sha256, as JSON) and its bytes. Every body is answered " +
    "on its own; a malformed batch is refused as a whole.",
  request: {
    params: BatchParams,
    headers: UploadHeaders.pick({ "x-lease-token": true }),
    body: { required: true, ...bytes("The bodies, each behind its head") },
  },
  responses: { ...ok(StoredFiles), ...fails(400, 401, 409, 413, 422) },
});
const putDocument = route(
  "/workers/{worker_id}/jobs/{job_id}/documents/{name}",
  { operationId: "uploadDocument", summary: `Upload ${oneOf(STORED_DOCUMENTS)}` },
  UploadHeaders,
);

function header(c: Context, name: string, pattern: RegExp, rule: string): string {
  const value = c.req.header(name);
  if (value === undefined) throw badRequest(`header ${name} is required`);
  if (!pattern.test(value)) throw invalid(["header", name], rule);
  return value;
}

export function uploadOf(c: Context): Upload {
  const sha256 = header(c, "X-Sha256", /^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex");
  const length = c.req.header("content-length");
  return {
    // An empty body has no stream.
    body: c.req.raw.body ?? new Blob([]).stream(),
    sha256,
    size: length === undefined ? undefined : Number(length),
    signal: c.req.raw.signal,
  };
}

function metaOf(c: Context, name: string): AssetMeta {
  const encoded = header(c, "X-Asset-Meta", /^[A-Za-z0-9_-]+=*$/, "must be base64url");
  let raw: unknown;
  try {
    raw = parseJson(Buffer.from(encoded, "base64url").toString());
  } catch {
    throw invalid(["header", "X-Asset-Meta"], "must be base64url of JSON");
  }
  if (typeof raw !== "object" || raw === null)
    throw invalid(["header", "X-Asset-Meta"], "must be an object");
  const meta = AssetMeta.safeParse({ ...raw, name });
  if (!meta.success)
    throw new AppError("invalid", toIssues(meta.error.issues, "header", "X-Asset-Meta"));
  return meta.data;
}

/** A whole body in memory. @throws AppError too_large. */
export async function bodyWithin(c: Context, most: number, what: string): Promise<Uint8Array> {
  const tooLarge = () => new AppError("too_large", `${what} is longer than ${most} bytes`);
  if (Number(c.req.header("content-length") ?? 0) > most) throw tooLarge();
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of c.req.raw.body ?? []) {
      size += part.length;
      if (size > most) throw tooLarge();
      parts.push(part);
    }
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError("bad_request", "the body broke off before its end", { cause });
  }
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts, size);
}

/** The lane of the job that a call of its worker is for. @throws AppError unauthorized, or conflict "stale lease". */
export function leaseOf(ctx: Pick<FleetContext, "links" | "awaited">, c: Context): JobLane {
  const bearer = bearerOf(c);
  if (bearer === null) throw new AppError("unauthorized", "bad upload token");
  const { worker_id = "", job_id = "" } = c.req.param();
  const token = header(c, "X-Lease-Token", /^[0-9]{1,16}$/, "must be a whole number");
  const isToken = (upload_token: string) => sameSecret(upload_token, bearer);
  return requireLease(ctx, worker_id, isToken, job_id, Number(token));
}

/** Bodies from workers, streamed to the object store, and only under the lease of a running job. */
export function workerUploadRoutes(ctx: FleetContext) {
  const app = newApp();
  describeRoute(app, putAsset);
  describeRoute(app, putAssets);
  describeRoute(app, putDocument);
  return app
    .put("/workers/:worker_id/jobs/:job_id/assets", access(RULES), async (c) => {
      const held = leaseOf(ctx, c);
      return c.json({
        items: await countUpload(
          ctx,
          "batch",
          storeAssets(ctx, held, parseBatch(await bodyWithin(c, MAX_BATCH_BYTES, "batch"))),
        ),
      });
    })
    .put("/workers/:worker_id/jobs/:job_id/assets/:name", access(RULES), async (c) => {
      const held = leaseOf(ctx, c);
      const stored = storeAsset(ctx, held, metaOf(c, c.req.param("name")), uploadOf(c));
      return c.json(await countUpload(ctx, "single", stored));
    })
    .put("/workers/:worker_id/jobs/:job_id/documents/:name", access(RULES), async (c) => {
      const held = leaseOf(ctx, c);
      const name = DocumentName.safeParse(c.req.param("name"));
      if (!name.success) throw invalid(["path", "name"], `must be ${oneOf(STORED_DOCUMENTS)}`);
      const stored = storeDocument(ctx, held, name.data, uploadOf(c));
      return c.json(await countUpload(ctx, "document", stored));
    });
}
