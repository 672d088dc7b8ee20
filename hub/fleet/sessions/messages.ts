import type {
  SessionEnded,
  SessionOpened,
  SessionRefused,
} from "#shared/protocol/link/messages.ts";
import { heardOf, type WorkerLink } from "../links/worker-link.ts";
import { closeOnLane } from "./end.ts";
import { dropSession } from "./registry.ts";
import type { SessionEndContext } from "./session-contexts.ts";

/** What a worker says about its sessions; under a lease other than the lane's it is stale and changes nothing. */
export async function sessionMessage(
  ctx: SessionEndContext,
  link: WorkerLink,
  message: SessionOpened | SessionRefused | SessionEnded,
): Promise<void> {
  const { session_id, lease_token } = message;
  const held = heardOf(link.heldFor(session_id, lease_token));
  switch (message.type) {
    case "SessionOpened": {
      if (held && !held.done) {
        held.accepted = true;
        const { url, title } = message;
        held.answer({ kind: "opened", url, title });
      } else if (held) closeOnLane(link, held, "nobody waits for it any more");
      else {
        const reason = "the lease is stale";
        link.send({ type: "HubCloseSession", session_id, lease_token, reason });
      }
      return;
    }
    case "SessionRefused":
      return held?.answer({
        kind: "refused",
        reason: message.reason,
        page: message.kind === "page",
      });
    case "SessionEnded": {
      const session = ctx.sessions.get(session_id);
      if (session?.link !== link) return;
      if (session.held !== held && session.worker_token !== lease_token) return;
      // A running job itself says how it ended.
      if (session.kind !== "job") session.held.done = true;
      ctx.log.info(
        { session_id, worker_id: link.worker_id, reason: message.reason },
        "session ended",
      );
      await dropSession(ctx, session, message.reason);
      return;
    }
    default:
      message satisfies never;
  }
}
