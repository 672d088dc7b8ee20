import type { Context } from "hono";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { isHeld } from "#hub/platform/http/if-none-match.ts";
import type { SocketHandlers } from "#hub/platform/http/socket-handlers.ts";
import { upgrade } from "#hub/platform/http/sockets.ts";
import type { FleetContext } from "../context.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { bridgeOf } from "../sessions/registry.ts";
import { probeBridge } from "../viewer/dial.ts";
import { createInputTeller, tellsNobody } from "../viewer/input-teller.ts";
import { VIEWER_PAGE } from "../viewer/page.ts";
import { openScreen, viewerSocket } from "../viewer/relay.ts";
import { viewerScript } from "../viewer/script.ts";
import { callersAddress } from "./pass-on.ts";

type C = Context<HttpEnv>;

/** No frame restriction of any kind: anyone may embed the viewer (rules/http#frames). The URL is a key, so it leaks to nobody. */
const HEADERS = { "Referrer-Policy": "no-referrer", "Cache-Control": "no-store" };
const ON = /^(1|true|yes|on)$/i;

/** By its query, `view_only=true`. */
export const asksToWatch = (c: C): boolean => ON.test(c.req.query("view_only") ?? "");

const agreedProtocol = (c: C): string | null =>
  (c.req.header("sec-websocket-protocol") ?? "").split(/ *, */).includes("binary")
    ? "binary"
    : null;

/** @throws AppError relay_failed when the worker does not answer */
export async function viewerPage(
  { clock }: Pick<FleetContext, "clock">,
  c: C,
  session: HubSession,
): Promise<Response> {
  await probeBridge(clock, bridgeOf(session));
  return c.html(VIEWER_PAGE, 200, HEADERS);
}

export async function viewerScriptFile(c: C): Promise<Response> {
  const { text, etag } = await viewerScript();
  const headers = { ...HEADERS, "Cache-Control": "no-cache", ETag: etag };
  if (isHeld(c, etag)) return c.body(null, 304, headers);
  return c.body(text, 200, { ...headers, "Content-Type": "text/javascript; charset=utf-8" });
}

interface StreamOptions {
  view_only: boolean;
  /** What else the socket must do. */
  wrap?: (handlers: SocketHandlers) => SocketHandlers;
}

/** Tells the worker what this viewer does, for the session's recordings, if its version takes that. */
function tellerOf(
  ctx: Pick<FleetContext, "clock" | "config" | "hub_id">,
  c: C,
  { link, session_id }: HubSession,
  view_only: boolean,
) {
  if (link.capabilities.viewer_events !== true) return tellsNobody;
  return createInputTeller({
    clock: ctx.clock,
    viewer: { name: c.get("caller").name, address: callersAddress(ctx, c) },
    view_only,
    send: (events) => void link.send({ type: "HubViewerEvents", session_id, events }),
  });
}

/** The session's screen over this call's WebSocket. */
export async function viewerStream(
  ctx: Pick<FleetContext, "clock" | "config" | "hub_id" | "streams" | "log">,
  c: C,
  session: HubSession,
  { view_only, wrap = (handlers) => handlers }: StreamOptions,
): Promise<Response> {
  // A browser does not show the status of a refused handshake, only the reason of a close.
  // Bun no longer gives the address of a socket once it is open.
  const teller = tellerOf(ctx, c, session, view_only);
  const bridge = await openScreen(bridgeOf(session), session).catch((err: Error) => err);
  try {
    const { name } = c.get("caller");
    const handlers = viewerSocket(ctx, session, bridge, { view_only, teller, name });
    return upgrade(c, wrap(handlers), agreedProtocol(c));
  } catch (err) {
    if (!(bridge instanceof Error)) bridge.close();
    throw err;
  }
}
