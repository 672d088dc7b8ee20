import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, ok, streamed } from "#hub/platform/http/openapi-parts.ts";
import { notFound } from "#shared/kit/errors.ts";
import {
  AssetList,
  type DocumentName,
  JobResult,
  LinkList,
} from "#shared/protocol/schema/asset.ts";
import type { FleetContext } from "../context.ts";
import { documentKey, getResult, listAssets } from "../jobs/files.ts";
import { logText } from "../jobs/log-text.ts";
import { getRow } from "../jobs/read.ts";
import { zipJob } from "../jobs/zip.ts";
import { assetAnswer } from "./asset-answer.ts";
import { AssetParams, JobParams } from "./params.ts";

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
    304: { description: "The client already has it" },
    ...fails(404, 416),
  },
});
const page = createRoute({
  method: "get",
  path: "/jobs/{id}/page.html",
  access: "view",
  tags,
  operationId: "getJobPage",
  summary: "Read the captured HTML",
  description: "The DOM as it was at the end, serialised; sent with a sandboxing CSP.",
  request,
  responses: {
    200: {
      description: "The serialised page, sandboxed",
      content: { "text/html": { schema: z.string() } },
    },
    ...fails(404),
  },
});
const log = createRoute({
  method: "get",
  path: "/jobs/{id}/log.txt",
  access: "view",
  tags,
  operationId: "getJobLog",
  summary: "Read the execution log, even of a running job",
  description: "Rendered from the stored events: one line for each, with its time.",
  request,
  responses: {
    200: { description: "The log", content: { "text/plain": { schema: z.string() } } },
    ...fails(404),
  },
});
const links = createRoute({
  method: "get",
  path: "/jobs/{id}/links.json",
  access: "view",
  tags,
  operationId: "listJobLinks",
  summary: "List the links of the page",
  description: "Every link of the page with its text, resolved against the page's URL.",
  request,
  responses: { ...ok(LinkList), ...fails(404) },
});
const har = createRoute({
  method: "get",
  path: "/jobs/{id}/har.json",
  access: "view",
  tags,
  operationId: "getJobHar",
  summary: "Read what the browser requested and received, as HAR 1.2",
  description:
    "Without bodies: content._asset names the asset that holds one. Cookies and credentials are masked.",
  request,
  responses: {
    200: {
      description: "The HTTP archive",
      content: {
        "application/json": {
          schema: z.object({ log: z.object({ version: z.literal("1.2") }).catchall(z.unknown()) }),
        },
      },
    },
    ...fails(404),
  },
});
const zip = createRoute({
  method: "get",
  path: "/jobs/{id}/assets.zip",
  access: "view",
  tags,
  operationId: "getJobArchive",
  summary: "Download every file of a job as one archive",
  description:
    "assets.json, log.txt, page.html, links.json, har.json and assets/, streamed and not compressed. " +
    "A running job gives what it has so far.",
  request,
  responses: {
    200: {
      description: "The archive",
      content: { "application/zip": { schema: { type: "string", format: "binary" } } },
    },
    ...fails(404),
  },
});

/** The files of a job (rules/documents#result). */
export function jobFileRoutes(ctx: FleetContext) {
  const readDocument = async (c: Context, id: string, name: DocumentName) => {
    const { job_id } = await getRow(ctx, id);
    const key = documentKey(job_id, name);
    // Bun would answer a Range header itself when the body is a file.
    const file = c.req.header("range") === undefined && (await ctx.objects.localFile?.(key));
    const body = file || (await ctx.objects.read(key));
    if (!body) throw notFound(name);
    return body;
  };
  return newApp()
    .openapi(result, async (c) => c.json(await getResult(ctx, c.req.valid("param").id), 200))
    .openapi(assets, async (c) => {
      const { id } = c.req.valid("param");
      const items = await listAssets(ctx, id);
      return c.json({ job_id: id, count: items.length, items }, 200);
    })
    .openapi(asset, async (c) => {
      const { id, name } = c.req.valid("param");
      return assetAnswer(ctx, c, { job_id: id, name });
    })
    .openapi(page, async (c) => {
      const body = await readDocument(c, c.req.valid("param").id, "page.html");
      return send(body, "text/html; charset=utf-8", { "Content-Security-Policy": "sandbox" });
    })
    .openapi(log, async (c) => {
      const row = await getRow(ctx, c.req.valid("param").id);
      return send(logText(ctx, row), "text/plain; charset=utf-8");
    })
    .openapi(links, async (c) =>
      send(await readDocument(c, c.req.valid("param").id, "links.json"), "application/json"),
    )
    .openapi(har, async (c) =>
      send(await readDocument(c, c.req.valid("param").id, "har.json"), "application/json"),
    )
    .openapi(zip, async (c) => {
      const { filename, body } = await zipJob(ctx, c.req.valid("param").id);
      return send(body, "application/zip", {
        "Content-Disposition": `attachment; filename="${filename}"`,
      });
    });
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
