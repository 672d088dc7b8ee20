import { endSession } from "./end.ts";
import type { HubSession } from "./hub-session.ts";
import type { SessionEndContext } from "./session-contexts.ts";

/** How long a session that ends with its CDP clients waits for the first of them. */
const FIRST_MS = 30_000;

/**
 * A CDP client is there (rules/sessions#sessions-of-a-connection). Call what is returned once, when it has gone: `closed`
 * says that it closed its connection and did not lose it.
 */
export function cdpClientCame(
  ctx: SessionEndContext,
  session: HubSession,
): (closed: boolean) => void {
  const { cdp, reconnect_ms, session_id } = session;
  cdp.clients += 1;
  cdp.came = true;
  return (closed) => {
    cdp.clients -= 1;
    cdp.left_at = ctx.clock.monotonic();
    if (!closed || cdp.clients > 0 || reconnect_ms === null || session.kind === "job") return;
    void endSession(ctx, session, "its last CDP client closed the connection").catch((err) =>
      ctx.log.warn({ session_id, err }, "a session that ended with its client was not recorded"),
    );
  };
}

/** Why the session ends for want of CDP clients; null while it does not. */
export function lacksCdpClients({ cdp, reconnect_ms }: HubSession, now: number): string | null {
  if (reconnect_ms === null || cdp.clients > 0) return null;
  const waits_ms = cdp.came ? reconnect_ms : Math.max(reconnect_ms, FIRST_MS);
  if (now - cdp.left_at < waits_ms) return null;
  return cdp.came
    ? `no CDP client came back within ${reconnect_ms / 1_000} s`
    : "no CDP client came";
}
