import type { RedisClient } from "bun";
import type { Log } from "#shared/kit/log.ts";
import type { PubSub, PubSubHandler } from "./pubsub.ts";
import { connectRedis, type Redis } from "./redis.ts";

/** The listeners of each channel. */
function createHandlers(base: string, guarded: (what: string, handle: () => void) => void) {
  const handlers = new Map<string, Set<PubSubHandler>>();
  /** Channels the current connection is subscribed to. */
  let subscribed = new Set<string>();
  const deliver = (text: string, name: string): void => {
    for (const handler of [...(handlers.get(name.slice(base.length)) ?? [])])
      guarded("message handler failed", () => handler(JSON.parse(text)));
  };
  return {
    /** A new connection is subscribed to nothing. */
    connected: () => {
      subscribed = new Set();
    },
    add: (channel: string, handler: PubSubHandler) => {
      const of = handlers.get(channel) ?? new Set();
      handlers.set(channel, of.add(handler));
      /** Whether the channel is no longer wanted. */
      return (): boolean => {
        of.delete(handler);
        if (of.size > 0 || handlers.get(channel) !== of) return false;
        return handlers.delete(channel);
      };
    },
    /** Brings the subscriptions to those that are wanted. */
    settle: async (client: RedisClient): Promise<void> => {
      const missing = [...handlers.keys()].filter((channel) => !subscribed.has(channel));
      if (missing.length > 0) {
        for (const channel of missing) subscribed.add(channel);
        await client.subscribe(
          missing.map((channel) => base + channel),
          deliver,
        );
      }
      const extra = [...subscribed].filter((channel) => !handlers.has(channel));
      if (extra.length === 0) return;
      for (const channel of extra) subscribed.delete(channel);
      await client.unsubscribe(extra.map((channel) => base + channel));
    },
  };
}

/** Messages of the hubs of a fleet. `redis` publishes; subscribers need a connection of their own, opened here. */
export async function openRedisPubSub(
  url: string,
  { redis, prefix, log }: { redis: Redis; prefix: string; log: Log },
): Promise<PubSub> {
  const base = `${prefix}channel:`;
  const gaps = new Set<() => void>();
  const guarded = (what: string, handle: () => void): void => {
    try {
      handle();
    } catch (err) {
      log.error({ err }, what);
    }
  };
  const handlers = createHandlers(base, guarded);
  const subscriber = await connectRedis(url, { log, onUp: async () => handlers.connected() });
  let turn: Promise<void> = Promise.resolve();
  /**
   * One caller at a time, so they cannot overtake each other. While the connection is away, nothing can be done: the
   * next connection subscribes to everything wanted.
   */
  const settled = (): Promise<void> => {
    turn = turn.then(() => subscriber.call(handlers.settle)).catch(() => {});
    return turn;
  };

  const tellGap = () => {
    for (const gap of [...gaps]) guarded("gap handler failed", gap);
  };
  const back = () => void settled().then(tellGap);
  subscriber.onBack(back);
  // Listeners that catch up need this connection. Without the other one, messages do not arrive yet.
  redis.onBack(() => {
    if (subscriber.connected) back();
  });

  return {
    publish: (channel, message) => {
      const text = JSON.stringify(message);
      // A message that does not arrive is a gap like any other.
      redis.call((client) => client.publish(base + channel, text)).catch(() => {});
    },
    subscribe: async (channel, handler) => {
      const remove = handlers.add(channel, handler);
      await settled();
      return () => {
        if (remove()) void settled();
      };
    },
    onGap: (handler) => {
      gaps.add(handler);
      return () => void gaps.delete(handler);
    },
    close: () => subscriber.close(),
  };
}
