import type { Context } from "hono";
import type { AppError } from "#shared/kit/errors.ts";
import { issueText } from "#shared/kit/issue-text.ts";
import { closeReason } from "./close-reason.ts";
import type { HttpEnv } from "./env.ts";
import type { SocketHandlers } from "./socket-handlers.ts";
import { isUpgrade } from "./sockets.ts";

/**
 * Refusals that a client can fix, or after which it must stop asking. A client that may not connect at all gets no
 * socket.
 */
const TOLD = new Set([404, 422]);
/** Close codes from 4000 on are the application's. */
const CLOSE_BASE = 4_000;

/** `query.since must be …` of the first rule that was broken. */
function reasonOf({ detail, message }: AppError): string {
  if (typeof detail === "string") return message;
  const [issue] = detail;
  return issue ? issueText(issue.loc, issue.msg) : message;
}

/**
 * A browser shows its page no status of a refused handshake, only close code 1006. So a WebSocket that is refused with
 * 404 or 422 is opened, and closed at once with 4404 or 4422 and the reason (rules/http#refused-websockets).
 * @returns null for any other refusal, and for a call that is not a complete WebSocket handshake.
 */
export function refuseSocket(c: Context<HttpEnv>, err: AppError): Response | null {
  if (!TOLD.has(err.status) || !isUpgrade(c)) return null;
  const handlers: SocketHandlers = {
    open: (socket) => socket.close(CLOSE_BASE + err.status, closeReason(reasonOf(err))),
  };
  // A browser that has offered protocols accepts no answer without one of them.
  const [protocol = ""] = (c.req.header("sec-websocket-protocol") ?? "").split(/ *, */);
  const headers: Record<string, string> =
    protocol === "" ? {} : { "Sec-WebSocket-Protocol": protocol };
  return c.env.server?.upgrade(c.req.raw, { data: handlers, headers }) ? new Response(null) : null;
}
