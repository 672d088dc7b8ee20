import type { Log } from "#shared/kit/log.ts";
import type { PubSub, PubSubHandler } from "./pubsub.ts";

/** Messages within one process: of a single hub, and of the hubs of a test. */
export function createMemoryPubSub(log: Log): PubSub {
  const channels = new Map<string, Set<PubSubHandler>>();
  return {
    publish: (channel, message) => {
      // Delivered as if from another process: as text, and never in the publisher's own turn.
      const text = JSON.stringify(message);
      queueMicrotask(() => {
        for (const handler of [...(channels.get(channel) ?? [])])
          try {
            handler(JSON.parse(text));
          } catch (err) {
            log.error({ err }, "message handler failed");
          }
      });
    },
    subscribe: async (channel, handler) => {
      const of = channels.get(channel) ?? new Set();
      channels.set(channel, of.add(handler));
      return () => {
        of.delete(handler);
        if (of.size === 0 && channels.get(channel) === of) channels.delete(channel);
      };
    },
    onGap: () => () => {},
    close: async () => channels.clear(),
  };
}
