import { describe, expect, test } from "bun:test";
import type {
  AttemptRef,
  ClaimedTask,
  FailedTask,
  Report,
} from "#hub/platform/db/queue/queue-store.ts";
import {
  claimed,
  claimOp,
  counts,
  done,
  failed,
  pks,
  refOf,
  runsOf,
  submitAndClaim,
} from "#test/support/models/queue-ops.ts";
import { BACKOFF, eachQueue, START, task } from "#test/support/models/queue-store.ts";

eachQueue((open) => {
  describe("complete", () => {
    test("records a run with what was printed and takes the task away; said again it is answered the same", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a"]);
      const [a] = tasks as [ClaimedTask];
      await rig.advance(20);
      const report = done(a, {
        output: '{"n":1}',
        stdout: 'out "\\',
        stderr: "err",
        truncated: true,
      });
      const op = { op: "complete", worker: "w1", items: [report] } as const;
      const [first] = await rig.call({ ...op, items: [...op.items] });
      expect(first).toMatchObject({ ...refOf(a), status: "ok" });
      expect(await rig.call({ ...op, items: [...op.items] })).toEqual([first as never]);
      expect(await runsOf(rig)).toEqual([{ pk: "a", attempt: 1, outcome: "success", error: null }]);
      const { runs, run_logs } = rig.conn.t;
      const [run] = await rig.conn.q.select().from(runs);
      expect(run).toMatchObject({
        output: { n: 1 },
        truncated: true,
        started_at: START,
        finished_at: START + 20,
        worker_id: "worker-1",
      });
      const [log] = await rig.conn.q.select().from(run_logs);
      expect(log).toMatchObject({ stdout: 'out "\\', stderr: "err" });
      expect(await counts(rig, id)).toEqual({ ready: 0, claimed: 0, failed: 0, delayed: 0 });
    });

    test("twice in one turn is one run", async () => {
      const rig = await open();
      const { tasks } = await submitAndClaim(rig, ["a"]);
      const op = { op: "complete", worker: "w1", items: [done(tasks[0] as ClaimedTask)] } as const;
      const twice = await rig.store.flush([
        { ...op, items: [...op.items] },
        { ...op, items: [...op.items, ...op.items] },
      ]);
      expect(twice.flat()).toMatchObject([{ status: "ok" }, { status: "ok" }, { status: "ok" }]);
      expect(await runsOf(rig)).toHaveLength(1);
    });

    test("of another worker in the same turn does not keep the owner's from being recorded", async () => {
      const rig = await open();
      const { tasks } = await submitAndClaim(rig, ["a"]);
      const item = done(tasks[0] as ClaimedTask);
      const results = await rig.store.flush([
        { op: "complete", worker: "a-stranger", items: [item] },
        { op: "complete", worker: "w1", items: [item] },
        { op: "complete", worker: "z-stranger", items: [item] },
      ]);
      // The last one says what was recorded already, which is answered as a repetition.
      expect(results.flat().map((r) => (r as Report).status)).toEqual(["stale", "ok", "ok"]);
      expect(await runsOf(rig)).toHaveLength(1);
    });

    test("of another worker, of a wrong or even epoch, or of a task that nobody claimed is stale and changes nothing", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a", "b"], { max: 1 });
      const [a] = tasks as [ClaimedTask];
      const complete = async (worker: string, ref: AttemptRef) =>
        (await rig.call({ op: "complete", worker, items: [done(ref)] }))[0]?.status;
      expect(await complete("w2", a)).toBe("stale");
      expect(await complete("w1", { ...a, epoch: 3 })).toBe("stale");
      expect(await complete("w1", { ...a, epoch: 2 })).toBe("stale");
      expect(await complete("w1", { task_id: a.task_id + 1, epoch: 0 })).toBe("stale");
      expect(await counts(rig, id)).toEqual({ ready: 1, claimed: 1, failed: 0, delayed: 0 });
      expect(await runsOf(rig)).toEqual([]);
    });

    test("after the lease, but before the sweep, is still the owner's", async () => {
      const rig = await open();
      const { tasks } = await submitAndClaim(rig, ["a"], { lease_ms: 1_000 });
      await rig.advance(5_000);
      const report = {
        op: "complete",
        worker: "w1",
        items: [done(tasks[0] as ClaimedTask)],
      } as const;
      expect(await rig.call({ ...report, items: [...report.items] })).toMatchObject([
        { status: "ok" },
      ]);
    });

    test("submits what the run emits, once, and not when it is stale", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a"]);
      const [a] = tasks as [ClaimedTask];
      const next = await rig.addWorkload("next");
      const emit = [{ workload_id: next, tasks: [task("x"), task("y")] }];
      const complete = (worker: string) =>
        rig.call({ op: "complete", worker, items: [done(a, { emit })] });
      await complete("w2");
      expect(await counts(rig, next)).toEqual({ ready: 0, claimed: 0, failed: 0, delayed: 0 });
      await complete("w1");
      expect(pks(await claimed(rig, claimOp(next)))).toEqual(["x", "y"]);
      await complete("w1");
      expect(await counts(rig, next)).toEqual({ ready: 0, claimed: 2, failed: 0, delayed: 0 });
      expect(await counts(rig, id)).toEqual({ ready: 0, claimed: 0, failed: 0, delayed: 0 });
    });
  });

  describe("fail", () => {
    const failOp = (workload_id: number, items: FailedTask[], worker = "w1") =>
      ({ op: "fail", worker, workload_id, backoff: BACKOFF, items }) as const;

    test("waits by the backoff and runs again until the attempts are used up", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a"]);
      let [a] = tasks;
      for (const attempt of [1, 2, 3]) {
        expect(a).toMatchObject({ attempt, epoch: 2 * attempt - 1 });
        await rig.call(failOp(id, [failed(a as ClaimedTask, { error: `try ${attempt}` })]));
        if (attempt === 3) break;
        await rig.advance(999);
        expect((await rig.store.promote(10)).size).toBe(0);
        await rig.advance(1);
        await rig.store.promote(10);
        [a] = await claimed(rig, claimOp(id));
      }
      expect(await counts(rig, id)).toEqual({ ready: 0, claimed: 0, failed: 1, delayed: 0 });
      expect((await runsOf(rig)).map((r) => [r.attempt, r.outcome, r.error])).toEqual([
        [1, "error", "try 1"],
        [2, "error", "try 2"],
        [3, "error", "try 3"],
      ]);
    });

    test("with no_retry is final, with retry_after_ms waits as long as it says", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a", "b"]);
      const [a, b] = tasks as [ClaimedTask, ClaimedTask];
      await rig.call(
        failOp(id, [failed(a, { no_retry: true }), failed(b, { retry_after_ms: 7_000 })]),
      );
      expect(await counts(rig, id)).toEqual({ ready: 0, claimed: 0, failed: 1, delayed: 1 });
      await rig.advance(7_000);
      expect((await rig.store.promote(10)).get(id)).toBe(1);
    });

    test("said again is answered the same; a complete of the same attempt after it is stale", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a"]);
      const [a] = tasks as [ClaimedTask];
      const first = await rig.call(failOp(id, [failed(a)]));
      expect(first).toMatchObject([{ status: "ok" }]);
      expect(await rig.call(failOp(id, [failed(a)]))).toEqual(first);
      expect(await rig.call({ op: "complete", worker: "w1", items: [done(a)] })).toMatchObject([
        { status: "stale", run_id: null },
      ]);
      expect(await runsOf(rig)).toHaveLength(1);
    });

    test("reset-failed makes failed tasks ready with all their attempts, a part at a time", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a", "b", "c"]);
      await rig.call(
        failOp(
          id,
          tasks.map((t) => failed(t, { no_retry: true })),
        ),
      );
      expect(await rig.store.resetFailed(id, 2)).toBe(2);
      expect(await rig.store.resetFailed(id, 2)).toBe(1);
      expect(await rig.store.resetFailed(id, 2)).toBe(0);
      const again = await claimed(rig, claimOp(id));
      expect(again.map(({ attempt, epoch }) => [attempt, epoch])).toEqual([
        [1, 3],
        [1, 3],
        [1, 3],
      ]);
    });
  });
});
