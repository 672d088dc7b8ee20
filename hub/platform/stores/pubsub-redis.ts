import type { RedisClient } from "bun";
import type { Log } from "#shared/kit/log.ts";
import type { PubSub, PubSubHandler } from "./pubsub.ts";
import { connectRedis, type Redis } from "./redis.ts";

/** Messages of the hubs of a fleet. `redis` publishes; subscribers need a connection of their own, opened here. */
export async function openRedisPubSub(
  url: string,
  { redis, prefix, log }: { redis: Redis; prefix: string; log: Log },
): Promise<PubSub> {
  const base = `${prefix}channel:`;
  const handlers = new Map<string, Set<PubSubHandler>>();
  const gaps = new Set<() => void>();
  /** Channels the current connection is subscribed to. */
  let subscribed = new Set<string>();
  let turn: Promise<void> = Promise.resolve();

  const guarded = (what: string, handle: () => void): void => {
    try {
      handle();
    } catch (err) {
      log.error({ err }, what);
    }
  };
  const deliver = (text: string, name: string): void => {
    for (const handler of [...(handlers.get(name.slice(base.length)) ?? [])])
      guarded("message handler failed", () => handler(JSON.parse(text)));
  };
  /** Makes the subscriptions those that are wanted; one caller at a time, so that they cannot overtake each other. */
  const settle = async (client: RedisClient): Promise<void> => {
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
  };
  const subscriber = await connectRedis(url, {
    log,
    onUp: async () => {
      subscribed = new Set();
    },
  });
  /** While the connection is away nothing can be done: the next one begins with everything wanted. */
  const settled = (): Promise<void> => {
    turn = turn.then(() => subscriber.call(settle)).catch(() => {});
    return turn;
  };

  const tellGap = () => {
    for (const gap of [...gaps]) guarded("gap handler failed", gap);
  };
  const back = () => void settled().then(tellGap);
  subscriber.onBack(back);
  // Whoever catches up needs this connection. Without the other one messages do not arrive yet.
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
      const of = handlers.get(channel) ?? new Set();
      handlers.set(channel, of.add(handler));
      await settled();
      return () => {
        of.delete(handler);
        if (of.size > 0 || handlers.get(channel) !== of) return;
        handlers.delete(channel);
        void settled();
      };
    },
    onGap: (handler) => {
      gaps.add(handler);
      return () => void gaps.delete(handler);
    },
    close: () => subscriber.close(),
  };
}
