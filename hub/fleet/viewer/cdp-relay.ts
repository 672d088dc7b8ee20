import type { ByteStream } from "#hub/platform/http/byte-stream.ts";
import { closeReason } from "#hub/platform/http/close-reason.ts";
import type { Socket, SocketHandlers } from "#hub/platform/http/socket-handlers.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { createFrameReader, encodeFrame, type Frame, OPCODE } from "#shared/kit/ws-frames.ts";
import { MAX_CDP_FRAME_BYTES } from "#shared/protocol/limits.ts";
import type { FleetContext } from "../context.ts";
import { cdpClientCame } from "../sessions/cdp-presence.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import type { SessionEndContext } from "../sessions/session-contexts.ts";
import type { Watcher } from "../sessions/watchers.ts";
import { type Keepalive, keepAlive } from "./keepalive.ts";
import { activityOf, closeEnded, endWith, RELAY_CLOSE } from "./relay.ts";

/** Commands that wait for a browser that does not read: one of the largest, and what follows it. */
const MAX_WAITING_BYTES = 2 * MAX_CDP_FRAME_BYTES;

const CLOSED = "the browser closed the connection";
/** Normal, going away, and a close without a code: whoever sends one of these does not mean to come back. */
const FAREWELLS = [1000, 1001, 1005];

/**
 * One CDP client (rules/cdp#cdp-endpoint): its text messages to the worker's bridge and back, unread; the bridge judges them.
 * Losing the client ends its connection to the browser and nothing else.
 */
export function cdpSocket(
  ctx: SessionEndContext & Pick<FleetContext, "streams">,
  session: HubSession,
  bridge: ByteStream,
  name: string | null = null,
): SocketHandlers {
  const touch = activityOf(ctx, session);
  let forget = () => {};
  let keepalive: Keepalive | null = null;
  let watcher: Watcher | null = null;
  let gone: ((closed: boolean) => void) | null = null;
  /** The worker says farewell after Browser.close; without one its end of the connection broke. */
  let from_worker: "open" | "over" | "broken" = "open";
  /** What the socket could no longer take; the bridge is paused meanwhile. */
  let backlog: string[] = [];
  let full = false;

  /** Bun drops what is sent far above its limit, so nothing is sent while it says that it is full. */
  const deliver = (socket: Socket, text: string) => {
    if (full) return void backlog.push(text);
    if (socket.send(text) >= 0) return;
    full = true;
    bridge.pause();
  };
  const take = (socket: Socket, { opcode, payload }: Frame) => {
    if (opcode === OPCODE.text) return deliver(socket, payload.toString());
    if (opcode !== OPCODE.close) return;
    from_worker = "over";
    socket.close(RELAY_CLOSE.ended, CLOSED);
  };

  return {
    max_frame_bytes: MAX_CDP_FRAME_BYTES,
    open: (socket) => {
      forget = endWith(ctx, session, socket);
      keepalive = keepAlive(ctx, socket);
      watcher = session.watchers.join({ kind: "cdp", name, mode: "control" });
      gone = cdpClientCame(ctx, session);
      const reader = createFrameReader(MAX_CDP_FRAME_BYTES, (frame) => take(socket, frame));
      bridge.start({
        data: (chunk) => {
          try {
            reader.push(chunk);
          } catch (err) {
            socket.close(RELAY_CLOSE.too_much, closeReason(errorMessage(err)));
          }
        },
        close: () => {
          if (from_worker === "open") from_worker = "broken";
          void closeEnded(ctx, session, socket, CLOSED);
        },
      });
    },
    message: (socket, frame) => {
      if (typeof frame !== "string")
        return socket.close(RELAY_CLOSE.bad_data, "CDP is spoken in text frames");
      touch();
      watcher?.acted();
      // In one write: two would be two packets.
      if (bridge.write(encodeFrame(OPCODE.text, Buffer.from(frame), true)) > MAX_WAITING_BYTES)
        socket.close(RELAY_CLOSE.too_much, "the browser does not read its commands");
    },
    drain: (socket) => {
      full = false;
      const waiting = backlog;
      backlog = [];
      for (const text of waiting) deliver(socket, text);
      if (!full) bridge.resume();
    },
    pong: () => keepalive?.heard(),
    close: (_socket, code) => {
      forget();
      keepalive?.stop();
      watcher?.leave();
      gone?.(from_worker !== "broken" && FAREWELLS.includes(code));
      bridge.close();
      backlog = [];
    },
  };
}
