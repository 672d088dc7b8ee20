import type { HubRegistered, WorkerToHub } from "#shared/protocol/link/messages.ts";
/** Gives a frame to a socket; false when that socket accepts no more. */
export type Transmit = (text: string) => boolean;

/**
 * One registered link as a job sees it: the job keeps its session, so nothing from an old link reaches a new one. Its
 * socket may be replaced by another.
 */
export interface LinkSession {
  readonly hub: HubRegistered;
  /** Aborts when the link is gone for good. */
  readonly signal: AbortSignal;
  /** Whether there is no socket now; messages wait for the next. */
  readonly is_cut: boolean;
  /** How often its socket was lost or replaced. */
  readonly changes: number;
  /** False when the link is gone; the message is dropped then. */
  send(message: WorkerToHub): boolean;
}
