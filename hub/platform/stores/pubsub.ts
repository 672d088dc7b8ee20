/**
 * A message as JSON: what one hub tells the others, such as events of a running job and wake-ups
 * (rules/cluster#nothing-is-decided-by-a-message).
 */
export type PubSubHandler = (message: unknown) => void;

/**
 * Messages between hubs, delivered at most once: a message that is published while the store is away is lost, so
 * whatever depends on one also checks without it from time to time. A publisher hears its own messages.
 */
export interface PubSub {
  /** Does not wait and never rejects. */
  publish(channel: string, message: unknown): void;
  /**
   * Resolves once messages arrive, or at once while the store is away: then they arrive after the next gap. Messages of
   * one hub on one channel come in the order of their publication.
   */
  subscribe(channel: string, handler: PubSubHandler): Promise<() => void>;
  /** Called after messages may have been lost: the connection was away and is there again. */
  onGap(handler: () => void): () => void;
  close(): Promise<void>;
}
