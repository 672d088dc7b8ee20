import type { WorkerToHub } from "#shared/protocol/link/messages.ts";
import type { LinkSession } from "#worker/link/link-session.ts";

/** The link a session was opened over, and the only one that hears of it. */
export interface SessionLink extends Pick<LinkSession, "signal" | "hub"> {
  /** False when the link is gone; the message is dropped then. */
  send(message: WorkerToHub): boolean;
}
