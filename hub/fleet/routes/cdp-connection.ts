import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { dialHub, relayedSocket } from "#hub/platform/cluster/relay-socket.ts";
import { access } from "#hub/platform/http/access.ts";
import { calledAt } from "#hub/platform/http/called-at.ts";
import { nameOf } from "#hub/platform/http/caller.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { newApp, validationError } from "#hub/platform/http/new-app.ts";
import { fails } from "#hub/platform/http/openapi-parts.ts";
import { requireUpgrade, upgrade } from "#hub/platform/http/sockets.ts";
import { AppError, badRequest, type ErrorKind, type Issue } from "#shared/kit/errors.ts";
import { ErrorBody } from "#shared/protocol/schema/error.ts";
import { CreateSession } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { withReplayedUrl } from "../jobs/replay-index.ts";
import { openAnywhere } from "../sessions/anywhere.ts";
import { endSession } from "../sessions/end.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { findOwner } from "../sessions/places.ts";
import { requireSession } from "../sessions/registry.ts";
import type {
  OwnerContext,
  SessionAnywhereContext,
  SessionEndContext,
} from "../sessions/session-contexts.ts";
import { connectCdp, SESSION_HEADER } from "./connect-cdp.ts";
import { SessionQuery, sessionOptions } from "./session-query.ts";
import { withTokenHeader } from "./token-header.ts";

type C = Context<HttpEnv>;

const connect = createRoute({
  method: "get",
  path: "/cdp",
  access: "operate",
  new_work: true,
  takes_over: true,
  token_in_query: true,
  origins: "never",
  changes: ["sessions"],
  tags: ["sessions"],
  operationId: "openCdpConnection",
  summary: "WebSocket: open a session for the length of the connection",
  description:
    "The options of POST /sessions as a query; the same wait for a lane, and 503 after it. The header Flotilla-Session of " +
    "the answer names the session. It ends when its last client closes the connection; one whose connection was lost " +
    "has reconnect_s (15) to come back at /cdp?session=. Also as ws://hub/?….",
  request: { query: SessionQuery },
  responses: {
    101: { description: "Switching to WebSocket" },
    ...fails(400, 403, 404, 409, 422, 426, 502, 503, 504),
  },
});
const version = createRoute({
  method: "get",
  path: "/cdp/json/version",
  access: "operate",
  token_in_query: true,
  tags: ["sessions"],
  operationId: "getCdpConnectionVersion",
  summary: "Discovery: where a WebSocket opens a session",
  description: "For clients that are given http://hub/?…; the query is kept. Opens nothing.",
  request: { query: SessionQuery },
  responses: {
    200: {
      description: "As a browser answers it",
      content: { "application/json": { schema: z.record(z.string(), z.string()) } },
    },
    ...fails(422),
  },
});

/** GET /cdp (rules/sessions#sessions-of-a-connection): one address is a browser, for as long as somebody is connected. */
export function cdpConnectionRoutes(ctx: FleetContext) {
  const app = newApp();
  for (const route of [connect, version]) describeRoute(app, route);
  for (const path of ["/cdp", "/cdp/"])
    app.get(path, access(connect.rules), async (c) => {
      requireHandshake(c);
      const opened = await open(ctx, c);
      return opened instanceof Response ? connectElsewhere(ctx, c, opened) : here(ctx, c, opened);
    });
  for (const path of ["/cdp/json/version", "/cdp/json/version/"])
    app.get(path, access(version.rules), (c) => {
      inputOf(c);
      return c.json({
        Browser: `Flotilla/${ctx.version}`,
        "Protocol-Version": "1.3",
        webSocketDebuggerUrl: `${calledAt(c, "ws")}/cdp${new URL(c.req.url).search}`,
      });
    });
  return app;
}

/** No lane is taken for what cannot become a socket. */
function requireHandshake(c: C): void {
  requireUpgrade(c);
  if (c.req.header("sec-websocket-version") !== "13" || !c.req.header("sec-websocket-key"))
    throw badRequest("not a WebSocket handshake");
}

function inputOf(c: C): { options: Record<string, unknown>; input: CreateSession } {
  const options = sessionOptions(new URL(c.req.url).searchParams);
  const parsed = CreateSession.safeParse(options);
  if (!parsed.success) throw validationError(parsed.error.issues, "query", options);
  return { options, input: parsed.data };
}

async function open(
  ctx: SessionAnywhereContext & Pick<FleetContext, "objects">,
  c: C,
): Promise<HubSession | Response> {
  const { options, input: asked } = inputOf(c);
  const headers = withTokenHeader(c);
  for (const name of [...headers.keys()])
    if (name.startsWith("sec-websocket-")) headers.delete(name);
  headers.set("content-type", "application/json");
  const { signal } = c.req.raw;
  const opened_by = nameOf(c.var.caller);
  try {
    const input = await withReplayedUrl(ctx, asked);
    const body = JSON.stringify(options);
    return await openAnywhere(ctx, { input, headers, body, signal, opened_by, passed_on: false });
  } catch (err) {
    throw inQuery(err);
  }
}

/** What a caller of POST /sessions would find in the body is in the query here. */
function inQuery(err: unknown): unknown {
  if (!(err instanceof AppError) || typeof err.detail === "string") return err;
  return new AppError(err.kind, inQueryOf(err.detail));
}
const inQueryOf = (detail: Issue[]): Issue[] =>
  detail.map(({ loc: [at, ...rest], msg, type }) => {
    const loc = [at === "body" ? "query" : (at ?? "query"), ...rest];
    return { loc, msg, type };
  });

async function here(
  ctx: SessionEndContext & Pick<FleetContext, "config" | "streams">,
  c: C,
  session: HubSession,
): Promise<Response> {
  try {
    return await connectCdp(ctx, c, session, { path: "cdp" });
  } catch (err) {
    await endSession(ctx, session, "its client could not be connected");
    throw err;
  }
}

/** Another hub has opened it. What cannot be connected there ends by itself, because no client comes. */
async function connectElsewhere(
  ctx: OwnerContext & Pick<FleetContext, "awaited" | "db" | "meters" | "signal">,
  c: C,
  answer: Response,
): Promise<Response> {
  if (answer.status !== 201) return refused(answer);
  const { session_id } = (await answer.json()) as { session_id: string };
  const hub = await findOwner(ctx, session_id);
  if (hub === null) return here(ctx, c, requireSession(ctx, session_id));
  const found = await dialHub(ctx, hub, `/sessions/${session_id}/cdp`, withTokenHeader(c));
  if (found instanceof Response) return found;
  try {
    const told = { [SESSION_HEADER]: session_id };
    return upgrade(c, relayedSocket(ctx, hub, found.stream), found.protocol, told);
  } catch (err) {
    found.stream.close();
    throw err;
  }
}

const KINDS: Record<number, ErrorKind> = { 404: "not_found", 422: "invalid" };

/**
 * Its refusal as it is.
 * @throws AppError for one of which sockets are told by their close (rules/http#refused-websockets)
 */
async function refused(answer: Response): Promise<Response> {
  const kind = KINDS[answer.status];
  if (kind === undefined) return answer;
  const { detail } = ErrorBody.parse(await answer.json());
  throw new AppError(kind, typeof detail === "string" ? detail : inQueryOf(detail));
}
