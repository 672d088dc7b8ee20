import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { contentDisposition } from "#hub/platform/http/file-response.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, NOT_MODIFIED, ok, streamed } from "#hub/platform/http/openapi-parts.ts";
import { notFound } from "#shared/kit/errors.ts";
import {
  DOCUMENT_NAMES,
  isStored,
  JOB_DOCUMENTS,
  type JobDocument,
} from "#shared/protocol/documents.ts";
import { AssetList, JobResult, LinkList } from "#shared/protocol/schema/asset.ts";
import { Har } from "#shared/protocol/schema/har.ts";
import type { FleetContext } from "../context.ts";
import { readDocument } from "../jobs/documents.ts";
import { getRow } from "../jobs/read-jobs.ts";
import { documentKey, getResult, listAssets } from "../jobs/stored-files.ts";
import { warcName } from "../jobs/warc.ts";
import { notedHar } from "../recordings/har.ts";
import { assetAnswer } from "./asset-answer.ts";
import { AssetParams, JobParams } from "./params.ts";
import { PICTURE_HEADERS } from "./picture-headers.ts";

const tags = ["job files"];
const request = { params: JobParams };

const result = createRoute({
  method: "get",
  path: "/jobs/{id}/result",
  access: "view",
  tags,
  operationId: "getJobResult",
  summary: "Read the result of a job",
  description: "Where its page, log, HAR and assets are, and what the capture report says.",
  request,
  responses: { ...ok(JobResult), ...fails(404) },
});
const assets = createRoute({
  method: "get",
  path: "/jobs/{id}/assets.json",
  access: "view",
  tags,
  operationId: "listJobAssets",
  summary: "List the assets of a job",
  description: "Every stored body with its URL, kind, size and checksum, in the order they came.",
  request,
  responses: { ...ok(AssetList), ...fails(404) },
});
const asset = createRoute({
  method: "get",
  path: "/jobs/{id}/assets/{name}",
  access: "view",
  tags,
  operationId: "getJobAsset",
  summary: "Read an asset body",
  description: "With ETag (sha256), Range and If-None-Match.",
  request: { params: AssetParams },
  responses: {
    200: bytes("The body, with its captured type"),
    206: bytes("The requested range"),
    ...NOT_MODIFIED,
    ...fails(404, 416),
  },
});
/** What a document that is not plain text holds. */
const SCHEMAS: Partial<Record<JobDocument, z.ZodType>> = {
  "links.json": LinkList,
  "har.json": Har,
};
const RAW = { type: "string", format: "binary" } as const;

const documentRoute = (name: JobDocument) => {
  const { mime, label, operation_id, summary, description } = JOB_DOCUMENTS[name];
  const [media_type = mime] = mime.split(";");
  const schema = SCHEMAS[name] ?? (media_type.startsWith("text/") ? z.string() : RAW);
  return createRoute({
    method: "get",
    path: `/jobs/{id}/${name}`,
    access: "view",
    tags,
    operationId: operation_id,
    summary,
    description,
    request,
    responses: {
      200: { description: label, content: { [media_type]: { schema } } },
      ...fails(404),
    },
  });
};

const asDownload = (name: string) => ({
  "Content-Disposition": contentDisposition(name, "attachment"),
});

const asPicture = () => PICTURE_HEADERS;

/** Headers of one document on top of those of all. */
const HEADERS: Partial<Record<JobDocument, (job_id: string) => Record<string, string>>> = {
  "page.html": () => ({ "Content-Security-Policy": "sandbox" }),
  "screenshot.png": asPicture,
  "thumbnail.webp": asPicture,
  "assets.zip": (job_id) => asDownload(`flotilla-${job_id}.zip`),
  "archive.warc.gz": (job_id) => asDownload(warcName(job_id)),
  "archive.wacz": (job_id) => asDownload(`flotilla-${job_id}.wacz`),
};

/** The files of a job (rules/documents#result). */
export function jobFileRoutes(ctx: FleetContext) {
  /** Bun would answer a Range header itself when the body is a file. */
  const fileOf = async (c: Context, job_id: string, name: JobDocument) =>
    isStored(name) &&
    c.req.header("range") === undefined &&
    (await ctx.objects.localFile?.(documentKey(job_id, name)));
  const app = newApp()
    .openapi(result, async (c) => c.json(await getResult(ctx, c.req.valid("param").id), 200))
    .openapi(assets, async (c) => {
      const { id } = c.req.valid("param");
      const items = await listAssets(ctx, id);
      return c.json({ job_id: id, count: items.length, items }, 200);
    })
    .openapi(asset, async (c) => {
      const { id, name } = c.req.valid("param");
      return assetAnswer(ctx, c, { job_id: id, name });
    });
  for (const name of DOCUMENT_NAMES)
    app.openapi(documentRoute(name), async (c) => {
      const row = await getRow(ctx, c.req.valid("param").id);
      const { job_id } = row;
      const stored = (await fileOf(c, job_id, name)) || (await readDocument(ctx, row, name));
      // Of a job that runs, or has lost its worker, its recording knows them.
      const body = stored || (name === "har.json" ? await notedHar(ctx, job_id) : null);
      if (!body) throw notFound(name);
      return send(body, JOB_DOCUMENTS[name].mime, HEADERS[name]?.(job_id));
    });
  return app;
}

const send = (
  body: ReadableStream<Uint8Array> | Blob,
  type: string,
  headers?: Record<string, string>,
) =>
  streamed(
    new Response(body, {
      headers: { "Content-Type": type, "Cache-Control": "private, no-cache", ...headers },
    }),
  );
