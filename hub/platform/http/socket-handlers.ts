import type { ServerWebSocket } from "bun";

export type Socket = ServerWebSocket<SocketHandlers>;

/** What a route does with its socket. Unlike Hono's helper it sees `drain`, which backpressure needs. */
export interface SocketHandlers {
  open?(socket: Socket): void;
  message?(socket: Socket, frame: string | Uint8Array): void;
  drain?(socket: Socket): void;
  /** A ping of this server was answered. */
  pong?(socket: Socket): void;
  /** The largest accepted frame; by default the link's limit. */
  max_frame_bytes?: number;
  close?(socket: Socket, code: number, reason: string): void;
}
