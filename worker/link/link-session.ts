import type { HubRegistered, WorkerToHub } from "#shared/protocol/link/messages.ts";
/** Gives a frame to a socket; false when that socket takes no more. */
export type Transmit = (text: string) => boolean;

/**
 * One registered link as a job sees it: it keeps its session, so nothing of an old link reaches a new one. Its socket may be
 * replaced by another.
 */
export interface LinkSession {
  readonly hub: HubRegistered;
  /** Aborts when the link is gone for good. */
  readonly signal: AbortSignal;
  /** There is no socket now; what is sent waits for the next. */
  readonly is_cut: boolean;
  /** How often its socket was lost or replaced. */
  readonly changes: number;
  /** False when the link is gone; the message is dropped then. */
  send(message: WorkerToHub): boolean;
}
