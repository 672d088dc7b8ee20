import { describe, expect, test } from "bun:test";
import type { ClaimedTask } from "#hub/platform/db/queue/queue-store.ts";
import {
  claimed,
  claimOp,
  counts,
  done,
  failed,
  pks,
  submitAndClaim,
  tasksOf,
} from "#test/support/models/queue-ops.ts";
import { BACKOFF, eachQueue, START, task } from "#test/support/models/queue-store.ts";

eachQueue((open) => {
  describe("submit", () => {
    test("counts what is new; a pk that is pending, claimed or failed is a duplicate and left alone", async () => {
      const rig = await open();
      const id = await rig.addWorkload("work");
      const submit = (names: string[]) =>
        rig.call({ op: "submit", workload_id: id, tasks: names.map((pk) => task(pk)) });
      expect(await submit(["a", "b", "a"])).toEqual({ submitted: 2, duplicates: 1 });
      const [a] = await claimed(rig, claimOp(id, { max: 1 }));
      expect(await submit(["a", "b", "c"])).toEqual({ submitted: 1, duplicates: 2 });
      await rig.call({
        op: "fail",
        worker: "w1",
        workload_id: id,
        backoff: BACKOFF,
        items: [failed(a as ClaimedTask, { no_retry: true })],
      });
      expect(await submit(["a"])).toEqual({ submitted: 0, duplicates: 1 });
      expect(await counts(rig, id)).toEqual({ ready: 2, claimed: 0, failed: 1, delayed: 0 });
    });

    test("a pk that succeeded may be submitted again, under a task id that was never given before", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a"]);
      const [a] = tasks as [ClaimedTask];
      await rig.call({ op: "complete", worker: "w1", items: [done(a)] });
      await rig.call({ op: "submit", workload_id: id, tasks: [task("a")] });
      const [again] = (await claimed(rig, claimOp(id))) as [ClaimedTask];
      expect(again.task_id).toBeGreaterThan(a.task_id);
    });

    test("one with a later run_at waits as delayed until it is promoted", async () => {
      const rig = await open();
      const id = await rig.addWorkload("work");
      await rig.call({
        op: "submit",
        workload_id: id,
        tasks: [task("later", { run_at: START + 5_000 }), task("past", { run_at: START - 1 })],
      });
      expect(await counts(rig, id)).toEqual({ ready: 1, claimed: 0, failed: 0, delayed: 1 });
      await rig.advance(4_999);
      expect(await rig.store.promote(100)).toEqual(new Map());
      await rig.advance(1);
      expect(await rig.store.promote(100)).toEqual(new Map([[id, 1]]));
      expect(pks(await claimed(rig, claimOp(id)))).toEqual(["later", "past"]);
    });

    test("10,000 tasks with any text, and the same 10,000 again", async () => {
      const rig = await open();
      const id = await rig.addWorkload("work");
      const tasks = Array.from({ length: 10_000 }, (_, i) =>
        task(`k"\\'{},漢🎉-${i}`, { extra: JSON.stringify({ n: i, text: "a\nb" }) }),
      );
      const submit = () => rig.call({ op: "submit", workload_id: id, tasks });
      expect(await submit()).toEqual({ submitted: 10_000, duplicates: 0 });
      expect(await submit()).toEqual({ submitted: 0, duplicates: 10_000 });
      const [first] = (await claimed(rig, claimOp(id, { max: 1 }))) as [ClaimedTask];
      expect(first.pk).toMatch(/^k"\\'\{\},漢🎉-/);
      expect(JSON.parse(first.extra ?? "")).toMatchObject({ text: "a\nb" });
    });
  });

  describe("claim", () => {
    test("takes by priority, then age, and consumes an attempt", async () => {
      const rig = await open();
      const id = await rig.addWorkload("work");
      const some = ["a", "b", "c"].map((pk) => task(pk));
      await rig.call({ op: "submit", workload_id: id, tasks: some });
      await rig.call({ op: "submit", workload_id: id, tasks: [task("urgent", { priority: 5 })] });
      const first = await claimed(rig, claimOp(id, { max: 3 }));
      expect(pks(first)).toEqual(["urgent", "a", "b"]);
      expect(first[0]).toMatchObject({
        attempt: 1,
        max_attempts: 3,
        epoch: 1,
        workload_id: id,
        claimed_at: START,
        priority: 5,
      });
      expect(await counts(rig, id)).toEqual({ ready: 1, claimed: 3, failed: 0, delayed: 0 });
    });

    test("workers that claim in one turn share what there is, and nobody gets what another has", async () => {
      const rig = await open();
      const id = await rig.addWorkload("work");
      const many = Array.from({ length: 7 }, (_, i) => task(`t${i}`));
      await rig.call({ op: "submit", workload_id: id, tasks: many });
      const results = await rig.store.flush([
        claimOp(id, { worker: "w1", max: 3 }),
        claimOp(id, { worker: "w2", max: 3 }),
        claimOp(id, { worker: "w3", max: 3 }),
      ]);
      expect(tasksOf(results).map(pks)).toEqual([["t0", "t1", "t2"], ["t3", "t4", "t5"], ["t6"]]);
    });
  });
});
