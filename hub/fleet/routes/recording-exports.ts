import type { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { fileResponse } from "#hub/platform/http/file-response.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, json, NOT_MODIFIED, ok } from "#hub/platform/http/openapi-parts.ts";
import { AppError } from "#shared/kit/errors.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import {
  ExportRecording,
  RecordingExport,
  RecordingExports,
  VideoFormat,
} from "#shared/recording/record.ts";
import type { FleetContext } from "../context.ts";
import { getRow } from "../jobs/read-jobs.ts";
import {
  type KnownRecording,
  recordingOfJob,
  recordingOfSession,
} from "../recordings/read-recordings.ts";
import type { ExportsContext } from "../recordings/video/export-records.ts";
import { readExport, videoKey } from "../recordings/video/export-records.ts";
import type { IdempotentContext } from "./idempotent.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, JobParams, SessionParams } from "./params.ts";

const tags = ["recordings"];
const NAMES = { mp4: "Video", webm: "WebmVideo" } as const;

/** What makes and reads videos, for one kind of run. */
const routesOf = <P extends z.ZodObject>(
  ctx: IdempotentContext,
  base: string,
  params: P,
  { what, id }: { what: string; id: string },
) => {
  const video = (format: VideoFormat) =>
    createRoute({
      method: "get",
      access: "view",
      tags,
      path: `${base}/recording/video.${format}`,
      operationId: `get${id}Recording${NAMES[format]}`,
      summary: `Read the recording of ${what} as ${format === "mp4" ? "an MP4" : "a WebM"} file`,
      description:
        "With Range. 404 until it was asked for, 409 with its progress while it is made.",
      request: { params },
      responses: {
        200: bytes("The video"),
        206: bytes("The requested range"),
        ...NOT_MODIFIED,
        ...fails(404, 409, 416, 503),
      },
    });
  return {
    ask: createRoute({
      method: "post",
      access: "submit",
      changes: [],
      tags,
      path: `${base}/recording/exports`,
      operationId: `export${id}Recording`,
      summary: `Make a video of the recording of ${what}`,
      description:
        "Made in the background, and kept beside the recording. One that is there, or on its way, is answered instead of another.",
      middleware: [jsonBodyLimit, idempotent(ctx)],
      request: {
        params,
        headers: IdempotencyHeader,
        ...json(ExportRecording, { format: "mp4" }),
      },
      responses: {
        202: ok(RecordingExport, "How it stands")[200],
        ...fails(400, 404, 409, 413, 415, 422, 503),
      },
    }),
    list: createRoute({
      method: "get",
      access: "view",
      tags,
      path: `${base}/recording/exports`,
      operationId: `list${id}RecordingExports`,
      summary: `List the videos of the recording of ${what}`,
      description: "At most one of each format: those that are made, on their way, or have failed.",
      request: { params, query: PageQuery },
      responses: { ...ok(RecordingExports), ...fails(404, 422, 503) },
    }),
    mp4: video("mp4"),
    webm: video("webm"),
  };
};

/** @throws AppError not_found, conflict */
async function videoAnswer(
  ctx: ExportsContext,
  c: Context,
  { row }: KnownRecording,
  format: VideoFormat,
): Promise<Response> {
  const made = await readExport(ctx, row.run_id, format);
  if (!made) throw noVideo(format, "nobody has asked for it yet");
  if (made.status === "failed") throw noVideo(format, `it could not be made: ${made.error}`);
  if (made.status !== "done" || made.bytes === null) {
    const far = `${Math.round(made.progress * 100)} %`;
    throw new AppError("conflict", `the video is being made (${made.status}, ${far})`, {
      body: { status: made.status, progress: made.progress },
    });
  }
  const key = videoKey(row.run_id, made);
  const answer = await fileResponse(c, {
    name: `${row.job_id ?? row.session_id}.${format}`,
    mime: `video/${format}`,
    size: made.bytes,
    tag: made.id,
    read: (range) => ctx.objects.read(key, range),
    file: async () => (await ctx.objects.localFile?.(key)) ?? null,
  });
  if (!answer) throw noVideo(format, "it has been deleted");
  return answer;
}

const noVideo = (format: VideoFormat, why: string): AppError =>
  new AppError(
    "not_found",
    `there is no video, because ${why}; POST {"format": "${format}"} to …/recording/exports makes one`,
  );

async function listed(ctx: ExportsContext, { row }: KnownRecording, query: PageQuery) {
  const all = await Promise.all(
    VideoFormat.options.map((format) => readExport(ctx, row.run_id, format)),
  );
  const there = all.filter((made) => made !== null);
  const { page, next_cursor } = pageOf(there, ({ format }) => format, query);
  return { items: page, next_cursor };
}

/** Videos of recordings (rules/recordings#export-as-a-video). */
export function recordingExportRoutes(ctx: FleetContext) {
  const job = routesOf(ctx, "/jobs/{id}", JobParams, { what: "a job", id: "Job" });
  const session = routesOf(ctx, "/sessions/{sid}", SessionParams, {
    what: "a session",
    id: "Session",
  });
  const ofJob = async (c: { req: { valid(part: "param"): { id: string } } }) => {
    const { id } = c.req.valid("param");
    await getRow(ctx, id);
    return recordingOfJob(ctx, id);
  };
  const ofSession = (c: { req: { valid(part: "param"): { sid: string } } }) =>
    recordingOfSession(ctx, c.req.valid("param").sid);
  const ask = ctx.video_exports.ask;
  return newApp()
    .openapi(job.ask, async (c) => c.json(await ask(await ofJob(c), c.req.valid("json")), 202))
    .openapi(job.list, async (c) =>
      c.json(await listed(ctx, await ofJob(c), c.req.valid("query")), 200),
    )
    .openapi(job.mp4, async (c) => videoAnswer(ctx, c, await ofJob(c), "mp4"))
    .openapi(job.webm, async (c) => videoAnswer(ctx, c, await ofJob(c), "webm"))
    .openapi(session.ask, async (c) =>
      c.json(await ask(await ofSession(c), c.req.valid("json")), 202),
    )
    .openapi(session.list, async (c) =>
      c.json(await listed(ctx, await ofSession(c), c.req.valid("query")), 200),
    )
    .openapi(session.mp4, async (c) => videoAnswer(ctx, c, await ofSession(c), "mp4"))
    .openapi(session.webm, async (c) => videoAnswer(ctx, c, await ofSession(c), "webm"));
}
