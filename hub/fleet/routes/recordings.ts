import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { fileResponse } from "#hub/platform/http/file-response.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, NOT_MODIFIED, ok, streamed } from "#hub/platform/http/openapi-parts.ts";
import { notFound } from "#shared/kit/errors.ts";
import { Har } from "#shared/protocol/schema/har.ts";
import { Recording, RecordingEvents } from "#shared/recording/record.ts";
import type { FleetContext } from "../context.ts";
import { getRow } from "../jobs/read-jobs.ts";
import { sessionHar } from "../recordings/har.ts";
import {
  type KnownRecording,
  readEvents,
  readRecording,
  recordingOfJob,
  recordingOfSession,
  recordingRecord,
} from "../recordings/read-recordings.ts";
import { JobParams, SessionParams } from "./params.ts";

const tags = ["recordings"];

/** A moment of a recording; -1: from its beginning. */
const afterMs = (description: string) =>
  z.coerce.number().int().min(-1).openapi({ type: "integer", description }).default(-1);

const EventsQuery = z.object({
  after_ms: afterMs("Only events after this moment, in milliseconds since the run began"),
});

/** The three routes of a recording, for one kind of run. */
const routesOf = <P extends z.ZodObject>(
  base: string,
  params: P,
  owner: "job" | "session",
  { what, id }: { what: string; id: string },
) => {
  const common = { method: "get" as const, access: "view" as const, owner, tags };
  return {
    record: createRoute({
      ...common,
      path: `${base}/recording`,
      operationId: `get${id}Recording`,
      summary: `Read what is recorded of ${what}`,
      description: "Its state, length and chunks; also while it is recorded.",
      request: { params },
      responses: { ...ok(Recording), ...fails(404, 503) },
    }),
    data: createRoute({
      ...common,
      path: `${base}/recording/data`,
      operationId: `get${id}RecordingData`,
      summary: `Read the bytes of the recording of ${what}`,
      description: "With Range. `shared/recording` describes the format.",
      request: { params },
      responses: {
        200: bytes("The recording"),
        206: bytes("The requested range"),
        ...NOT_MODIFIED,
        ...fails(404, 416, 503),
      },
    }),
    events: createRoute({
      ...common,
      path: `${base}/recording/events`,
      operationId: `get${id}RecordingEvents`,
      summary: `List the events in the recording of ${what}`,
      description: "In the order in which they were written; `more` where others follow the last.",
      request: { params, query: EventsQuery },
      responses: { ...ok(RecordingEvents), ...fails(404, 422, 503) },
    }),
  };
};
const OF_JOB = routesOf("/jobs/{id}", JobParams, "job", { what: "a job", id: "Job" });
const OF_SESSION = routesOf("/sessions/{sid}", SessionParams, "session", {
  what: "a session, also of one that has ended",
  id: "Session",
});

const HAR_OF_SESSION = createRoute({
  method: "get",
  access: "view",
  owner: "session",
  tags,
  path: "/sessions/{sid}/har.json",
  operationId: "getSessionHar",
  summary: "Read what a session requested",
  description:
    "HAR 1.2 without bodies, also while the session is open: of each request the last that is known.",
  request: {
    params: SessionParams,
    query: z.object({
      after_ms: afterMs("Only what was noted after this moment of the recording: `log._ms` before"),
    }),
  },
  responses: { ...ok(Har), ...fails(404, 422, 503) },
});

const MIME = "application/vnd.flotilla.recording";

/** @throws AppError not_found */
async function dataAnswer(
  ctx: Pick<FleetContext, "recordings" | "db" | "objects" | "clock" | "log">,
  c: Context,
  known: KnownRecording,
): Promise<Response> {
  const { row, bytes: size } = known;
  const answer = await fileResponse(c, {
    name: `${row.run_id}.recording`,
    mime: MIME,
    size,
    tag: `${row.run_id}-${size}`,
    read: (range) =>
      size === 0
        ? Promise.resolve(new Blob([]).stream())
        : readRecording(ctx, known, range ?? { start: 0, end: size - 1 }),
  });
  if (!answer) throw notFound("recording");
  return answer;
}

/** What was recorded of jobs and sessions (rules/recordings#read-a-recording). */
export function recordingRoutes(ctx: FleetContext) {
  const ofJob = async (id: string) => {
    await getRow(ctx, id);
    return recordingOfJob(ctx, id);
  };
  const ofSession = (sid: string) => recordingOfSession(ctx, sid);
  return newApp()
    .openapi(OF_JOB.record, async (c) =>
      c.json(recordingRecord(await ofJob(c.req.valid("param").id)), 200),
    )
    .openapi(OF_JOB.data, async (c) => dataAnswer(ctx, c, await ofJob(c.req.valid("param").id)))
    .openapi(OF_JOB.events, async (c) => {
      const known = await ofJob(c.req.valid("param").id);
      return c.json(await readEvents(ctx, known, c.req.valid("query").after_ms), 200);
    })
    .openapi(OF_SESSION.record, async (c) =>
      c.json(recordingRecord(await ofSession(c.req.valid("param").sid)), 200),
    )
    .openapi(OF_SESSION.data, async (c) =>
      dataAnswer(ctx, c, await ofSession(c.req.valid("param").sid)),
    )
    .openapi(HAR_OF_SESSION, async (c) => {
      const { after_ms } = c.req.valid("query");
      const body = await sessionHar(ctx, c.req.valid("param").sid, after_ms);
      const headers = { "Content-Type": "application/json", "Cache-Control": "private, no-cache" };
      return streamed(new Response(body, { headers }));
    })
    .openapi(OF_SESSION.events, async (c) => {
      const known = await ofSession(c.req.valid("param").sid);
      return c.json(await readEvents(ctx, known, c.req.valid("query").after_ms), 200);
    });
}
