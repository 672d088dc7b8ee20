/**
 * A message as JSON: what one hub tells the others, such as events of a running job and wake-ups
 * (rules/cluster#nothing-is-decided-by-a-message).
 */
export type PubSubHandler = (message: unknown) => void;

/**
 * Messages between hubs, at most once: one that is published while the store is away is lost, so whoever depends on a
 * message also looks for itself now and then. A publisher hears its own messages.
 */
export interface PubSub {
  /** Does not wait and never rejects. */
  publish(channel: string, message: unknown): void;
  /**
   * Resolves when messages arrive, or at once while the store is away: then they arrive from the next gap on. Calls of one
   * channel come in the order they were published by one hub.
   */
  subscribe(channel: string, handler: PubSubHandler): Promise<() => void>;
  /** Called after messages may have been lost: the connection was away and is there again. */
  onGap(handler: () => void): () => void;
  close(): Promise<void>;
}
