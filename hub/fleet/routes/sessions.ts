import type { MiddlewareHandler } from "hono";
import { nameOf } from "#hub/platform/http/caller.ts";
import { createRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok, streamed } from "#hub/platform/http/openapi-parts.ts";
import { AppError } from "#shared/kit/errors.ts";
import { pageOf } from "#shared/protocol/schema/page.ts";
import {
  CreateSession,
  Session,
  SessionList,
  SessionListQuery,
} from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { cancelJob } from "../jobs/cancel.ts";
import type { JobCancelContext } from "../jobs/job-contexts.ts";
import { withReplayedUrl } from "../jobs/replay-index.ts";
import { listEverywhere, openAnywhere } from "../sessions/anywhere.ts";
import { endSession } from "../sessions/end.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { listPast } from "../sessions/past.ts";
import { listSessions, readState, sessionsWith } from "../sessions/read-sessions.ts";
import { requireSession, sessionRecord } from "../sessions/registry.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, SessionParams } from "./params.ts";
import { wasPassedOn } from "./pass-on.ts";

const tags = ["sessions"];
/** What remains of a session that has ended. */
const LASTING =
  /^\/sessions\/[^/]+\/(recording(\/|$)|bodies\/|(har\.json|trace\.zip|thumbnail\.webp)$)/;

/**
 * Any call for a session that does not exist is 404, before anything else is checked
 * (rules/sessions#ended-sessions-are-404). A repeated call with an Idempotency-Key passes: it gets its first answer.
 */
export const liveSessionsOnly = (
  ctx: Pick<FleetContext, "sessions" | "awaited">,
): MiddlewareHandler<HttpEnv> =>
  async function liveSession(c, next) {
    const survives = LASTING.test(c.req.path);
    if (!survives && c.req.header("idempotency-key") === undefined)
      requireSession(ctx, c.req.param("sid") ?? "");
    await next();
  };

/** The same inside a call that runs for the first time. */
export const thisSession = (
  ctx: Pick<FleetContext, "sessions" | "awaited">,
): MiddlewareHandler<HttpEnv> =>
  async function thisLiveSession(c, next) {
    requireSession(ctx, c.req.param("sid") ?? "");
    await next();
  };

const list = createRoute({
  method: "get",
  path: "/sessions",
  access: "view",
  tags,
  operationId: "listSessions",
  summary: "List the sessions that are open, oldest first, or those that have ended",
  description:
    "An open session is listed exactly while its URLs answer; the sessions of a hub that does not answer in time are left out. `status=ended` lists the records of sessions that have ended, the last one first.",
  request: { query: SessionListQuery },
  responses: { ...ok(SessionList), ...fails(422, 503) },
});
const one = createRoute({
  method: "get",
  path: "/sessions/{sid}",
  access: "view",
  owner: "session",
  tags,
  operationId: "getSession",
  summary: "Read a session; 404 forever once it has ended",
  description: "The same as /state. Reading is not activity and does not prolong the session.",
  request: { params: SessionParams },
  responses: { ...ok(Session), ...fails(404) },
});
const state = createRoute({
  method: "get",
  path: "/sessions/{sid}/state",
  access: "view",
  owner: "session",
  tags,
  operationId: "getSessionState",
  summary: "Read a session; 404 forever once it has ended",
  description: "Reading is not activity and does not prolong the session.",
  request: { params: SessionParams },
  responses: { ...ok(Session), ...fails(404) },
});

/** Sessions: open, list, read, end (rules/sessions#open-a-session). */
export function sessionRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const open = createRoute({
    method: "post",
    path: "/sessions",
    access: "operate",
    new_work: true,
    changes: ["sessions"],
    tags,
    operationId: "openSession",
    summary: "Open a session on a free lane",
    description: "Waits about 8 s for a lane; after that 503. Answered when its page is open.",
    middleware,
    request: {
      ...json(CreateSession, { url: "https://example.com/", idle_ttl_s: 600 }),
      headers: IdempotencyHeader,
    },
    responses: {
      201: {
        description: "The session is open",
        content: { "application/json": { schema: Session } },
      },
      ...fails(400, 404, 409, 413, 415, 422, 502, 503, 504),
    },
  });
  const end = createRoute({
    method: "delete",
    path: "/sessions/{sid}",
    access: "operate",
    changes: ["sessions"],
    owner: "session",
    tags,
    operationId: "closeSession",
    summary: "End a session and its browser; a job that runs in it is cancelled",
    description: "The lane is offered again once its browser has been replaced.",
    middleware,
    request: { params: SessionParams, headers: IdempotencyHeader },
    responses: { 204: { description: "Ended" }, ...fails(404, 409, 413, 422, 503) },
  });
  return newApp()
    .openapi(open, async (c) => {
      const input = await withReplayedUrl(ctx, c.req.valid("json"));
      const { headers, signal } = c.req.raw;
      const passed_on = wasPassedOn(ctx, c);
      const opened_by = nameOf(c.var.caller);
      const call = { input, headers, body: await c.req.text(), signal, opened_by, passed_on };
      const opened = await openAnywhere(ctx, call);
      return opened instanceof Response
        ? streamed(opened)
        : c.json(sessionRecord(ctx, opened), 201);
    })
    .openapi(list, async (c) => {
      const { headers, signal } = c.req.raw;
      const query = c.req.valid("query");
      if (query.status === "ended") return c.json(await listPast(ctx, query), 200);
      // Another hub asks for everything this one has, to build a page of all hubs' sessions.
      if (wasPassedOn(ctx, c))
        return c.json({ sessions: listSessions(ctx), next_cursor: null }, 200);
      const all = sessionsWith(await listEverywhere(ctx, headers, signal), query);
      const keyOf = ({ created_at, session_id }: Session) => `${created_at} ${session_id}`;
      const { page, next_cursor } = pageOf(all, keyOf, query);
      return c.json({ sessions: page, next_cursor }, 200);
    })
    .openapi(one, async (c) => c.json(await readState(ctx, c.req.valid("param").sid), 200))
    .openapi(state, async (c) => c.json(await readState(ctx, c.req.valid("param").sid), 200))
    .openapi(end, async (c) => {
      const session = requireSession(ctx, c.req.valid("param").sid);
      if (session.kind === "job") await cancelIts(ctx, session);
      await endSession(ctx, session, "it was deleted");
      return c.body(null, 204);
    });
}

/** The job may end by itself meanwhile, or leave its session behind: the session is ended all the same. */
async function cancelIts(ctx: JobCancelContext, { job_id }: HubSession): Promise<void> {
  if (job_id === null) return;
  await cancelJob(ctx, job_id).catch((err) => {
    if (!(err instanceof AppError) || err.status >= 500) throw err;
  });
}
