import type { ByteStream } from "#hub/platform/http/byte-stream.ts";
import { closeReason } from "#hub/platform/http/close-reason.ts";
import { GOING_AWAY } from "#hub/platform/http/going-away.ts";
import type { Socket, SocketHandlers } from "#hub/platform/http/socket-handlers.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { FleetContext } from "../context.ts";
import { type HubSession, SessionOver } from "../sessions/hub-session.ts";
import { touchSession } from "../sessions/registry.ts";
import type { Watcher } from "../sessions/watchers.ts";
import { dialScreen } from "./dial.ts";
import { type InputTeller, tellsNobody } from "./input-teller.ts";
import { type Keepalive, keepAlive } from "./keepalive.ts";
import { createRfbFilter } from "./rfb-filter.ts";
import { screenWished, viewerLeft } from "./screen-wishes.ts";

/** Close codes of viewer and CDP sockets; the reason is for people. */
export const RELAY_CLOSE = {
  /** The lane's browser or VNC server ended the stream. */
  ended: 1000,
  bad_data: 1003,
  too_much: 1009,
  /** The session is over: its URL is 404 from now on. */
  session_over: 4404,
  /** The worker's bridge is not there; worth another try. */
  unreachable: 4502,
} as const;

/** Bytes of a viewer's input that wait for a worker that does not read. */
const MAX_WAITING_INPUT = 32 * 1024 * 1024;
/** Of the screen, for one viewer; pausing at once costs a fast one two system calls for every piece. */
const MAX_UNSENT_BYTES = 1024 * 1024;
/** How often input is recorded as activity. */
const TOUCH_EVERY_MS = 1_000;

/** What ends a relay from outside: the session, or the hub. Gives the function that forgets it. */
export function endWith(
  ctx: Pick<FleetContext, "streams">,
  session: HubSession,
  socket: Socket,
): () => void {
  const over = () => {
    const why: unknown = session.ended.reason;
    if (why instanceof SessionOver && why.moved) return void goAway();
    socket.close(RELAY_CLOSE.session_over, closeReason(`session ended: ${errorMessage(why)}`));
  };
  const goAway = async () => socket.close(GOING_AWAY.code, GOING_AWAY.reason);
  ctx.streams.add(goAway);
  session.ended.addEventListener("abort", over, { once: true });
  if (session.ended.aborted) over();
  return () => {
    ctx.streams.delete(goAway);
    session.ended.removeEventListener("abort", over);
  };
}

/** How long a session's end may take from the worker's bridge to the hub by way of the link. */
const END_MS = 500;

/** The bridge has closed: with the session's reason if that has ended, which may be known only a moment later. */
export async function closeEnded(
  ctx: Pick<FleetContext, "clock">,
  session: HubSession,
  socket: Socket,
  reason: string,
): Promise<void> {
  await ctx.clock.sleep(END_MS, session.ended);
  if (!session.ended.aborted) socket.close(RELAY_CLOSE.ended, reason);
}

/** Records activity, at most once a second. */
export function activityOf(ctx: Pick<FleetContext, "clock">, session: HubSession): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const now = ctx.clock.monotonic();
    if (now - last < TOUCH_EVERY_MS) return;
    last = now;
    touchSession(ctx, session);
  };
}

export const openScreen = (bridge: { base: string; token: string }, session: HubSession) =>
  dialScreen(bridge, `/sessions/${session.session_id}/websockify`);

interface ViewerOptions {
  view_only: boolean;
  teller?: InputTeller;
  /** Of the token or link that let it in. */
  name?: string | null;
}

/**
 * One viewer (rules/viewer#viewer-stream): bytes from the worker's bridge to the socket, and what the viewer may say back.
 * The bridge is read only as fast as the viewer takes it. `bridge` may be the reason why there is none.
 */
export function viewerSocket(
  ctx: Pick<FleetContext, "clock" | "streams" | "log">,
  session: HubSession,
  bridge: ByteStream | Error,
  { view_only, teller = tellsNobody, name = null }: ViewerOptions,
): SocketHandlers {
  const filter = createRfbFilter(view_only, teller.heard);
  const touch = activityOf(ctx, session);
  let forget = () => {};
  let keepalive: Keepalive | null = null;
  let watcher: Watcher | null = null;
  return {
    open: (socket) => {
      if (bridge instanceof Error)
        return socket.close(RELAY_CLOSE.unreachable, closeReason(bridge.message));
      forget = endWith(ctx, session, socket);
      keepalive = keepAlive(ctx, socket);
      teller.came();
      watcher = session.watchers.join({
        kind: "viewer",
        name,
        mode: view_only ? "view" : "control",
      });
      bridge.start({
        data: (chunk) => {
          if (socket.sendBinary(chunk) < 0 && socket.getBufferedAmount() > MAX_UNSENT_BYTES)
            bridge.pause();
        },
        close: () => void closeEnded(ctx, session, socket, "the screen was closed"),
      });
    },
    message: (socket, frame) => {
      if (bridge instanceof Error) return;
      if (typeof frame === "string")
        return socket.close(RELAY_CLOSE.bad_data, "VNC is spoken in binary frames");
      try {
        const { forward, input, screen } = filter.push(frame);
        for (const bytes of forward)
          if (bridge.write(bytes) > MAX_WAITING_INPUT)
            return socket.close(RELAY_CLOSE.too_much, "the worker does not read the input");
        if (screen) screenWished(session, filter, screen);
        if (!input || view_only) return;
        touch();
        watcher?.acted();
      } catch (err) {
        socket.close(RELAY_CLOSE.bad_data, closeReason(errorMessage(err)));
      }
    },
    drain: () => {
      if (!(bridge instanceof Error)) bridge.resume();
    },
    pong: () => keepalive?.heard(),
    close: () => {
      forget();
      keepalive?.stop();
      watcher?.leave();
      if (!(bridge instanceof Error)) bridge.close();
      viewerLeft(ctx, session, filter);
      if (!(bridge instanceof Error)) teller.left();
    },
  };
}
