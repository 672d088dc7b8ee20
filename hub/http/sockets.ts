import type { ServerWebSocket, WebSocketHandler } from "bun";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { MAX_LINK_FRAME_BYTES } from "#shared/limits.ts";
import type { HttpEnv } from "./env.ts";

export type Socket = ServerWebSocket<SocketHandlers>;

/** What a route does with its socket. Unlike Hono's helper it sees `drain`, which backpressure needs. */
export interface SocketHandlers {
  open?(socket: Socket): void;
  message?(socket: Socket, frame: string | Uint8Array): void;
  drain?(socket: Socket): void;
  close?(socket: Socket, code: number, reason: string): void;
}

/** Frames larger than the link's limit close the socket (1009); a dead peer is found by Bun's own pings. */
export const websocket: WebSocketHandler<SocketHandlers> = {
  maxPayloadLength: MAX_LINK_FRAME_BYTES,
  backpressureLimit: 16 * 1024 * 1024,
  idleTimeout: 120,
  sendPings: true,
  open: (socket) => socket.data.open?.(socket),
  message: (socket, frame) => socket.data.message?.(socket, frame),
  drain: (socket) => socket.data.drain?.(socket),
  close: (socket, code, reason) => socket.data.close?.(socket, code, reason),
};

export const isUpgrade = (c: Context): boolean =>
  c.req.header("upgrade")?.toLowerCase() === "websocket";

export function requireUpgrade(c: Context): void {
  if (!isUpgrade(c)) throw new HTTPException(426, { message: "this is a WebSocket endpoint" });
}

/** Turns the request into a WebSocket. @throws HTTPException 426 when it did not ask for one. */
export function upgrade(c: Context<HttpEnv>, handlers: SocketHandlers): Response {
  requireUpgrade(c);
  if (!c.env.server?.upgrade(c.req.raw, { data: handlers }))
    throw new HTTPException(400, { message: "not a WebSocket handshake" });
  // Bun has taken the connection; the value only has to be a Response for Hono.
  return new Response(null);
}
