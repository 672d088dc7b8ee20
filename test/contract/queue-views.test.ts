import { describe, expect, test } from "bun:test";
import { asc } from "drizzle-orm";
import type { ClaimedTask } from "#hub/platform/db/queue/queue-store.ts";
import {
  counts,
  done,
  failed,
  refOf,
  runsOf,
  submitAndClaim,
} from "#test/support/models/queue-ops.ts";
import { BACKOFF, eachQueue, START } from "#test/support/models/queue-store.ts";

eachQueue((open) => {
  describe("cancel, peek and counts", () => {
    test("cancelling a claimed task records it and makes its report stale; a pending one just goes", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a", "b"], { max: 1 });
      const [a] = tasks as [ClaimedTask];
      expect(await rig.store.cancel(id, "a")).toEqual({ state: 1, ...refOf(a), worker: "w1" });
      expect(await rig.store.cancel(id, "b")).toMatchObject({ state: 0, worker: null });
      expect(await rig.store.cancel(id, "b")).toBeNull();
      expect(await runsOf(rig)).toMatchObject([{ pk: "a", outcome: "cancelled" }]);
      expect(await rig.call({ op: "complete", worker: "w1", items: [done(a)] })).toMatchObject([
        { status: "stale" },
      ]);
      expect(await counts(rig, id)).toEqual({ ready: 0, claimed: 0, failed: 0, delayed: 0 });
    });

    test("peek shows the rows of the states asked for, oldest first", async () => {
      const rig = await open();
      const { id } = await submitAndClaim(rig, ["a", "b", "c"], { max: 1 });
      expect((await rig.store.peek(id, [0, 3], 10, 0)).map((r) => r.pk)).toEqual(["b", "c"]);
      expect((await rig.store.peek(id, [0], 1, 1)).map((r) => r.pk)).toEqual(["c"]);
      expect(await rig.store.peek(id, [1], 10, 0)).toMatchObject([
        { pk: "a", state: 1, worker_id: "worker-1", lease_until: START + 60_000, attempt: 1 },
      ]);
    });

    test("peek at failed rows alone shows those of the workload, page by page", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a", "b", "c", "d"], { max: 3 });
      const items = tasks.map((ref) => failed(ref, { no_retry: true }));
      const op = { op: "fail", worker: "w1", workload_id: id, backoff: BACKOFF } as const;
      await rig.call({ ...op, items });
      const rows = await rig.store.peek(id, [2], 2, 0);
      expect(rows).toMatchObject([
        { pk: "a", state: 2, last_error: "it broke", extra: null, worker_id: null },
        { pk: "b", state: 2 },
      ]);
      expect((await rig.store.peek(id, [2], 2, 2)).map((r) => r.pk)).toEqual(["c"]);
      expect(await rig.store.peek(id + 1, [2], 2, 0)).toEqual([]);
    });

    test("the last 20 runs are kept as bits, the newest lowest", async () => {
      const rig = await open();
      const names = Array.from({ length: 25 }, (_, i) => `t${i}`);
      const { id, tasks } = await submitAndClaim(rig, names, { max: 25 });
      await rig.call({
        op: "complete",
        worker: "w1",
        items: tasks.slice(0, 22).map((t) => done(t)),
      });
      for (const t of tasks.slice(22, 24))
        await rig.call({
          op: "fail",
          worker: "w1",
          workload_id: id,
          backoff: BACKOFF,
          items: [failed(t)],
        });
      await rig.call({ op: "complete", worker: "w1", items: [done(tasks[24] as ClaimedTask)] });
      const [row] = await rig.store.counts(id);
      expect(row?.last_n).toBe(20);
      expect((row?.last_runs ?? 0).toString(2).padStart(20, "0")).toBe("11111111111111111001");
    });

    test("each event is counted in its minute", async () => {
      const rig = await open();
      const { tasks } = await submitAndClaim(rig, ["a", "b"]);
      await rig.advance(60_000);
      await rig.call({ op: "complete", worker: "w1", items: tasks.map((t) => done(t)) });
      const { rate_minutes } = rig.conn.t;
      const rows = await rig.conn.q
        .select()
        .from(rate_minutes)
        .orderBy(asc(rate_minutes.minute), asc(rate_minutes.metric));
      const minute = START - (START % 60_000);
      expect(rows.map((r) => [r.minute, r.metric, r.n])).toEqual([
        [minute, "claimed", 2],
        [minute, "submitted", 2],
        [minute + 60_000, "succeeded", 2],
      ]);
    });
  });
});
