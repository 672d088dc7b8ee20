import { describe, expect, test } from "bun:test";
import type { PipelineContext } from "#hub/pipeline/context.ts";
import { purgeOnce, purgeWorkload, retainOnce } from "#hub/pipeline/queue/retention.ts";
import type { Claim, ClaimedTask, QueueStore } from "#hub/platform/db/queue/queue-store.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { silentLog } from "#shared/kit/log.ts";
import { WorkloadCreate } from "#shared/protocol/schema/workload.ts";
import { eachDialect } from "#test/support/servers/db.ts";

const DAY = 86_400_000;
const MINUTE = 60_000;
const command = { executor_type: "command" as const, executor_config: { argv: ["true"] } };

async function addWorkload(db: Db, slug: string): Promise<number> {
  const row = WorkloadCreate.parse({ slug, ...command });
  const stored = await db.workloads.insert({ ...row, created_at: 0, updated_at: 0 });
  return stored?.workload_id as number;
}

const submit = (queue: QueueStore, workload_id: number, n: number) =>
  queue.flush([
    {
      op: "submit",
      workload_id,
      tasks: Array.from({ length: n }, (_, i) => ({
        pk: `k${i}`,
        extra: null,
        priority: 0,
        max_attempts: 3,
        run_at: null,
      })),
    },
  ]);
async function claim(queue: QueueStore, workload_id: number, max: number): Promise<ClaimedTask[]> {
  const [claimed] = await queue.flush([
    {
      op: "claim",
      worker: "w",
      worker_id: "w",
      workload_id,
      max,
      lease_ms: 60_000,
      timeout_ms: null,
      max_in_flight: null,
      rate_limit: null,
    },
  ]);
  return (claimed as Claim).tasks;
}
/** `n` runs that end now. */
async function run(queue: QueueStore, workload_id: number, n: number): Promise<void> {
  await submit(queue, workload_id, n);
  const items = (await claim(queue, workload_id, n)).map(({ task_id, epoch }) => ({
    task_id,
    epoch,
    output: null,
    duration_ms: 1,
    stdout: "x",
    stderr: "",
    truncated: false,
  }));
  await queue.flush([{ op: "complete", worker: "w", items }]);
}

function control(db: Db, retention: { run_days: number; runs_per_workload: number }, now: number) {
  const clock = { now: () => now, sleep: async () => {} };
  return { db, clock, log: silentLog, config: { retention } } as unknown as PipelineContext;
}
const byTask = (x: { task_id: number }, y: { task_id: number }) => x.task_id - y.task_id;
const openQueue = (db: Db) => db.openQueue({ node: "n", now: Date.now, random: () => 0.5 });
const runsOf = async (db: Db, workload_id: number) =>
  (await db.runs.list({ workload_id, limit: 10_000 })).length;

