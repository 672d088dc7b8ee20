import { describe, expect, test } from "bun:test";
import type { Claim } from "#hub/platform/db/queue/queue-store.ts";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { Backoff } from "#shared/protocol/schema/workload.ts";
import { eachDialect } from "#test/support/servers/db.ts";

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 0, 1, 12);

async function addWorkload(db: Db, slug: string): Promise<number> {
  const row = await db.workloads.insert({
    slug,
    name: slug,
    description: "",
    enabled: true,
    supervisor_enabled: false,
    executor_type: "command" as const,
    executor_config: { argv: ["true"] },
    priority: 0,
    batch_size: 1,
    lease_secs: 60,
    max_attempts: 3,
    timeout_s: null,
    host_affinity: [],
    backoff: Backoff.parse({}),
    rate_limit: null,
    max_in_flight: null,
    emits: [],
    schedule: null,
    schedule_tz: "UTC",
    created_at: NOW,
    updated_at: NOW,
  });
  return (row as WorkloadRow).workload_id;
}

/** A queue whose workers are named `worker`; `n` tasks go through it. */
function queueOf(db: Db, worker = "w1") {
  const queue = db.openQueue({ node: "n", now: () => NOW, random: () => 0.5 });
  const submit = (workload_id: number, pks: string[], priority = 0) =>
    queue.flush([
      {
        op: "submit",
        workload_id,
        tasks: pks.map((pk) => ({ pk, extra: null, priority, max_attempts: 3, run_at: null })),
      },
    ]);
  const claim = async (workload_id: number, max: number) => {
    const [claimed] = await queue.flush([
      {
        op: "claim",
        worker,
        worker_id: worker,
        workload_id,
        max,
        lease_ms: 60_000,
        timeout_ms: null,
        max_in_flight: null,
        rate_limit: null,
      },
    ]);
    return (claimed as Claim).tasks;
  };
  const printed = { duration_ms: 1, stdout: "out", stderr: "", truncated: false };
  /** One run for each of `outcomes`, in their order. */
  const run = async (workload_id: number, outcomes: boolean[]) => {
    for (const [i, ok] of outcomes.entries()) {
      await submit(workload_id, [`run-${i}-${Math.random()}`], 1_000);
      const [task] = await claim(workload_id, 1);
      const { task_id, epoch } = task as { task_id: number; epoch: number };
      const ref = { task_id, epoch, ...printed };
      await queue.flush([
        ok
          ? { op: "complete", worker, items: [{ ...ref, output: null }] }
          : {
              op: "fail",
              worker,
              workload_id,
              backoff: Backoff.parse({}),
              items: [
                {
                  ...ref,
                  outcome: "error" as const,
                  error: "no",
                  retry_after_ms: null,
                  no_retry: true,
                },
              ],
            },
      ]);
    }
  };
  return { queue, submit, claim, run };
}

