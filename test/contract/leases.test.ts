import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { AcquireLane, LaneLease, LaneLeases } from "#hub/platform/stores/leases.ts";
import { createMemoryLeases } from "#hub/platform/stores/leases-memory.ts";
import { createRedisLeases } from "#hub/platform/stores/leases-redis.ts";
import { connectRedis } from "#hub/platform/stores/redis.ts";
import { silentLog } from "#shared/kit/log.ts";
import { openRedisStores, type RedisStores, STRETCH } from "#test/support/servers/redis-stores.ts";

interface Driver {
  leases: LaneLeases;
  advance(ms: number): Promise<void>;
}

let redis: RedisStores;
beforeAll(async () => {
  redis = await openRedisStores();
});
afterAll(() => redis.close());

/** Times as the tests mean them. */
const stretched = (leases: LaneLeases): LaneLeases => ({
  ...leases,
  acquire: (input) => leases.acquire({ ...input, ttl_ms: input.ttl_ms * STRETCH }),
  renew: (worker_id, held, ttl_ms) => leases.renew(worker_id, held, ttl_ms * STRETCH),
});

const DRIVERS: Record<string, () => Promise<Driver>> = {
  memory: async () => {
    let now = Date.UTC(2026, 0, 1);
    return {
      leases: createMemoryLeases({ now: () => now, monotonic: () => now }),
      advance: async (ms) => {
        now += ms;
      },
    };
  },
  redis: async () => {
    const { prefix, advance } = redis.space();
    return { leases: stretched(createRedisLeases(redis.connection, prefix)), advance };
  },
};

const times = (n: number) => Array.from({ length: n }, (_, i) => i);
const want = (fields: Partial<AcquireLane> = {}): AcquireLane => ({
  worker_id: "w1",
  lanes: [0, 1],
  max_concurrent: 2,
  job_id: "job",
  session_id: "session",
  ttl_ms: 60_000,
  ...fields,
});

