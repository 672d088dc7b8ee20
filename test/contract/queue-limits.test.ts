import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { openPostgres } from "#hub/platform/db/postgres.ts";
import type { Claim, ClaimedTask, ClaimOp, DoneTask } from "#hub/platform/db/queue/queue-store.ts";
import { silentLog } from "#shared/kit/log.ts";
import type { RateLimit } from "#shared/protocol/schema/workload.ts";
import { eachQueue, type QueueRig, START, task } from "#test/support/models/queue-store.ts";

const claimOp = (workload_id: number, more: Partial<ClaimOp> = {}): ClaimOp => ({
  op: "claim",
  worker: "w1",
  worker_id: "worker-1",
  workload_id,
  max: 10,
  lease_ms: 60_000,
  timeout_ms: null,
  max_in_flight: null,
  rate_limit: null,
  ...more,
});
const done = ({ task_id, epoch }: ClaimedTask): DoneTask => ({
  task_id,
  epoch,
  output: null,
  duration_ms: 1,
  stdout: "",
  stderr: "",
  truncated: false,
});

async function queueOf(rig: QueueRig, n: number): Promise<number> {
  const id = await rig.addWorkload("work");
  const tasks = Array.from({ length: n }, (_, i) => task(`t${i}`));
  await rig.call({ op: "submit", workload_id: id, tasks });
  return id;
}

/** The most claims that any window of `per_s` seconds holds. */
function fullestWindow(times: readonly number[], { per_s }: RateLimit): number {
  const sorted = times.toSorted((a, b) => a - b);
  let first = 0;
  let most = 0;
  for (const [i, at] of sorted.entries()) {
    while ((sorted[first] as number) + Math.round(per_s * 1_000) <= at) first += 1;
    most = Math.max(most, i - first + 1);
  }
  return most;
}

