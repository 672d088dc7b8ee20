import type { Context } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { toIssues } from "#hub/platform/http/issues.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { chunksOf } from "#shared/archive/streams.ts";
import { windUpWithin } from "#shared/kit/call-within.ts";
import { AppError } from "#shared/kit/errors.ts";
import { limitText } from "#shared/kit/words.ts";
import {
  IMPORT_FORMATS,
  IMPORT_LIMITS,
  IMPORT_TYPES,
  type ImportFormat,
  ImportQuery,
  ImportResult,
} from "#shared/protocol/schema/task-import.ts";
import type { PipelineContext } from "../context.ts";
import { importTasks } from "../import/import-tasks.ts";
import { Params } from "./workload-routes.ts";

/** For a file of the largest size over a slow network. */
const UPLOAD_MS = 600_000;
const text = { schema: { type: "string" as const } };

const route = createRoute({
  method: "post",
  path: "/api/v1/workloads/{slug}/tasks/import",
  access: "submit",
  new_work: true,
  changes: ["v1/workloads"],
  tags: ["workloads"],
  operationId: "importTasks",
  summary: "Submit the rows of a CSV or JSONL file as tasks",
  description:
    "The file is the body, in UTF-8, at most 64 MiB and 1,000,000 rows. A CSV file names its columns in its first row; each line of JSONL is an object, or a task where neither `key` nor `columns` is given. `dry_run=true` shows the first tasks and every fault by its line. Rows are submitted 10,000 at a time, each time all or none; a fault ends it with 422 unless `skip_faults=true`.",
  request: {
    params: Params,
    query: ImportQuery,
    body: {
      required: true,
      description: "The file",
      content: {
        "text/csv": { ...text, example: "id,url\na,https://example.com/a\n" },
        "application/x-ndjson": { ...text, example: '{"pk": "a"}\n' },
      },
    },
  },
  responses: {
    ...ok(ImportResult),
    ...fails(400, 404, 409, 413, 422, 503),
    415: {
      ...fails(415)[415],
      description: "The Content-Type must say CSV or JSONL, or the query's format",
    },
  },
});

/** @throws AppError unsupported_media */
function formatOf(c: Context, { format }: ImportQuery): ImportFormat {
  if (format !== undefined) return format;
  const type = c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  const said = IMPORT_FORMATS.find((one) => IMPORT_TYPES[one].includes(type));
  if (said !== undefined) return said;
  throw new AppError(
    "unsupported_media",
    "Content-Type must be text/csv or application/x-ndjson, or the query say format=csv or format=jsonl",
  );
}

/** Files of tasks (rules/pipeline-import#import-a-file). */
export function taskImportRoutes(ctx: PipelineContext) {
  const app = newApp();
  describeRoute(app, route);
  return app.post(
    "/api/v1/workloads/:slug/tasks/import",
    access(route.rules),
    async (c: Context<HttpEnv>) => {
      const slug = c.req.param("slug") ?? "";
      await ctx.pipeline.workloads.require(slug);
      const parsed = ImportQuery.safeParse(c.req.query());
      if (!parsed.success) throw new AppError("invalid", toIssues(parsed.error.issues, "query"));
      const { raw } = c.req;
      const format = formatOf(c, parsed.data);
      if (Number(c.req.header("content-length") ?? 0) > IMPORT_LIMITS.bytes)
        throw new AppError("too_large", `a file is at most ${limitText(IMPORT_LIMITS.bytes)}`);
      // Reading it may take longer than Bun lets a silent connection live.
      c.env.server?.timeout(raw, 0);
      const given_up = AbortSignal.any([raw.signal, ctx.pipeline.stopping]);
      const limit = { what: "the upload", ms: UPLOAD_MS, signal: given_up };
      const result = await windUpWithin(ctx.clock, limit, (signal) => {
        const body = raw.body ? until(chunksOf(raw.body), signal) : nothing();
        return importTasks(ctx, slug, parsed.data, { format, body, signal });
      });
      return c.json(result, 200);
    },
  );
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** The chunks until the signal aborts, also while one is waited for. */
async function* until(
  chunks: AsyncGenerator<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const over = Promise.withResolvers<never>();
  over.promise.catch(() => {});
  const end = () => over.reject(new AppError("timed_out", "the file did not arrive in time"));
  signal.addEventListener("abort", end, { once: true });
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), over.promise]);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", end);
    void chunks.return(undefined).catch(() => {});
  }
}