for (const [name, create] of Object.entries(DRIVERS))
  describe(`lane leases on ${name}`, () => {
    test("give the first free lane in the order of preference, with the job and session on it", async () => {
      const { leases, advance } = await create();
      const first = await leases.acquire(want({ lanes: [1, 0] }));
      expect(first).toMatchObject({
        worker_id: "w1",
        lane_idx: 1,
        job_id: "job",
        session_id: "session",
      });
      expect(await leases.acquire(want({ lanes: [1, 0] }))).toMatchObject({ lane_idx: 0 });
      expect(await leases.acquire(want({ lanes: [1, 0] }))).toBeNull();
      expect((await leases.list("w1")).map((lease) => lease.lane_idx)).toEqual([0, 1]);
      await leases.acquire(want({ worker_id: "w2", ttl_ms: 1 }));
      await advance(1);
      const both = await leases.listMany(["w2", "w1"]);
      expect([...both]).toEqual([
        ["w2", []],
        ["w1", await leases.list("w1")],
      ]);
      expect(await leases.listMany([])).toEqual(new Map());
    });

    test("never exceed max_concurrent (rules/scheduling#lane-leases), and never give a lane twice, under 100 calls at once", async () => {
      const { leases } = await create();
      const lanes = times(8);
      const got = await Promise.all(
        times(100).map(() => leases.acquire(want({ lanes, max_concurrent: 3 }))),
      );
      const held = got.filter((lease): lease is LaneLease => lease !== null);
      expect(held).toHaveLength(3);
      expect(new Set(held.map((lease) => lease.lane_idx)).size).toBe(3);
      expect(await leases.list("w1")).toHaveLength(3);
      expect(await leases.acquire(want({ worker_id: "w2" }))).not.toBeNull();
    });

    test("give nothing when no lane is warm or the worker takes none", async () => {
      const { leases } = await create();
      expect(await leases.acquire(want({ lanes: [] }))).toBeNull();
      expect(await leases.acquire(want({ max_concurrent: 0 }))).toBeNull();
    });

    test("tokens rise with every lease, on all workers", async () => {
      const { leases } = await create();
      let last = 0;
      for (const i of times(20)) {
        const lease = await leases.acquire(want({ worker_id: `w${i % 3}` }));
        expect(lease?.token).toBeGreaterThan(last);
        expect(Number.isSafeInteger(lease?.token)).toBe(true);
        last = lease?.token ?? 0;
        await leases.release(`w${i % 3}`, lease?.lane_idx ?? -1, last);
      }
    });

    test("a stale token neither holds nor releases the lane", async () => {
      const { leases } = await create();
      const old = await leases.acquire(want({ lanes: [0] }));
      const stale = old?.token ?? 0;
      expect(await leases.release("w1", 0, stale)).toBe(true);
      expect(await leases.release("w1", 0, stale)).toBe(false);
      const current = await leases.acquire(want({ lanes: [0] }));
      expect(await leases.holds("w1", 0, stale)).toBe(false);
      expect(await leases.release("w1", 0, stale)).toBe(false);
      expect(await leases.holds("w1", 0, current?.token ?? 0)).toBe(true);
    });

    test("an expired lease frees its lane; renew keeps those the hub holds", async () => {
      const { leases, advance } = await create();
      const lease = await leases.acquire(want({ ttl_ms: 1_000 }));
      const other = await leases.acquire(want({ worker_id: "w2", ttl_ms: 1_000 }));
      await advance(900);
      await leases.renew("w1", lease ? [lease] : [], 1_000);
      await advance(900);
      expect(await leases.holds("w1", 0, lease?.token ?? 0)).toBe(true);
      expect(await leases.holds("w2", 0, other?.token ?? 0)).toBe(false);
      expect(await leases.list("w2")).toEqual([]);
      await leases.renew("w2", [], 1_000);
      expect(await leases.list("w2")).toEqual([]);
      await advance(100);
      expect(await leases.release("w1", 0, lease?.token ?? 0)).toBe(false);
      expect(await leases.acquire(want({ max_concurrent: 1 }))).toMatchObject({ lane_idx: 0 });
    });

    test("renew puts back a lease the store has lost, but not over a newer one", async () => {
      const { leases, advance } = await create();
      const lost = await leases.acquire(want({ lanes: [0], ttl_ms: 1_000 }));
      if (!lost) throw new Error("no lease");
      await advance(1_000);
      await leases.renew("w1", [lost], 1_000);
      expect(await leases.list("w1")).toEqual([lost]);
      await advance(1_000);
      const newer = await leases.acquire(want({ lanes: [0] }));
      expect(newer?.token).toBeGreaterThan(lost.token);
      await leases.renew("w1", [lost], 1_000);
      expect(await leases.holds("w1", 0, lost.token)).toBe(false);
      expect(await leases.holds("w1", 0, newer?.token ?? 0)).toBe(true);
    });

    test("handOver gives the lane a new token and job, once, and only to who still holds it (rules/jobs#run-in-the-browser-of-another-job)", async () => {
      const { leases, advance } = await create();
      const first = await leases.acquire(want({ lanes: [0] }));
      const token = first?.token ?? 0;
      const [one, two] = await Promise.all([
        leases.handOver("w1", 0, token, "one"),
        leases.handOver("w1", 0, token, "two"),
      ]);
      const next = one ?? two;
      expect([one, two].filter((lease) => lease === null)).toHaveLength(1);
      expect(next).toMatchObject({ worker_id: "w1", lane_idx: 0, session_id: "session" });
      expect(["one", "two"]).toContain(next?.job_id ?? "");
      expect(next?.token).toBeGreaterThan(token);
      expect(await leases.holds("w1", 0, token)).toBe(false);
      expect(await leases.release("w1", 0, token)).toBe(false);
      expect(await leases.list("w1")).toEqual([next] as LaneLease[]);
      expect(await leases.handOver("w1", 1, token, "one")).toBeNull();
      await advance(60_000);
      expect(await leases.handOver("w1", 0, next?.token ?? 0, "late")).toBeNull();
    });

    test("releaseAll frees a worker's lanes and returns what was held", async () => {
      const { leases } = await create();
      const held = [await leases.acquire(want()), await leases.acquire(want())];
      await leases.acquire(want({ worker_id: "w2" }));
      expect(await leases.releaseAll("w1")).toEqual(held.filter((lease) => lease !== null));
      expect(await leases.releaseAll("w1")).toEqual([]);
      expect(await leases.list("w1")).toEqual([]);
      expect(await leases.list("w2")).toHaveLength(1);
    });

    test("after any run of calls each lane has at most one holder and no worker more than it takes", async () => {
      const step = fc.record({
        do: fc.constantFrom(
          "acquire" as const,
          "release" as const,
          "handOver" as const,
          "renew" as const,
          "all" as const,
          "wait" as const,
        ),
        worker: fc.constantFrom("w1", "w2"),
        pick: fc.nat(20),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
          const { leases, advance } = await create();
          const ever: LaneLease[] = [];
          for (const { do: action, worker: worker_id, pick } of steps) {
            if (action === "acquire") {
              const lease = await leases.acquire(
                want({ worker_id, lanes: [0, 1, 2], max_concurrent: 2, ttl_ms: 50 }),
              );
              if (lease) ever.push(lease);
            }
            const old = ever[pick % (ever.length || 1)];
            if (action === "release" && old)
              await leases.release(old.worker_id, old.lane_idx, old.token);
            if (action === "handOver" && old) {
              const next = await leases.handOver(old.worker_id, old.lane_idx, old.token, "next");
              if (next) ever.push(next);
            }
            if (action === "renew") await leases.renew(worker_id, await leases.list(worker_id), 50);
            if (action === "all") await leases.releaseAll(worker_id);
            if (action === "wait") await advance(pick);
            for (const id of ["w1", "w2"]) {
              const held = await leases.list(id);
              expect(held.length).toBeLessThanOrEqual(2);
              expect(new Set(held.map((lease) => lease.lane_idx)).size).toBe(held.length);
              for (const lease of held)
                expect(await leases.holds(id, lease.lane_idx, lease.token)).toBe(true);
            }
          }
        }),
        { numRuns: name === "memory" ? 100 : 25 },
      );
    });
  });

