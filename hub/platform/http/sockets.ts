import type { WebSocketHandler } from "bun";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { MAX_CDP_FRAME_BYTES, MAX_LINK_FRAME_BYTES } from "#shared/protocol/limits.ts";
import type { HttpEnv } from "./env.ts";
import type { Socket, SocketHandlers } from "./socket-handlers.ts";

const TOO_BIG = 1009;

/**
 * Bun has one limit for the whole server: that of CDP clients. Every other socket is closed with 1009 above the link's
 * limit. Bun's own pings find a dead peer.
 */
export const websocket: WebSocketHandler<SocketHandlers> = {
  maxPayloadLength: MAX_CDP_FRAME_BYTES,
  backpressureLimit: 16 * 1024 * 1024,
  idleTimeout: 120,
  sendPings: true,
  open: (socket) => socket.data.open?.(socket),
  message: (socket, frame) => {
    const limit = socket.data.max_frame_bytes ?? MAX_LINK_FRAME_BYTES;
    if (frame.length > limit) socket.close(TOO_BIG, `a frame is at most ${limit} bytes`);
    else socket.data.message?.(socket, frame);
  },
  pong: (socket) => socket.data.pong?.(socket),
  drain: (socket) => socket.data.drain?.(socket),
  close: (socket, code, reason) => socket.data.close?.(socket, code, reason),
};

export const isUpgrade = (c: Context): boolean =>
  c.req.header("upgrade")?.toLowerCase() === "websocket";

export function requireUpgrade(c: Context): void {
  if (!isUpgrade(c)) throw new HTTPException(426, { message: "this is a WebSocket endpoint" });
}

/** How soon a socket ends after the token or the session that opened it: revoked, expired or logged out. */
const LOOK_MS = 2_000;
/** 4000 and the status with which a new one would be refused. */
const LOGGED_OUT = { code: 4401, reason: "its token or login does not count any more" };

function endingWithLogin(handlers: SocketHandlers, still: () => Promise<boolean>): SocketHandlers {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;
  const look = (socket: Socket) => {
    timer = setTimeout(async () => {
      // While the database does not answer, no one is cut off.
      const holds = await still().catch(() => true);
      if (closed) return;
      if (holds) look(socket);
      else socket.close(LOGGED_OUT.code, LOGGED_OUT.reason);
    }, LOOK_MS);
  };
  return {
    ...handlers,
    open: (socket) => {
      handlers.open?.(socket);
      if (!closed) look(socket);
    },
    close: (socket, code, reason) => {
      closed = true;
      clearTimeout(timer);
      handlers.close?.(socket, code, reason);
    },
  };
}

/**
 * Turns the request into a WebSocket. `protocol`: the subprotocol that was agreed on; `more`: headers of the answer.
 * @throws HTTPException 426 when it did not ask for one.
 */
export function upgrade(
  c: Context<HttpEnv>,
  handlers: SocketHandlers,
  protocol: string | null = null,
  more: Record<string, string> = {},
): Response {
  requireUpgrade(c);
  const headers = new Headers(more);
  if (protocol !== null) headers.set("Sec-WebSocket-Protocol", protocol);
  const { still } = c.var;
  const data = still === undefined ? handlers : endingWithLogin(handlers, still);
  if (!c.env.server?.upgrade(c.req.raw, { data, headers }))
    throw new HTTPException(400, { message: "not a WebSocket handshake" });
  // Bun has taken the connection; Hono only needs some Response.
  return new Response(null);
}
