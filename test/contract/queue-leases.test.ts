import { describe, expect, test } from "bun:test";
import type { ClaimedTask } from "#hub/platform/db/queue/queue-store.ts";
import {
  claimed,
  claimOp,
  counts,
  done,
  givenBack,
  refOf,
  runsOf,
  submitAndClaim,
} from "#test/support/models/queue-ops.ts";
import { eachQueue } from "#test/support/models/queue-store.ts";

eachQueue((open) => {
  describe("leases", () => {
    test("a renewed lease holds; what is not the worker's any more is told as lost", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a", "b"], { lease_ms: 1_000 });
      const [a, b] = tasks as [ClaimedTask, ClaimedTask];
      await rig.advance(900);
      const gone = { task_id: 999, epoch: 1 };
      const renew = { op: "renew", worker: "w1", lease_ms: 1_000 } as const;
      expect(await rig.call({ ...renew, items: [refOf(a), gone] })).toEqual([gone]);
      expect(await rig.call({ ...renew, worker: "w2", items: [refOf(b)] })).toEqual([refOf(b)]);
      await rig.advance(200);
      expect(await rig.store.expire(10)).toEqual([{ ...refOf(b), workload_id: id, worker: "w1" }]);
      expect(await runsOf(rig)).toEqual([
        { pk: "b", attempt: 1, outcome: "lease_expired", error: "lease expired" },
      ]);
      expect(await counts(rig, id)).toEqual({ ready: 0, claimed: 1, failed: 0, delayed: 1 });
    });

    test("no renewal outlives the task's timeout", async () => {
      const rig = await open();
      const { tasks } = await submitAndClaim(rig, ["a"], { lease_ms: 5_000, timeout_ms: 6_000 });
      await rig.advance(4_000);
      const items = tasks.map(refOf);
      await rig.call({ op: "renew", worker: "w1", items, lease_ms: 5_000 });
      await rig.advance(2_001);
      expect(await rig.store.expire(10)).toHaveLength(1);
      expect(await runsOf(rig)).toMatchObject([{ outcome: "timeout" }]);
    });

    test("an expired attempt that reports afterwards is stale, and its task runs again", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a"], { lease_ms: 1_000 });
      const [a] = tasks as [ClaimedTask];
      await rig.advance(1_001);
      await rig.store.expire(10);
      const report = () => rig.call({ op: "complete", worker: "w1", items: [done(a)] });
      expect(await report()).toMatchObject([{ status: "stale" }]);
      await rig.advance(1_000);
      await rig.store.promote(10);
      const [again] = await claimed(rig, claimOp(id, { worker: "w2" }));
      expect(again).toMatchObject({ task_id: a.task_id, attempt: 2, epoch: 3 });
      expect(await report()).toMatchObject([{ status: "stale" }]);
    });

    test("a task that asks to be run later waits, keeps its attempt, and has no run", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a", "b"]);
      const [a, b] = tasks as [ClaimedTask, ClaimedTask];
      const later = (of: ClaimedTask, retry_after_ms: number) => ({
        ...refOf(of),
        retry_after_ms,
        reason: "RetryLater: not yet",
      });
      const op = { op: "release", worker: "w1" } as const;
      const report = () => rig.call({ ...op, items: [later(a, 5_000), later(b, 0)] });
      expect(await report()).toMatchObject([{ status: "ok" }, { status: "ok" }]);
      expect(await report()).toMatchObject([{ status: "stale" }, { status: "stale" }]);
      expect(await counts(rig, id)).toEqual({ ready: 1, claimed: 0, failed: 0, delayed: 1 });
      const [row] = await rig.store.peek(id, [3], 10, 0);
      expect(row).toMatchObject({ pk: "a", attempt: 0, last_error: "RetryLater: not yet" });
      expect(await claimed(rig, claimOp(id))).toMatchObject([{ pk: "b", attempt: 1, epoch: 3 }]);
      await rig.advance(5_001);
      await rig.store.promote(10);
      expect(await claimed(rig, claimOp(id))).toMatchObject([{ pk: "a", attempt: 1, epoch: 3 }]);
      expect(await runsOf(rig)).toEqual([]);
    });

    test("release gives the attempt back", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a"]);
      const [a] = tasks as [ClaimedTask];
      const release = { op: "release", worker: "w1", items: [givenBack(a)] } as const;
      const call = () => rig.call({ ...release, items: [...release.items] });
      expect(await call()).toMatchObject([{ status: "ok" }]);
      expect(await call()).toMatchObject([{ status: "stale" }]);
      expect(await claimed(rig, claimOp(id))).toMatchObject([{ attempt: 1, epoch: 3 }]);
      expect(await runsOf(rig)).toEqual([]);
    });
  });
});
