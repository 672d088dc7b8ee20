import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Kv } from "#hub/platform/stores/kv.ts";
import { createMemoryKv } from "#hub/platform/stores/kv-memory.ts";
import { createRedisKv } from "#hub/platform/stores/kv-redis.ts";
import { openRedisStores, type RedisStores, STRETCH } from "#test/support/servers/redis-stores.ts";

interface Driver {
  kv: Kv;
  /** Lets `ms` pass for expiry. */
  advance(ms: number): Promise<void>;
}

let redis: RedisStores;
beforeAll(async () => {
  redis = await openRedisStores();
});
afterAll(() => redis.close());

const DRIVERS: Record<string, () => Promise<Driver>> = {
  memory: async () => {
    let now = 1_000_000;
    return {
      kv: createMemoryKv({ monotonic: () => now }),
      advance: async (ms) => {
        now += ms;
      },
    };
  },
  redis: async () => {
    const { prefix, advance } = redis.space();
    const kv = createRedisKv(redis.connection, prefix);
    return {
      kv: {
        ...kv,
        set: (key, value, ttl_ms) => kv.set(key, value, ttl_ms * STRETCH),
        setIfAbsent: (key, value, ttl_ms) => kv.setIfAbsent(key, value, ttl_ms * STRETCH),
        setIf: (key, fields, value, ttl_ms) => kv.setIf(key, fields, value, ttl_ms * STRETCH),
        touch: (key, ttl_ms) => kv.touch(key, ttl_ms * STRETCH),
      },
      advance,
    };
  },
};

const TTL = 60_000;
const times = (n: number) => Array.from({ length: n }, (_, i) => i);

