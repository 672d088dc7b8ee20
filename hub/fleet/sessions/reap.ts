import { lacksCdpClients } from "./cdp-presence.ts";
import { endSession } from "./end.ts";
import type { HubSession } from "./hub-session.ts";
import type { SessionEndContext } from "./session-contexts.ts";

/**
 * Why the session's time is up; null while it is not (rules/sessions#end-of-a-session). A job's session lives as long
 * as the job.
 */
function overdue(session: HubSession, now: number): string | null {
  if (session.kind === "job" || session.idle_ttl_ms === null) return null;
  if (now >= session.expires_at) return "its time is up";
  // What runs is activity, however long it takes.
  if (session.calls > 0) return null;
  const alone = lacksCdpClients(session, now);
  if (alone !== null) return alone;
  if (now - session.last_active_at < session.idle_ttl_ms) return null;
  return `idle for ${session.idle_ttl_ms / 1_000} s`;
}

/** Ends every session whose idle or absolute TTL has passed (rules/sessions#idle-time, rules/sessions#absolute-lifetime). */
export async function reapSessionsOnce(ctx: SessionEndContext): Promise<void> {
  const now = ctx.clock.monotonic();
  for (const session of [...ctx.sessions.values()]) {
    const reason = overdue(session, now);
    if (reason === null) continue;
    ctx.meters.sessions_expired.inc({ kind: session.kind });
    await endSession(ctx, session, reason);
  }
}