eachQueue((open, dialect) => {
  describe("max_in_flight", () => {
    test("holds over workers and turns, and a claim learns how many places it left", async () => {
      const rig = await open();
      const id = await queueOf(rig, 9);
      const capped = { max_in_flight: 4 };
      const both = (await rig.store.flush([
        claimOp(id, { ...capped, max: 3 }),
        claimOp(id, { ...capped, max: 3, worker: "w2" }),
      ])) as Claim[];
      expect(both.map(({ tasks }) => tasks.length)).toEqual([3, 1]);
      const full = { by: "in_flight", left: 0 };
      expect(both[1]?.limit).toMatchObject(full);
      expect(await rig.call(claimOp(id, capped))).toMatchObject({ tasks: [], limit: full });
      const [first] = both.flatMap(({ tasks }) => tasks);
      const [, next] = await rig.store.flush([
        { op: "complete", worker: "w1", items: [done(first as ClaimedTask)] },
        claimOp(id, capped),
      ]);
      expect((next as Claim).tasks).toHaveLength(1);
    });

    test("whatever ends a claimed task tells of its place after the commit; a place that was taken again is not told of", async () => {
      const rig = await open();
      const id = await queueOf(rig, 9);
      const one = { max_in_flight: 8 };
      const { tasks } = await rig.call(claimOp(id, { ...one, max: 6, lease_ms: 1_000 }));
      const [a, b, c, d] = tasks as [ClaimedTask, ClaimedTask, ClaimedTask, ClaimedTask];
      const told = async (work: () => Promise<unknown>) => {
        rig.freed.length = 0;
        await work();
        return rig.freed.map(({ workload_id, ...rest }) => ({ ...rest, own: workload_id === id }));
      };
      const complete = { op: "complete", worker: "w1" } as const;
      expect(await told(() => rig.call({ ...complete, items: [done(a)] }))).toEqual([
        { places: 1, ready: 0, own: true },
      ]);
      const again = () => rig.store.flush([{ ...complete, items: [done(b)] }, claimOp(id, one)]);
      expect(await told(again)).toEqual([]);
      const released = { ...c, retry_after_ms: null, reason: "" };
      const release = () => rig.call({ op: "release", worker: "w1", items: [released] });
      expect(await told(release)).toEqual([{ places: 1, ready: 1, own: true }]);
      expect(await told(() => rig.store.cancel(id, d.pk))).toEqual([
        { places: 1, ready: 0, own: true },
      ]);
      await rig.advance(1_001);
      expect(await told(() => rig.store.expire(10))).toEqual([{ places: 2, ready: 0, own: true }]);
    });
  });

  describe("rate_limit", () => {
    test("3 in every 2 s: the window that begins with the second claim holds no more than 3 either", async () => {
      const rig = await open();
      const id = await queueOf(rig, 9);
      const rate_limit = { count: 3, per_s: 2 };
      const claim = async (max: number) =>
        (await rig.call(claimOp(id, { rate_limit, max }))).tasks.length;
      expect(await claim(1)).toBe(1);
      await rig.advance(1_900);
      expect(await claim(5)).toBe(2);
      await rig.advance(100);
      expect([await claim(5), await claim(5)]).toEqual([1, 0]);
      await rig.advance(1_900);
      expect([await claim(5), await claim(5)]).toEqual([2, 0]);
    });

    test("whatever is claimed when, no window of per_s holds more than count, and what is told to be open is", async () => {
      const rig = await open();
      let n = 0;
      const step = fc.record({ wait: fc.nat(700), max: fc.integer({ min: 1, max: 9 }) });
      const limits = fc.record({
        count: fc.integer({ min: 1, max: 12 }),
        per_s: fc.constantFrom(0.1, 0.25, 1, 2.5, 60),
      });
      await fc.assert(
        fc.asyncProperty(limits, fc.array(step, { maxLength: 40 }), async (rate_limit, steps) => {
          const id = await rig.addWorkload(`w${n++}`);
          const tasks = Array.from({ length: 400 }, (_, i) => task(`t${i}`));
          await rig.call({ op: "submit", workload_id: id, tasks });
          const times: number[] = [];
          const claim = async (max: number): Promise<Claim> => {
            const got = await rig.call(claimOp(id, { rate_limit, max }));
            for (const { claimed_at } of got.tasks) times.push(claimed_at);
            return got;
          };
          for (const { wait, max } of steps) {
            await rig.advance(Math.round(wait * rate_limit.per_s));
            const { limit, tasks } = await claim(max);
            if (limit?.by !== "rate") throw new Error("a rate limit was not told of");
            if (limit.left > 0) expect(tasks).toHaveLength(max);
            else {
              await rig.advance(limit.opens_in_ms);
              expect((await claim(1)).tasks).toHaveLength(1);
            }
          }
          expect(fullestWindow(times, rate_limit)).toBeLessThanOrEqual(rate_limit.count);
          // Within half a percent, all of its places are back.
          await rig.advance(Math.ceil(rate_limit.per_s * 1_005) + 1);
          expect((await claim(100)).tasks).toHaveLength(rate_limit.count);
        }),
        { numRuns: 40, seed: 20_261_122 },
      );
    }, 180_000);

    test("a window of a day with claims all day remembers some hundred pieces of it", async () => {
      const rig = await open();
      const id = await queueOf(rig, 3_000);
      const rate_limit = { count: 1_000_000, per_s: 86_400 };
      for (let hour = 0; hour < 60; hour += 1) {
        await rig.call(claimOp(id, { rate_limit, max: 7 }));
        await rig.advance(600_000);
        await rig.call(claimOp(id, { rate_limit, max: 7 }));
        await rig.advance(3_000_000);
      }
      const { rate_claims } = rig.conn.t;
      const kept = await rig.conn.q.select().from(rate_claims);
      expect(kept.length).toBeLessThanOrEqual(201);
      expect(kept.length).toBeGreaterThan(40);
    });

    test("a clock that was set back an hour holds the queue for one window, not for the hour", async () => {
      const rig = await open();
      const id = await queueOf(rig, 9);
      const rate_limit = { count: 3, per_s: 2 };
      const claim = async () => (await rig.call(claimOp(id, { rate_limit }))).tasks.length;
      expect(await claim()).toBe(3);
      await rig.advance(-3_600_000);
      expect(await claim()).toBe(0);
      await rig.advance(1_999);
      expect(await claim()).toBe(0);
      await rig.advance(11);
      expect(await claim()).toBe(3);
    });

    test("beside max_in_flight, the stricter of the two counts and is told of", async () => {
      const rig = await open();
      const id = await queueOf(rig, 9);
      const both = { max_in_flight: 2, rate_limit: { count: 3, per_s: 2 } };
      const first = await rig.call(claimOp(id, both));
      expect(first).toMatchObject({ limit: { by: "in_flight", left: 0 } });
      expect(first.tasks).toHaveLength(2);
      await rig.call({ op: "complete", worker: "w1", items: first.tasks.map(done) });
      const second = await rig.call(claimOp(id, both));
      expect(second.tasks).toHaveLength(1);
      expect(second.limit).toMatchObject({ by: "rate", left: 0, opens_in_ms: 2_000, opening: 2 });
    });

    // SQLite has one control plane.
    if (dialect === "postgres")
      test("two control planes at once, by the database's own clock: no window holds more than count", async () => {
        const rig = await open({ own_database: true });
        const id = await queueOf(rig, 60);
        const rate_limit = { count: 7, per_s: 0.1 };
        const times: number[] = [];
        const claimAll = async () => {
          const conn = await openPostgres(rig.url, { log: silentLog });
          const store = conn.openQueue({ node: "other", now: () => START, random: () => 0.5 });
          while (times.length < 60) {
            const [got] = (await store.flush([claimOp(id, { rate_limit, max: 2 })])) as Claim[];
            for (const { claimed_at } of got?.tasks ?? []) times.push(claimed_at);
          }
          await conn.close();
        };
        await Promise.all([claimAll(), claimAll()]);
        expect(times).toHaveLength(60);
        expect(fullestWindow(times, rate_limit)).toBeLessThanOrEqual(rate_limit.count);
      }, 180_000);
  });
});