eachDialect((open) => {
  describe("views", () => {
    test("claimed tells how many tasks each worker holds; oldestReady looks at every priority's end (rules/pipeline-views#dashboard-overview)", async () => {
      const db = await open();
      const [a, b] = [await addWorkload(db, "a"), await addWorkload(db, "b")];
      const [one, two] = [queueOf(db, "w1"), queueOf(db, "w2")];
      await one.submit(a, ["1", "2", "3", "4"]);
      await one.claim(a, 2);
      await two.claim(a, 1);
      const claimed = await db.views.claimed();
      expect(claimed.sort((x, y) => y.n - x.n)).toEqual([
        { workload_id: a, worker_id: "w1", n: 2 },
        { workload_id: a, worker_id: "w2", n: 1 },
      ]);
      const [oldest, ...others] = await db.views.oldestReady();
      expect([oldest?.workload_id, others]).toEqual([a, []]);
      expect(Math.abs((oldest?.created_at ?? 0) - (await one.queue.now()))).toBeLessThan(60_000);
      await one.submit(b, ["x"], 5);
      expect((await db.views.oldestReady()).map((row) => row.workload_id).sort()).toEqual([a, b]);
    });

    test("lastRuns gives the newest of each workload, oldest first; failures the newest failed ones (rules/pipeline-views#runs-summary)", async () => {
      const db = await open();
      const [a, b] = [await addWorkload(db, "a"), await addWorkload(db, "b")];
      await addWorkload(db, "idle");
      const { run } = queueOf(db);
      await run(a, [true, false, true, true]);
      await run(b, [false]);
      const rows = await db.views.lastRuns(3);
      const of = (id: number) => rows.filter((r) => r.workload_id === id).map((r) => r.outcome);
      expect([of(a), of(b), rows.length]).toEqual([[1, 0, 0], [1], 4]);
      const failures = await db.views.failures(0, 10);
      expect(failures.map(({ slug, error, stdout }) => [slug, error, stdout])).toEqual([
        // What it printed is read with the run.
        ["b", "no", ""],
        ["a", "no", ""],
      ]);
      expect(await db.views.failures(0, 1)).toHaveLength(1);
      expect(await db.views.failures(Date.now() + MINUTE, 10)).toEqual([]);
      const [pair] = (await db.views.recentPairs(100, 0)).filter((p) => p.workload_id === a);
      expect(pair).toMatchObject({ workload_id: a, worker_id: "w1", n: 4 });
      expect(await db.views.recentPairs(100, Date.now() + MINUTE)).toEqual([]);
    });
  });

  describe("flow", () => {
    test("rates are summed over control processes, by minute, and narrowed by workload and metric (rules/pipeline-views#flow-rates)", async () => {
      const db = await open();
      const count = (
        minute: number,
        workload_id: number,
        metric: string,
        node: string,
        n: number,
      ) => db.flow.count({ minute, workload_id, metric, node, n });
      await count(NOW, 1, "submitted", "a", 3);
      await count(NOW, 1, "submitted", "a", 2);
      await count(NOW, 1, "submitted", "b", 1);
      await count(NOW + MINUTE, 1, "failed", "a", 7);
      await count(NOW, 2, "submitted", "a", 9);
      await count(NOW - MINUTE, 1, "submitted", "a", 100);
      const rates = (filter = {}) => db.flow.rates({ since: NOW, ...filter });
      expect(await rates({ workload_id: 1, metric: "submitted" })).toEqual([
        { minute: NOW, workload_id: 1, metric: "submitted", n: 6 },
      ]);
      expect(await rates({ workload_id: 1 })).toHaveLength(2);
      expect((await rates()).map((r) => r.n).sort()).toEqual([6, 7, 9]);
    });

    test("positions are replaced one by one (rules/pipeline-views#flow-layout)", async () => {
      const db = await open();
      const at = (node_id: string, x: number, y: number) => ({ node_id, x, y, updated_at: NOW });
      await db.flow.savePositions([], 9);
      await db.flow.savePositions([at("workload:a", 1, 2.5), at("worker:w", -3, 4)], 9);
      await db.flow.savePositions([at("workload:a", 9, 9)], 9);
      const rows = (await db.flow.positions()).sort((x, y) => x.x - y.x);
      expect(rows).toEqual([at("worker:w", -3, 4), at("workload:a", 9, 9)]);
      await db.flow.savePositions([{ ...at("new", 0, 0), updated_at: NOW + 1 }], 1);
      expect((await db.flow.positions()).map((row) => row.node_id)).toEqual(["new"]);
    });

    test("the last reading of a GPU's minute stays; readings are listed by host, GPU and time (rules/pipeline-views#gpu-metrics)", async () => {
      const db = await open();
      const reading = (minute: number, host: string, gpu: number, util_percent: number | null) => ({
        minute,
        host,
        gpu,
        name: "Card",
        util_percent,
        mem_used_mb: 10.5,
        mem_total_mb: null,
      });
      await db.gpus.put([]);
      await db.gpus.put([reading(NOW, "b", 0, 1), reading(NOW, "a", 1, 2)]);
      await db.gpus.put([reading(NOW, "b", 0, 50), reading(NOW + MINUTE, "a", 1, null)]);
      expect(await db.gpus.list(NOW)).toEqual([
        reading(NOW, "a", 1, 2),
        reading(NOW + MINUTE, "a", 1, null),
        reading(NOW, "b", 0, 50),
      ]);
      expect(await db.gpus.list(NOW + MINUTE)).toHaveLength(1);
    });

    test("the first reading of a host's minute stays; old ones are deleted with the other minutes (rules/pipeline-views#gpu-metrics)", async () => {
      const db = await open();
      const put = (minute: number, host: string, cpu_percent: number) =>
        db.cpu_minutes.put({ minute, host, cpu_percent });
      await put(NOW, "b", 12.5);
      await put(NOW, "b", 99);
      await put(NOW, "a", 0);
      await put(NOW - 100 * MINUTE, "a", 7);
      expect(await db.cpu_minutes.list(NOW)).toEqual([
        { minute: NOW, host: "a", cpu_percent: 0 },
        { minute: NOW, host: "b", cpu_percent: 12.5 },
      ]);
      expect(await db.retention.pruneMinutes(NOW - 90 * MINUTE)).toBe(1);
      expect(await db.cpu_minutes.list(0)).toHaveLength(2);
    });
  });

  describe("schedules", () => {
    test("of many that take one tick at once, one does; another expression begins anew", async () => {
      const db = await open();
      const row = { workload_id: 7, spec: "* * * * * UTC", next_at: NOW };
      await db.schedules.begin(row);
      await db.schedules.begin({ ...row, next_at: NOW + 5 });
      const [stored] = await db.schedules.list();
      if (!stored) throw new Error("no row");
      expect(stored).toEqual({ ...row, taken_until: 0 });
      const taken = await Promise.all(
        Array.from({ length: 20 }, () => db.schedules.take(stored, NOW, NOW + MINUTE)),
      );
      expect(taken.filter(Boolean)).toHaveLength(1);
      // Left, or kept for too long: due again.
      expect(await db.schedules.take(stored, NOW + MINUTE, NOW + 2 * MINUTE)).toBe(true);
      await db.schedules.leave(stored);
      expect(await db.schedules.take(stored, NOW, NOW + MINUTE)).toBe(true);
      await db.schedules.advance(stored, NOW + MINUTE);
      expect(await db.schedules.take(stored, NOW + MINUTE, NOW + 2 * MINUTE)).toBe(false);
      expect(await db.schedules.list()).toEqual([
        { ...row, next_at: NOW + MINUTE, taken_until: 0 },
      ]);
      const other = { ...row, spec: "@daily UTC", next_at: NOW + 9 };
      await db.schedules.begin(other);
      expect(await db.schedules.list()).toEqual([{ ...other, taken_until: 0 }]);
      const old = { ...stored, next_at: NOW + 9 };
      expect(await db.schedules.take(old, NOW + 9, NOW + MINUTE)).toBe(false);
    });
  });

  describe("retention", () => {
    test("expireRuns deletes old runs with what they printed, in pieces, and leaves the others", async () => {
      const db = await open();
      const a = await addWorkload(db, "a");
      await queueOf(db).run(a, [true, false, true, true, true]);
      const all = await db.runs.list({ limit: 10 });
      const finished_before = Number.MAX_SAFE_INTEGER;
      const none = await db.retention.expireRuns({ after: 0, finished_before: 1, limit: 2 });
      expect(none.deleted).toBe(0);
      const first = await db.retention.expireRuns({ after: 0, finished_before, limit: 2 });
      expect(first).toEqual({ deleted: 2, last: all[3]?.run_id as number });
      const left = await db.runs.list({ limit: 10 });
      expect(left).toEqual(all.slice(0, 3));
    });

    test("trimRuns keeps the newest runs of one workload and touches no other", async () => {
      const db = await open();
      const [a, b] = [await addWorkload(db, "a"), await addWorkload(db, "b")];
      const { run } = queueOf(db);
      await run(a, [true, true, true, true, true]);
      await run(b, [true, true, true]);
      expect(await db.retention.firstBeyond(a, 5)).toBeNull();
      const upto = await db.retention.firstBeyond(a, 2);
      const trim = (after: number) =>
        db.retention.trimRuns({ workload_id: a, after, upto: upto ?? 0, limit: 2 });
      const first = await trim(0);
      expect([first.deleted, (await trim(first.last)).deleted]).toEqual([2, 1]);
      expect(await db.runs.list({ workload_id: a, limit: 10 })).toHaveLength(2);
      expect(await db.runs.list({ workload_id: b, limit: 10 })).toHaveLength(3);
    });

    test("pruneMinutes deletes the oldest hour at a time and nothing younger than it is told", async () => {
      const db = await open();
      const count = (minute: number) =>
        db.flow.count({ minute, workload_id: 1, metric: "failed", node: "a", n: 1 });
      for (const ago of [200, 199, 100, 99, 10]) await count(NOW - ago * MINUTE);
      const prune = () => db.retention.pruneMinutes(NOW - 90 * MINUTE);
      expect([await prune(), await prune(), await prune()]).toEqual([2, 2, 0]);
      expect(await db.flow.rates({ since: 0 })).toHaveLength(1);
    });

    test("a deleted workload is found until its last rows are gone; a living one is never touched", async () => {
      const db = await open();
      const [a, b] = [await addWorkload(db, "a"), await addWorkload(db, "b")];
      const { submit } = queueOf(db);
      await submit(a, ["1", "2", "3"]);
      await submit(b, ["1"]);
      await db.schedules.begin({ workload_id: a, spec: "x", next_at: NOW });
      expect(await db.retention.deletedWorkloads()).toEqual([]);
      await db.retention.purgeTasks(b, "", 10);
      await db.retention.purgeRest(b);
      expect(await queueOf(db).queue.counts(b)).toMatchObject([{ ready: 1 }]);
      expect(await db.workloads.delete(a, false)).toBe(true);
      expect(await db.retention.deletedWorkloads()).toEqual([a]);
      expect(await db.retention.purgeTasks(a, "", 2)).toBe("2");
      expect(await db.retention.purgeTasks(a, "2", 2)).toBe("3");
      expect(await db.retention.purgeTasks(a, "3", 2)).toBeNull();
      await db.retention.purgeRest(a);
      expect(await db.retention.deletedWorkloads()).toEqual([]);
      expect(await db.schedules.list()).toEqual([]);
      expect(await queueOf(db).claim(b, 5)).toHaveLength(1);
    });
  });
});
