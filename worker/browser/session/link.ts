import type { WorkerToHub } from "#shared/protocol/link/messages.ts";
import type { LinkSession } from "#worker/link/link-session.ts";

/** The link over which a session was opened, and the only one that receives its messages. */
export interface SessionLink extends Pick<LinkSession, "signal" | "hub"> {
  /** False when the link is gone; the message is dropped then. */
  send(message: WorkerToHub): boolean;
}
