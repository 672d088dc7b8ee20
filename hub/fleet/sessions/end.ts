import type { FleetContext } from "../context.ts";
import type { HeldLane, WorkerLink } from "../links/worker-link.ts";
import { type HubSession, SessionOver } from "./hub-session.ts";
import { dropSession } from "./registry.ts";
import type { SessionEndContext } from "./session-contexts.ts";

/**
 * Ends a session in which no job runs (DELETE, its TTLs, the end of its job's record): its URLs are 404 from now on,
 * the worker ends the browser, and the lane's lease is given back when the lane is warm again.
 * @returns false when it had ended already.
 */
export async function endSession(
  ctx: SessionEndContext,
  session: HubSession,
  reason: string,
): Promise<boolean> {
  const { session_id, held, link, worker_token } = session;
  if (session.ended.aborted) return false;
  const dropped = dropSession(ctx, session, reason);
  closeOnLane(link, held, reason);
  if (worker_token !== held.lease.token)
    link.send({ type: "HubCloseSession", session_id, lease_token: worker_token, reason });
  ctx.log.info({ session_id, worker_id: link.worker_id, reason }, "session ended");
  return dropped;
}

/** Tells the worker to end the session that has this lease. A closed link has ended it already. */
export function closeOnLane(link: WorkerLink, held: HeldLane, reason: string): void {
  const { session_id, token: lease_token } = held.lease;
  // From now on `warm` gives the lane back, also when the worker never said that it took it.
  held.accepted = held.done = true;
  link.send({ type: "HubCloseSession", session_id, lease_token, reason });
}

/** The lane of this lease is free again, or about to be, so no session can be on it. */
export async function dropSessionOn(
  ctx: SessionEndContext,
  held: HeldLane,
  why = "its lane was taken away",
): Promise<void> {
  const session = ctx.sessions.get(held.lease.session_id);
  if (session?.held === held) await dropSession(ctx, session, why);
}

/**
 * The worker's link is gone, or the worker restarted: its browsers are gone with it (rules/sessions#end-of-a-session).
 * If the worker has moved, another hub may have them.
 */
export async function dropSessionsOf(
  ctx: SessionEndContext & Pick<FleetContext, "stopping">,
  worker_id: string,
  cause: string,
  moved: boolean,
): Promise<void> {
  const text = ctx.stopping.aborted ? "hub is stopping" : `its worker is gone: ${cause}`;
  const why = new SessionOver(text, { lost: true, moved });
  for (const session of [...ctx.sessions.values()])
    if (session.link.worker_id === worker_id) await dropSession(ctx, session, why);
}
