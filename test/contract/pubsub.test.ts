import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { PubSub } from "#hub/platform/stores/pubsub.ts";
import { createMemoryPubSub } from "#hub/platform/stores/pubsub-memory.ts";
import { openRedisPubSub } from "#hub/platform/stores/pubsub-redis.ts";
import { silentLog } from "#shared/kit/log.ts";
import { openRedisStores, type RedisStores } from "#test/support/servers/redis-stores.ts";

let redis: RedisStores;
const open: PubSub[] = [];
beforeAll(async () => {
  redis = await openRedisStores();
});
afterAll(async () => {
  await Promise.all(open.map((pubsub) => pubsub.close()));
  await redis.close();
});

/** Two hubs of one fleet; in one process they are one where the store is memory. */
const DRIVERS: Record<string, () => Promise<[PubSub, PubSub]>> = {
  memory: async () => {
    const pubsub = createMemoryPubSub(silentLog);
    open.push(pubsub);
    return [pubsub, pubsub];
  },
  redis: async () => {
    const { prefix } = redis.space();
    const hub = () =>
      openRedisPubSub(redis.server.url, { redis: redis.connection, prefix, log: silentLog });
    const both: [PubSub, PubSub] = [await hub(), await hub()];
    open.push(...both);
    return both;
  },
};

/** What arrives on a channel; `take` resolves with the next. */
async function listen(pubsub: PubSub, channel: string) {
  const got: unknown[] = [];
  const waiting: ((message: unknown) => void)[] = [];
  const stop = await pubsub.subscribe(channel, (message) => {
    const next = waiting.shift();
    if (next) next(message);
    else got.push(message);
  });
  const take = (): Promise<unknown> =>
    got.length > 0 ? Promise.resolve(got.shift()) : new Promise((resolve) => waiting.push(resolve));
  return { got, take, stop };
}

for (const [name, create] of Object.entries(DRIVERS))
  describe(`messages between hubs over ${name}`, () => {
    test("reach every subscriber of the channel in every hub, the publisher's own too, in order", async () => {
      const [a, b] = await create();
      const own = await listen(a, "events");
      const other = await listen(b, "events");
      const third = await listen(b, "events");
      const elsewhere = await listen(b, "wake");
      for (const n of [1, 2, 3]) a.publish("events", { n });
      for (const heard of [own, other, third])
        for (const n of [1, 2, 3]) expect(await heard.take()).toEqual({ n });
      a.publish("wake", null);
      expect(await elsewhere.take()).toBeNull();
      expect(elsewhere.got).toEqual([]);
    });

    test("a message is a value of its own for each subscriber", async () => {
      const [a] = await create();
      const [one, two] = [await listen(a, "x"), await listen(a, "x")];
      const message = { list: ["ä\u0000"] };
      a.publish("x", message);
      message.list.push("later");
      const first = (await one.take()) as typeof message;
      first.list.push("changed");
      expect(await two.take()).toEqual({ list: ["ä\u0000"] });
    });

    test("end with the subscription, and begin again with the next one", async () => {
      const [a, b] = await create();
      const first = await listen(b, "x");
      const kept = await listen(b, "y");
      first.stop();
      first.stop();
      const again = await listen(b, "x");
      a.publish("x", 1);
      expect(await again.take()).toBe(1);
      again.stop();
      a.publish("x", 2);
      a.publish("y", 3);
      expect(await kept.take()).toBe(3);
      expect(first.got).toEqual([]);
      expect(again.got).toEqual([]);
    });

    test("a subscriber that throws takes nothing from the others", async () => {
      const [a, b] = await create();
      const stop = await b.subscribe("x", () => {
        throw new Error("not mine");
      });
      const heard = await listen(b, "x");
      a.publish("x", 1);
      a.publish("x", 2);
      expect([await heard.take(), await heard.take()]).toEqual([1, 2]);
      stop();
    });

    test("any order of subscribing and ending leaves exactly the last ones subscribed", async () => {
      const [a, b] = await create();
      const channels = ["a", "b", "c"];
      let live = new Map<string, Awaited<ReturnType<typeof listen>>>();
      for (let round = 0; round < 31; round += 1) {
        const channel = channels[(round * 7) % 3] ?? "a";
        const now = live.get(channel);
        if (now) {
          now.stop();
          live.delete(channel);
        } else live = new Map([...live, [channel, await listen(b, channel)]]);
      }
      for (const channel of channels) a.publish(channel, channel);
      for (const [channel, heard] of live) expect(await heard.take()).toBe(channel);
      expect(live.size).toBeGreaterThan(0);
    });
  });
