import { z } from "@hono/zod-openapi";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { contentDisposition } from "#hub/platform/http/file-response.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, streamed } from "#hub/platform/http/openapi-parts.ts";
import { windUpWithin } from "#shared/kit/call-within.ts";
import { AppError, invalid } from "#shared/kit/errors.ts";
import { JOB_DOCUMENTS } from "#shared/protocol/documents.ts";
import { Job } from "#shared/protocol/schema/job.ts";
import { LabelQuery } from "#shared/protocol/schema/labels.ts";
import type { FleetContext } from "../context.ts";
import { createImporter } from "../imports/import-job.ts";
import { archivedJobs } from "../jobs/archived-jobs.ts";
import { waczOfJobs } from "../jobs/wacz.ts";

const { mime } = JOB_DOCUMENTS["archive.wacz"];
const MAX_JOBS = 50;
const Query = z.object({
  label: LabelQuery.optional(),
  jobs: z
    .string()
    .regex(/^[\w-]{1,64}(,[\w-]{1,64})*$/)
    .refine((ids) => ids.split(",").length <= MAX_JOBS, { error: `at most ${MAX_JOBS} jobs` })
    .optional()
    .openapi({
      description: `Ids of 1 to ${MAX_JOBS} jobs, separated by commas`,
      example: "k3v9x0a1b2c3d4,k3v9x0a1b2c3d5",
    }),
});

const archive = createRoute({
  method: "get",
  path: "/archive.wacz",
  access: "view",
  tags: ["job files"],
  operationId: "getWebArchive",
  summary: "Download several jobs as one WACZ file",
  description:
    "As archive.wacz of one job, with a WARC file for each and one index. The jobs are those that are named, or the " +
    "completed ones with a label, the oldest first.",
  request: { query: Query },
  responses: {
    200: {
      description: "A web archive (WACZ 1.1.1)",
      content: { [mime]: { schema: { type: "string", format: "binary" } } },
    },
    ...fails(400, 404, 422),
  },
});

const binary = { schema: { type: "string", format: "binary" } as const };
const ARCHIVE_TYPES = [
  ...["application/zip", "application/wacz+zip", "application/wacz"],
  ...["application/gzip", "application/warc", "application/octet-stream"],
];
/** A slow link needs its time. */
const UPLOAD_MS = 1_800_000;

const importing = createRoute({
  method: "post",
  path: "/jobs/import",
  access: "submit",
  new_work: true,
  changes: ["jobs"],
  tags: ["jobs"],
  operationId: "importJob",
  summary: "Import a web archive as a job",
  description:
    "A WARC file, compressed or not, or a WACZ file becomes a completed job with its assets, har.json and page.html. " +
    "Values of cookies and credentials are masked. An archive that is refused leaves nothing behind.",
  request: {
    body: {
      required: true,
      description: "The archive, at most SVC_MAX_ASSET_BYTES long",
      content: {
        "application/octet-stream": binary,
        "application/zip": binary,
        "application/gzip": binary,
      },
    },
  },
  responses: {
    201: { description: "The job", content: { "application/json": { schema: Job } } },
    ...fails(413, 422, 503),
    415: { ...fails(415)[415], description: `The body must be ${ARCHIVE_TYPES.join(" or ")}` },
  },
});

/** POST /jobs/import (rules/documents#import-of-a-web-archive). */
export function importRoutes(ctx: FleetContext) {
  const importArchive = createImporter(ctx);
  const app = newApp();
  describeRoute(app, importing);
  return app.post("/jobs/import", access(importing.rules), async (c) => {
    const { raw } = c.req;
    const type = c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    if (!ARCHIVE_TYPES.includes(type))
      throw new AppError("unsupported_media", `Content-Type must be ${ARCHIVE_TYPES.join(" or ")}`);
    const { body } = raw;
    if (!body) throw invalid(["body"], "the archive is empty");
    // The answer may take longer than Bun lets a silent connection live.
    c.env.server?.timeout(raw, 0);
    const length = c.req.header("content-length");
    const size = length === undefined ? undefined : Number(length);
    const given_up = AbortSignal.any([ctx.stopping, raw.signal]);
    const limit = { what: "the upload", ms: UPLOAD_MS, signal: given_up };
    const job = await windUpWithin(ctx.clock, limit, (signal) =>
      importArchive({ body, size, signal }),
    );
    return c.json(job, 201);
  });
}

/** GET /archive.wacz (rules/documents#web-archive-of-several-jobs). */
export const webArchiveRoutes = (ctx: FleetContext) =>
  newApp().openapi(archive, async (c) => {
    const ids = await archivedJobs(ctx, c.req.valid("query"));
    return streamed(
      new Response(waczOfJobs(ctx, ids), {
        headers: {
          "Content-Type": mime,
          "Cache-Control": "private, no-cache",
          "Content-Disposition": contentDisposition("flotilla.wacz", "attachment"),
        },
      }),
    );
  });