eachDialect((open, dialect) => {
  describe("retention of runs", () => {
    test("those older than the days they are kept go, with what they printed; 0 days keeps all", async () => {
      const db = await open();
      const [a, b] = [await addWorkload(db, "a"), await addWorkload(db, "b")];
      const queue = openQueue(db);
      await run(queue, a, 1_050);
      await run(queue, b, 10);
      const bounds = { run_days: 7, runs_per_workload: 0 };
      await retainOnce(control(db, bounds, Date.now() + 7 * DAY - MINUTE));
      await retainOnce(control(db, { ...bounds, run_days: 0 }, Date.now() + 700 * DAY));
      expect([await runsOf(db, a), await runsOf(db, b)]).toEqual([1_050, 10]);
      await retainOnce(control(db, bounds, Date.now() + 7 * DAY + MINUTE));
      expect([await runsOf(db, a), await runsOf(db, b)]).toEqual([0, 0]);
    });

    test("of each workload the newest stay up to the count", async () => {
      const db = await open();
      const [a, b] = [await addWorkload(db, "a"), await addWorkload(db, "b")];
      const queue = openQueue(db);
      await run(queue, a, 1_200);
      await run(queue, b, 100);
      const newest = await db.runs.list({ workload_id: a, limit: 150 });
      await retainOnce(control(db, { run_days: 7, runs_per_workload: 150 }, Date.now()));
      expect(await db.runs.list({ workload_id: a, limit: 10_000 })).toEqual(newest);
      expect(await runsOf(db, b)).toBe(100);
    });

    test("what tasks said of themselves goes with their runs, those of kept attempts stay; words without a run go with age", async () => {
      const db = await open();
      const a = await addWorkload(db, "a");
      const queue = openQueue(db);
      await run(queue, a, 12);
      const [kept, gone] = await db.runs.list({ workload_id: a, limit: 2 });
      if (!kept || !gone) throw new Error("there are no runs");
      const notes = { progress: { value: 0.5, text: "halfway" }, log: [], log_dropped: 0, seq: 2 };
      const other = { task_id: gone.task_id, epoch: gone.epoch + 2 };
      const said = [kept, gone, other].map(({ task_id, epoch }) => ({ task_id, epoch, notes }));
      await db.run_notes.write(said, Date.now());
      // What was said before, and arrives after it, changes nothing.
      const late = { ...notes, seq: 1, progress: { value: 0.1, text: "begun" } };
      await db.run_notes.write([{ task_id: kept.task_id, epoch: kept.epoch, notes: late }], 5);
      await retainOnce(control(db, { run_days: 7, runs_per_workload: 1 }, Date.now()));
      const left = await db.run_notes.of(said);
      expect(left.map(({ task_id, epoch }) => ({ task_id, epoch })).sort(byTask)).toEqual(
        [{ task_id: kept.task_id, epoch: kept.epoch }, other].sort(byTask),
      );
      expect((await db.runs.get(kept.run_id))?.notes).toMatchObject({ progress: 0.5 });
      await retainOnce(control(db, { run_days: 7, runs_per_workload: 1 }, Date.now() + 8 * DAY));
      expect(await db.run_notes.of(said)).toEqual([]);
    });

    test("minutes of rates and GPUs are kept for two days and an hour", async () => {
      const db = await open();
      const now = Math.floor(Date.now() / MINUTE) * MINUTE;
      const reading = { host: "h", gpu: 0, name: "G", util_percent: 1, mem_used_mb: 1 };
      for (const ago of [100 * DAY, 3 * DAY, 2 * DAY, 0]) {
        const minute = now - ago;
        await db.flow.count({ minute, workload_id: 1, metric: "failed", node: "n", n: 1 });
        await db.gpus.put([{ ...reading, minute, mem_total_mb: 2 }]);
      }
      await retainOnce(control(db, { run_days: 7, runs_per_workload: 0 }, now));
      expect((await db.flow.rates({ since: 0 })).map((r) => r.minute)).toEqual([
        now - 2 * DAY,
        now,
      ]);
      expect((await db.gpus.list(0)).map((r) => r.minute)).toEqual([now - 2 * DAY, now]);
    });
  });

  describe("deleting a workload with a long queue (rules/pipeline-workloads#delete-a-workload)", () => {
    test("lets claims of others through between its pieces, and leaves nothing but the runs", async () => {
      const db = await open();
      const [a, b] = [await addWorkload(db, "a"), await addWorkload(db, "b")];
      const queue = openQueue(db);
      await run(queue, a, 3);
      await submit(queue, a, 4_500);
      await submit(queue, b, 5);
      expect(await db.workloads.delete(a, false)).toBe(true);
      let ended = false;
      const claimed = Promise.withResolvers<void>();
      const { retention } = db;
      // A server does both at once, and which of them it does first is chance: the end of the one waits for the other.
      const purgeRest = async (workload_id: number) => {
        if (dialect === "postgres") await claimed.promise;
        return retention.purgeRest(workload_id);
      };
      const slow = { ...db, retention: { ...retention, purgeRest } };
      const purging = purgeWorkload({ db: slow }, a).then((done) => {
        ended = true;
        return done;
      });
      // As a call that comes over a socket: it runs in a later turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      expect(await claim(queue, b, 2)).toHaveLength(2);
      expect(ended).toBe(false);
      claimed.resolve();
      expect(await purging).toBe(true);
      expect(await queue.peek(a, [0, 1, 2, 3], 10, 0)).toEqual([]);
      expect(await queue.counts(a)).toEqual([]);
      expect(await queue.counts(b)).toMatchObject([{ ready: 3, claimed: 2 }]);
      expect(await runsOf(db, a)).toBe(3);
    });

    test("goes on where a process ended in the middle of it", async () => {
      const db = await open();
      const a = await addWorkload(db, "a");
      const queue = openQueue(db);
      await submit(queue, a, 2_500);
      await db.workloads.delete(a, false);
      expect(await purgeWorkload({ db }, a, { pieces: 1 })).toBe(false);
      expect(await queue.peek(a, [0], 1, 0)).toHaveLength(1);
      await purgeOnce(control(db, { run_days: 0, runs_per_workload: 0 }, Date.now()));
      expect(await queue.peek(a, [0], 1, 0)).toEqual([]);
      expect(await db.retention.deletedWorkloads()).toEqual([]);
    });

    test("while a task is claimed it needs force, and what its worker still reports changes no queue", async () => {
      const db = await open();
      const a = await addWorkload(db, "a");
      const queue = openQueue(db);
      await submit(queue, a, 5);
      const [held] = await claim(queue, a, 1);
      expect(await db.workloads.delete(a, false)).toBe(false);
      expect(await db.workloads.delete(a, true)).toBe(true);
      expect(await purgeWorkload({ db }, a)).toBe(true);
      const { task_id, epoch } = held as ClaimedTask;
      const printed = { duration_ms: 1, stdout: "", stderr: "", truncated: false };
      const items = [{ task_id, epoch, output: null, ...printed }];
      const [reports] = await queue.flush([{ op: "complete", worker: "w", items }]);
      expect(reports).toMatchObject([{ status: "stale" }]);
    });
  });
});