for (const [name, create] of Object.entries(DRIVERS))
  describe(`key-value store on ${name}`, () => {
    test("gives back any JSON value, and null for what is not there", async () => {
      const { kv } = await create();
      for (const value of ["", "text", 0, -1.5, false, [1, [2]], { a: { b: null } }]) {
        await kv.set("key", value, TTL);
        expect(await kv.get<unknown>("key")).toEqual(value);
      }
      expect(await kv.get("other")).toBeNull();
    });

    test("a value is the store's own: changing what was set or got changes nothing", async () => {
      const { kv } = await create();
      const value = { list: [1] };
      await kv.set("key:1", value, TTL);
      value.list.push(2);
      (await kv.get<typeof value>("key:1"))?.list.push(3);
      (await kv.list<typeof value>("key:1"))[0]?.value.list.push(4);
      expect(await kv.get<typeof value>("key:1")).toEqual({ list: [1] });
    });

    test("an entry is gone when its time is over, at exactly that millisecond", async () => {
      const { kv, advance } = await create();
      await kv.set("key:1", 1, 1_000);
      await advance(999);
      expect(await kv.get<number>("key:1")).toBe(1);
      await advance(1);
      expect(await kv.get("key:1")).toBeNull();
      expect(await kv.list("key:")).toEqual([]);
      expect(await kv.touch("key:1", TTL)).toBe(false);
      expect(await kv.setIfAbsent("key:1", 2, TTL)).toBe(true);
    });

    test("touch extends, and a new set starts a new time", async () => {
      const { kv, advance } = await create();
      await kv.set("touched", 1, 1_000);
      await kv.set("set", 1, 1_000);
      await advance(600);
      expect(await kv.touch("touched", 1_000)).toBe(true);
      await kv.set("set", 2, 1_000);
      await advance(600);
      expect(await kv.get<number>("touched")).toBe(1);
      expect(await kv.get<number>("set")).toBe(2);
    });

    test("of 20 setIfAbsent on one key one wins", async () => {
      const { kv } = await create();
      const won = await Promise.all(times(20).map((i) => kv.setIfAbsent("key", i, TTL)));
      expect(won.filter(Boolean)).toHaveLength(1);
      expect(await kv.get<number>("key")).toBe(won.indexOf(true));
    });

    test("deleteIf deletes a value that has these fields, and no other", async () => {
      const { kv } = await create();
      await kv.set("worker:w1", { link_hub: "a", lanes: 2 }, 1_000);
      expect(await kv.deleteIf("worker:w1", { link_hub: "b" })).toBe(false);
      expect(await kv.deleteIf("worker:w1", { link_hub: "a", instance: "x" })).toBe(false);
      expect(await kv.get("worker:w1")).not.toBeNull();
      expect(await kv.deleteIf("worker:w1", { link_hub: "a" })).toBe(true);
      expect(await kv.deleteIf("worker:w1", { link_hub: "a" })).toBe(false);
      await kv.set("text", "a", 1_000);
      expect(await kv.deleteIf("text", { link_hub: "a" })).toBe(false);
    });

    test("setIf sets what is not there or has these fields, and leaves every other value alone", async () => {
      const { kv, advance } = await create();
      const mine = { link_hub: "a", instance: "x" };
      expect(await kv.setIf("worker:w1", mine, { ...mine, lanes: 1 }, 1_000)).toBe(true);
      expect(await kv.setIf("worker:w1", mine, { ...mine, lanes: 2 }, 1_000)).toBe(true);
      expect(await kv.setIf("worker:w1", { ...mine, instance: "y" }, "other", 9_000)).toBe(false);
      expect(await kv.get<unknown>("worker:w1")).toEqual({ ...mine, lanes: 2 });
      await advance(1_000);
      expect(await kv.setIf("worker:w1", { link_hub: "b" }, { link_hub: "b" }, 1_000)).toBe(true);
      await kv.set("text", "a", 1_000);
      expect(await kv.setIf("text", { link_hub: "a" }, "b", 1_000)).toBe(false);
    });

    test("of several hubs that set one key only the first does", async () => {
      const { kv } = await create();
      const won = await Promise.all(
        times(8).map((i) => kv.setIf("key", { by: `${i}` }, { by: `${i}` }, TTL)),
      );
      expect(won.filter(Boolean).length).toBe(1);
      expect(await kv.get<unknown>("key")).toEqual({ by: `${won.indexOf(true)}` });
    });

    test("delete frees the key and is fine for one that is not there", async () => {
      const { kv } = await create();
      await kv.set("key", 1, TTL);
      await kv.delete("key");
      await kv.delete("key");
      expect(await kv.get("key")).toBeNull();
      expect(await kv.setIfAbsent("key", 2, TTL)).toBe(true);
    });

    test("list gives the live entries below a prefix, sorted by key", async () => {
      const { kv, advance } = await create();
      for (const key of ["worker:w2", "worker:w1", "workers", "worker:", "session:a"])
        await kv.set(key, key, TTL);
      await kv.set("worker:w0", "expires", 10);
      await advance(10);
      expect(await kv.list<string>("worker:")).toEqual(
        ["worker:", "worker:w1", "worker:w2"].map((key) => ({ key, value: key })),
      );
      await kv.delete("worker:w1");
      await kv.set("worker:w3", "worker:w3", TTL);
      expect((await kv.list("worker:")).map((entry) => entry.key)).toEqual([
        "worker:",
        "worker:w2",
        "worker:w3",
      ]);
    });

    test("a list names one kind of keys", async () => {
      const { kv } = await create();
      await expect(kv.list("work")).rejects.toThrow("needs a kind");
    });

    test("agrees with a plain map over any run of calls", async () => {
      const key = fc.constantFrom("a", "a:1", "a:2", "b", "b:1");
      const step = fc.oneof(
        fc.record({
          do: fc.constant("set" as const),
          key,
          value: fc.jsonValue(),
          ttl: fc.integer({ min: 1, max: 50 }),
        }),
        fc.record({
          do: fc.constant("absent" as const),
          key,
          value: fc.integer(),
          ttl: fc.integer({ min: 1, max: 50 }),
        }),
        fc.record({ do: fc.constant("touch" as const), key, ttl: fc.integer({ min: 1, max: 50 }) }),
        fc.record({ do: fc.constant("delete" as const), key }),
        fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 30 }) }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
          const { kv, advance } = await create();
          const model = new Map<string, { value: unknown; until: number }>();
          let now = 0;
          for (const s of steps) {
            if (s.do === "wait") {
              now += s.ms;
              await advance(s.ms);
              for (const [k, entry] of model) if (entry.until <= now) model.delete(k);
            } else if (s.do === "set") {
              model.set(s.key, { value: s.value, until: now + s.ttl });
              await kv.set(s.key, s.value, s.ttl);
            } else if (s.do === "absent") {
              expect(await kv.setIfAbsent(s.key, s.value, s.ttl)).toBe(!model.has(s.key));
              if (!model.has(s.key)) model.set(s.key, { value: s.value, until: now + s.ttl });
            } else if (s.do === "touch") {
              const entry = model.get(s.key);
              expect(await kv.touch(s.key, s.ttl)).toBe(entry !== undefined);
              if (entry) entry.until = now + s.ttl;
            } else {
              model.delete(s.key);
              await kv.delete(s.key);
            }
            for (const prefix of ["a:", "b:1"])
              expect((await kv.list(prefix)).map((entry) => entry.key)).toEqual(
                [...model.keys()].filter((k) => k.startsWith(prefix)).sort(),
              );
          }
          for (const [k, entry] of model)
            expect(await kv.get<unknown>(k)).toEqual(JSON.parse(JSON.stringify(entry.value)));
        }),
        { numRuns: name === "memory" ? 100 : 25 },
      );
    });
  });
