import type { Context } from "hono";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import type { SocketHandlers } from "#hub/platform/http/socket-handlers.ts";
import { upgrade } from "#hub/platform/http/sockets.ts";
import { CDP_CLIENT_HEADER, writeCdpClient } from "#shared/protocol/cdp-client.ts";
import type { FleetContext } from "../context.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { bridgeOf } from "../sessions/registry.ts";
import type { SessionEndContext } from "../sessions/session-contexts.ts";
import { cdpSocket } from "../viewer/cdp-relay.ts";
import { dialBridge } from "../viewer/dial.ts";
import { callersAddress } from "./pass-on.ts";

type C = Context<HttpEnv>;

/** On the answer to a handshake: the session that the socket leads to. */
export const SESSION_HEADER = "flotilla-session";

/** A connection to `path` of the session's CDP at its worker, in the name of the caller. */
export const dialCdp = (
  ctx: Pick<FleetContext, "config" | "hub_id">,
  c: C,
  session: HubSession,
  path: string,
) =>
  dialBridge(bridgeOf(session), `/sessions/${session.session_id}/${path}`, "cdp", {
    [CDP_CLIENT_HEADER]: writeCdpClient(c.get("caller").name ?? callersAddress(ctx, c)),
  });

interface CdpConnection {
  /** `cdp`, or `cdp/devtools/<kind>/<id>` for one target. */
  path: string;
  /** What else the socket must do. */
  wrap?: ((c: C, handlers: SocketHandlers) => SocketHandlers) | undefined;
}

/** Makes the call a CDP client of the session. @throws AppError relay_failed (502) when its worker does not answer. */
export async function connectCdp(
  ctx: SessionEndContext & Pick<FleetContext, "config" | "streams">,
  c: C,
  session: HubSession,
  { path, wrap = (_c, handlers) => handlers }: CdpConnection,
): Promise<Response> {
  const bridge = await dialCdp(ctx, c, session, path);
  try {
    const handlers = wrap(c, cdpSocket(ctx, session, bridge, c.get("caller").name));
    // A link does not tell the session's id (rules/access#signed-links).
    const told: Record<string, string> = c.get("link")
      ? {}
      : { [SESSION_HEADER]: session.session_id };
    return upgrade(c, handlers, null, told);
  } catch (err) {
    bridge.close();
    throw err;
  }
}
