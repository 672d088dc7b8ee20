import { z } from "@hono/zod-openapi";
import type { JobRow } from "#hub/platform/db/rows.ts";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, ok } from "#hub/platform/http/openapi-parts.ts";
import type { Socket } from "#hub/platform/http/socket-handlers.ts";
import { requireUpgrade, upgrade } from "#hub/platform/http/sockets.ts";
import { invalid } from "#shared/kit/errors.ts";
import { isTerminal, JobEventList, JobEventQuery } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { EVENT_CLOSE, type EventStream, startEventStream } from "../jobs/event-stream.ts";
import { missingEnd } from "../jobs/events.ts";
import { getRow } from "../jobs/read-jobs.ts";
import { eventRecord } from "../jobs/record.ts";
import { JobParams } from "./params.ts";

const events = createRoute({
  method: "get",
  path: "/jobs/{id}/events",
  access: "view",
  tags: ["jobs"],
  operationId: "followJobEvents",
  summary: "WebSocket: the events of a job",
  description:
    "One JSON object per message: {seq, ts, type: log|done|error, data}. `since` is the last seq already seen. " +
    "Closed with 1000 after done or error, with 4404 when there is no such job, " +
    "with 4422 and the reason for a bad `since`.",
  request: {
    params: JobParams,
    query: z.object({
      since: z
        .int()
        .min(0)
        .optional()
        .openapi({ param: { name: "since", in: "query" } }),
    }),
  },
  responses: { 101: { description: "Switching to WebSocket" }, ...fails(403, 422, 426) },
});

const eventPage = createRoute({
  method: "get",
  path: "/jobs/{id}/events.json",
  access: "view",
  tags: ["jobs"],
  operationId: "listJobEvents",
  summary: "Read the events of a job so far, a page of them",
  description:
    "For clients that cannot hold a WebSocket open: ask again with `since` = the last seq until done or error comes.",
  request: { params: JobParams, query: JobEventQuery },
  responses: { ...ok(JobEventList), ...fails(404, 422) },
});

function parseSince(raw: string | undefined): number {
  if (raw === undefined) return 0;
  if (!/^[0-9]{1,9}$/.test(raw))
    throw invalid(["query", "since"], "must be a whole number from 0 to 999999999");
  return Number(raw);
}

/** The hub that ends a job stores its last event within moments; one that is not there by then is of a hub that died. */
const END_STORED_MS = 10_000;

const hasEndedFor = (
  { clock }: Pick<FleetContext, "clock">,
  { status, finished_at }: JobRow,
  ms: number,
): boolean => isTerminal(status) && finished_at !== null && clock.now() - finished_at >= ms;

/**
 * WS /jobs/{id}/events?since=n (rules/events#event-stream, rules/events#events-by-plain-calls), and the same events by plain
 * calls.
 */
export function jobEventRoutes(ctx: FleetContext) {
  const app = newApp();
  describeRoute(app, events);
  app.get("/jobs/:id/events", access(events.rules), async (c) => {
    requireUpgrade(c);
    const since = parseSince(c.req.query("since"));
    const job = await getRow(ctx, c.req.param("id")).catch(() => null);
    let stream: EventStream | null = null;
    return upgrade(c, {
      open: (socket: Socket) => {
        if (!job) return socket.close(EVENT_CLOSE.unknown_job, "job not found");
        stream = startEventStream(ctx, job, since, {
          // -1: the message waits in the socket's buffer; 0: the socket is closed, which `close` reports.
          send: (text) => socket.send(text) >= 0,
          close: (code, reason) => socket.close(code, reason),
        });
      },
      drain: () => stream?.drained(),
      close: () => stream?.stop(),
    });
  });
  return app.openapi(eventPage, async (c) => {
    const { since, limit } = c.req.valid("query");
    const row = await getRow(ctx, c.req.valid("param").id);
    const { job_id } = row;
    const events = await ctx.db.events.list(job_id, since, limit);
    const end =
      events.length < limit && hasEndedFor(ctx, row, END_STORED_MS)
        ? await missingEnd(ctx, row, events.at(-1)?.seq ?? since)
        : null;
    if (end) events.push(end);
    return c.json({ job_id, events: events.map(eventRecord) }, 200);
  });
}
