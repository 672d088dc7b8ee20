import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { mayCall } from "#hub/platform/http/admit.ts";
import type { Caller } from "#hub/platform/http/caller.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { jsonBody } from "#hub/platform/http/json-text.ts";
import { type App, newApp, validationError } from "#hub/platform/http/new-app.ts";
import { fails, json } from "#hub/platform/http/openapi-parts.ts";
import { AppError, badRequest } from "#shared/kit/errors.ts";
import type { ProgramContext } from "../context.ts";
import type { McpSessions } from "./http-sessions.ts";
import { ownHttp } from "./own-http.ts";
import type { Offer } from "./server.ts";

type C = Context<HttpEnv>;

const tags = ["mcp"];

/** One message of a client; what is in it is the protocol's to judge. */
const McpMessage = z
  .looseObject({
    jsonrpc: z.literal("2.0"),
    id: z.union([z.string().max(200), z.int()]).optional(),
    method: z.string().max(200).optional(),
    params: z.record(z.string(), z.unknown()).optional(),
  })
  .openapi("McpMessage");

const SESSION_HEADER = "mcp-session-id";
const Headers = z.object({
  [SESSION_HEADER]: z.string().max(200).optional().openapi({
    description: "From the answer to `initialize`; every later message carries it.",
  }),
});

const say = createRoute({
  method: "post",
  path: "/mcp",
  access: "view",
  owner: "mcp",
  changes: [],
  calls_others: true,
  tags,
  operationId: "sendMcpMessage",
  summary: "Send a message of the Model Context Protocol",
  description:
    "For agents: streamable HTTP of the protocol, with this hub's tokens. The answer to a request is a stream of server-sent " +
    "events that ends with it; a notification is 202. What the tools do are calls of this API, made and recorded as the caller, " +
    "whose role decides which tools there are. 404: the session is over, initialize again. " +
    "503: as many agents as the hub serves are connected.",
  request: {
    headers: Headers,
    ...json(McpMessage, { jsonrpc: "2.0", id: 1, method: "ping" }),
  },
  responses: {
    200: {
      description: "Server-sent events",
      content: { "text/event-stream": { schema: z.string() } },
    },
    202: { description: "Taken; there is nothing to answer" },
    ...fails(400, 404, 413, 415, 422, 503),
  },
});
const leave = createRoute({
  method: "delete",
  path: "/mcp",
  access: "view",
  owner: "mcp",
  changes: [],
  tags,
  operationId: "endMcpSession",
  summary: "End a session of the Model Context Protocol",
  description: "Ends what it runs. Sessions of browsers that it opened stay.",
  request: { headers: Headers },
  responses: { 200: { description: "Ended" }, ...fails(400, 404) },
});

const whoseIs = ({ kind, token_id, name }: Caller): string => `${kind} ${token_id ?? name ?? ""}`;

const offerTo = (caller: Caller): Offer => ({
  may: (wanted) => mayCall(caller, wanted),
  role: caller.role ?? "any",
  fleet: true,
});

async function messageOf(c: C): Promise<z.infer<typeof McpMessage>> {
  if (!/^application\/json\b/i.test(c.req.header("content-type") ?? ""))
    throw new AppError("unsupported_media", "content-type must be application/json");
  const accept = c.req.header("accept") ?? "";
  if (!accept.includes("application/json") || !accept.includes("text/event-stream"))
    throw badRequest("Accept must name application/json and text/event-stream");
  const raw = await jsonBody(c);
  const parsed = McpMessage.safeParse(raw);
  if (!parsed.success) throw validationError(parsed.error.issues, "body", raw);
  return parsed.data;
}

/** The protocol's package is loaded for the first agent: a hub without agents starts without it. */
function whenNeeded(ctx: ProgramContext): () => Promise<McpSessions> {
  let sessions: Promise<McpSessions> | undefined;
  const open = async () => {
    const { createMcpSessions } = await import("./http-sessions.ts");
    const opened = createMcpSessions(ctx);
    ctx.streams.add(() => opened.close());
    if (ctx.stopping.aborted) await opened.close();
    return opened;
  };
  return () => {
    sessions ??= open();
    return sessions;
  };
}

/** The client that the call names. @throws AppError bad_request when it names none, not_found */
function clientOf(c: C, sessions: McpSessions) {
  const id = c.req.header(SESSION_HEADER);
  if (id === undefined) throw badRequest(`the header ${SESSION_HEADER} is required`);
  return sessions.of(id, whoseIs(c.var.caller));
}

/** The tools over streamable HTTP (rules/mcp#over-http). `answer` is the whole app, whose routes they call. */
export function mcpRoutes(ctx: ProgramContext, answer: () => App) {
  const opened = whenNeeded(ctx);
  const app = newApp();
  for (const route of [say, leave]) describeRoute(app, route);
  app.post("/mcp", access(say.rules), jsonBodyLimit, async (c) => {
    const parsedBody = await messageOf(c);
    const { method, id } = parsedBody;
    const begins =
      method === "initialize" && id !== undefined && c.req.header(SESSION_HEADER) === undefined;
    const sessions = await opened();
    const { caller } = c.var;
    if (!begins) return clientOf(c, sessions).transport.handleRequest(c.req.raw, { parsedBody });
    const http = ownHttp(c, answer());
    const { mcp, transport } = await sessions.open(whoseIs(caller), http, offerTo(caller));
    try {
      return await transport.handleRequest(c.req.raw, { parsedBody });
    } finally {
      // It was refused: nobody knows the session, and it would keep a place.
      if (transport.sessionId === undefined) await mcp.close();
    }
  });
  app.delete("/mcp", access(leave.rules), async (c) => {
    await clientOf(c, await opened()).mcp.close();
    return c.body(null, 200);
  });
  return app;
}
