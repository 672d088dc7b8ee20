import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import type { ClaimedTask } from "#hub/platform/db/queue/queue-store.ts";
import { retentionRepo } from "#hub/platform/db/retention/repo.ts";
import { claimed, claimOp, counts, done, pks } from "#test/support/models/queue-ops.ts";
import { eachQueue, type QueueRig, task } from "#test/support/models/queue-store.ts";

const submit = (rig: QueueRig, workload_id: number, names: string[], once = true) =>
  rig.call({ op: "submit", workload_id, tasks: names.map((pk) => task(pk, { once })) });

eachQueue((open) => {
  describe("a task that is taken once (rules/pipeline-tasks#tasks-that-are-taken-once)", () => {
    test("is a duplicate after it succeeded and after it was removed, in its own workload alone", async () => {
      const rig = await open();
      const [id, other] = [await rig.addWorkload("work"), await rig.addWorkload("other")];
      expect(await submit(rig, id, ["a", "b", "a"])).toEqual({ submitted: 2, duplicates: 1 });
      const [a] = (await claimed(rig, claimOp(id, { max: 1 }))) as [ClaimedTask];
      await rig.call({ op: "complete", worker: "w1", items: [done(a)] });
      await rig.store.cancel(id, "b");
      expect(await submit(rig, id, ["a", "b", "c"])).toEqual({ submitted: 1, duplicates: 2 });
      expect(await submit(rig, other, ["a"])).toEqual({ submitted: 1, duplicates: 0 });
      expect(await counts(rig, id)).toEqual({ ready: 1, claimed: 0, failed: 0, delayed: 0 });
    });

    test("does not bind tasks that are not, before it and after it", async () => {
      const rig = await open();
      const id = await rig.addWorkload("work");
      await submit(rig, id, ["a"], false);
      const [first] = (await claimed(rig, claimOp(id))) as [ClaimedTask];
      await rig.call({ op: "complete", worker: "w1", items: [done(first)] });
      expect((await submit(rig, id, ["a"])).submitted).toBe(1);
      const [second] = (await claimed(rig, claimOp(id))) as [ClaimedTask];
      await rig.call({ op: "complete", worker: "w1", items: [done(second)] });
      expect((await submit(rig, id, ["a"])).submitted).toBe(0);
      expect((await submit(rig, id, ["a"], false)).submitted).toBe(1);
    });

    test("keeps its labels, in a batch with tasks of every kind", async () => {
      const rig = await open();
      const id = await rig.addWorkload("work");
      const tasks = [
        task("plain"),
        task("labelled", { labels: { team: "x" } }),
        task("once", { once: true }),
        task("both", { once: true, labels: { team: "x" } }),
      ];
      const twice = [tasks, tasks].map((list) =>
        rig.call({ op: "submit", workload_id: id, tasks: list }),
      );
      expect((await Promise.all(twice)).map(({ submitted }) => submitted)).toEqual([4, 0]);
      const rows = await rig.conn.q.select().from(rig.conn.t.task_labels);
      expect(rows).toHaveLength(2);
    });

    test("comes in once, however many runs emit it", async () => {
      const rig = await open();
      const id = await rig.addWorkload("work");
      await submit(rig, id, ["a", "b", "c"]);
      const all = await claimed(rig, claimOp(id));
      const emit = [
        { workload_id: id, tasks: [task("x", { once: true }), task("a", { once: true })] },
      ];
      const reports = await Promise.all(
        all.map((one) => rig.call({ op: "complete", worker: "w1", items: [done(one, { emit })] })),
      );
      expect(reports.flat().map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
      const next = await claimed(rig, claimOp(id));
      expect(pks(next)).toEqual(["x"]);
      await rig.call({
        op: "complete",
        worker: "w1",
        items: next.map((one) => done(one, { emit })),
      });
      expect(await counts(rig, id)).toEqual({ ready: 0, claimed: 0, failed: 0, delayed: 0 });
    });

    test("leaves its key with its workload, and pieces of them are deleted after it", async () => {
      const rig = await open();
      const [gone, stays] = [await rig.addWorkload("gone"), await rig.addWorkload("stays")];
      await submit(rig, gone, ["a", "b", "c"]);
      await submit(rig, stays, ["a"]);
      await rig.conn.q
        .delete(rig.conn.t.workloads)
        .where(sql`${rig.conn.t.workloads.workload_id} = ${gone}`);
      const { purgeKeys } = retentionRepo(rig.conn);
      expect(await purgeKeys(gone, "", 2)).toBe("b");
      expect(await purgeKeys(gone, "b", 2)).toBe("c");
      expect(await purgeKeys(gone, "c", 2)).toBeNull();
      await purgeKeys(stays, "", 2);
      const left = await rig.conn.q.select().from(rig.conn.t.once_keys);
      expect(left).toEqual([{ workload_id: stays, pk: "a" }]);
    });
  });
});