test("two hubs that lease at once never overfill a worker; tokens are unique and rise (Redis) (rules/scheduling#lane-leases)", async () => {
  const second = await connectRedis(redis.server.url, { log: silentLog });
  const step = fc.record({
    hub: fc.constantFrom(0, 1),
    do: fc.constantFrom("acquire" as const, "release" as const, "handOver" as const),
    worker: fc.constantFrom("w1", "w2"),
    pick: fc.nat(20),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { maxLength: 12 }), { maxLength: 8 }),
      async (rounds) => {
        const { prefix } = redis.space();
        const hubs = [redis.connection, second].map((c) => createRedisLeases(c, prefix));
        const ever: LaneLease[] = [];
        let highest = 0;
        for (const round of rounds) {
          const known = [...ever];
          const given = await Promise.all(
            round.map(({ hub, do: action, worker: worker_id, pick }) => {
              const leases = hubs[hub] as LaneLeases;
              const old = known[pick % (known.length || 1)];
              if (action === "acquire")
                return leases.acquire(want({ worker_id, lanes: [0, 1, 2], max_concurrent: 2 }));
              if (!old) return null;
              const { lane_idx, token } = old;
              if (action === "handOver")
                return leases.handOver(old.worker_id, lane_idx, token, `next-${pick}`);
              return leases.release(old.worker_id, lane_idx, token).then(() => null);
            }),
          );
          const fresh = given.filter((lease): lease is LaneLease => lease !== null);
          const tokens = fresh.map((lease) => lease.token);
          expect(new Set(tokens).size).toBe(tokens.length);
          for (const token of tokens) expect(token).toBeGreaterThan(highest);
          highest = Math.max(highest, ...tokens);
          ever.push(...fresh);
          for (const worker_id of ["w1", "w2"]) {
            const [seen, other] = await Promise.all(hubs.map((leases) => leases.list(worker_id)));
            expect(seen).toEqual(other as LaneLease[]);
            expect(seen?.length).toBeLessThanOrEqual(2);
            expect(new Set(seen?.map((lease) => lease.lane_idx)).size).toBe(seen?.length ?? -1);
          }
        }
      },
    ),
    { numRuns: 25 },
  );
  await second.close();
});
