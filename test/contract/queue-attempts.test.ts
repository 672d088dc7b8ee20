import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import type { ClaimOp } from "#hub/platform/db/queue/queue-store.ts";
import { BACKOFF, eachQueue, type QueueRig, task } from "#test/support/models/queue-store.ts";

const TASKS = [task("fixed"), task("follows", { follows_workload: true })];

const claim = async (rig: QueueRig, workload_id: number) => {
  const op: ClaimOp = {
    op: "claim",
    worker: "w",
    worker_id: "worker-1",
    workload_id,
    max: 10,
    lease_ms: 60_000,
    timeout_ms: null,
    max_in_flight: null,
    rate_limit: null,
  };
  return (await rig.call(op)).tasks;
};

/** Every task that is ready fails once, and the time is over that it waits before the next attempt. */
async function failOnce(rig: QueueRig, workload_id: number): Promise<void> {
  const items = (await claim(rig, workload_id)).map(({ task_id, epoch }) => ({
    task_id,
    epoch,
    outcome: "error" as const,
    error: "no",
    retry_after_ms: null,
    no_retry: false,
    duration_ms: 1,
    stdout: "",
    stderr: "",
    truncated: false,
  }));
  await rig.call({ op: "fail", worker: "w", workload_id, backoff: BACKOFF, items });
  await rig.advance(2_000);
  await rig.store.promote(10);
}

const bound = (rig: QueueRig, workload_id: number, max_attempts: number) => {
  const { workloads } = rig.conn.t;
  return rig.conn.q
    .update(workloads)
    .set({ max_attempts })
    .where(eq(workloads.workload_id, workload_id));
};

const failedOnes = async (rig: QueueRig, workload_id: number) =>
  (await rig.store.peek(workload_id, [2], 10, 0)).map(({ pk, attempt }) => [pk, attempt]);

eachQueue((open) => {
  describe("max_attempts of tasks in the queue (rules/pipeline-tasks#fields-of-a-task)", () => {
    const queued = async () => {
      const rig = await open();
      const id = await rig.addWorkload("work");
      await rig.call({ op: "submit", workload_id: id, tasks: TASKS });
      return { rig, id };
    };

    test("follow the workload, unless a task has its own; peek and claims tell which", async () => {
      const { rig, id } = await queued();
      await bound(rig, id, 5);
      const rows = await rig.store.peek(id, [0], 10, 0);
      expect(rows.map(({ pk, max_attempts }) => [pk, max_attempts])).toEqual([
        ["fixed", 3],
        ["follows", 5],
      ]);
      const claimed = await claim(rig, id);
      expect(claimed.map(({ pk, max_attempts }) => [pk, max_attempts])).toEqual([
        ["fixed", 3],
        ["follows", null],
      ]);
    });

    test("a raised bound gives more attempts, but none to a task that failed before", async () => {
      const { rig, id } = await queued();
      await bound(rig, id, 1);
      await failOnce(rig, id);
      expect(await failedOnes(rig, id)).toEqual([["follows", 1]]);
      const again = [task("again", { follows_workload: true })];
      await rig.call({ op: "submit", workload_id: id, tasks: again });
      await bound(rig, id, 4);
      for (let n = 0; n < 3; n += 1) await failOnce(rig, id);
      expect(await failedOnes(rig, id)).toEqual([
        ["fixed", 3],
        ["follows", 1],
      ]);
      await failOnce(rig, id);
      expect(await failedOnes(rig, id)).toContainEqual(["again", 4]);
    });

    test("a lowered bound counts at the end of the attempt that runs, lease or report", async () => {
      const { rig, id } = await queued();
      await claim(rig, id);
      await bound(rig, id, 1);
      await rig.advance(60_001);
      expect(await rig.store.expire(10)).toHaveLength(2);
      expect(await failedOnes(rig, id)).toEqual([["follows", 1]]);
      expect((await rig.store.peek(id, [3], 10, 0)).map(({ pk }) => pk)).toEqual(["fixed"]);
    });
  });
});
