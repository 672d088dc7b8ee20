import { describe, expect, test } from "bun:test";
import { asc } from "drizzle-orm";
import { RUN_OUTCOMES } from "#drizzle/queue-tables.ts";
import type {
  AttemptRef,
  Claim,
  ClaimedTask,
  ClaimOp,
  DoneTask,
  FailedTask,
  Report,
} from "#hub/db/queue/types.ts";
import { BACKOFF, eachQueue, type QueueRig, START, task } from "#test/support/queue-store.ts";

const NOTHING = { stdout: "", stderr: "", truncated: false, duration_ms: 5 };
const refOf = ({ task_id, epoch }: AttemptRef): AttemptRef => ({ task_id, epoch });
const givenBack = (ref: AttemptRef) => ({ ...refOf(ref), retry_after_ms: null, reason: "" });
const done = (ref: AttemptRef, more: Partial<DoneTask> = {}): DoneTask => ({
  ...refOf(ref),
  ...NOTHING,
  output: null,
  ...more,
});
const failed = (ref: AttemptRef, more: Partial<FailedTask> = {}): FailedTask => ({
  ...refOf(ref),
  ...NOTHING,
  outcome: "error",
  error: "it broke",
  retry_after_ms: null,
  no_retry: false,
  ...more,
});
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
const pks = (tasks: ClaimedTask[]) => tasks.map(({ pk }) => pk);
const claimed = async (rig: QueueRig, op: ClaimOp): Promise<ClaimedTask[]> =>
  (await rig.call(op)).tasks;
const tasksOf = (results: unknown[]): ClaimedTask[][] =>
  (results as Claim[]).map(({ tasks }) => tasks);

async function counts(rig: QueueRig, workload_id: number) {
  const [row] = await rig.store.counts(workload_id);
  const {
    ready,
    claimed,
    failed: broken,
    delayed,
  } = row ?? {
    ready: 0,
    claimed: 0,
    failed: 0,
    delayed: 0,
  };
  return { ready, claimed, failed: broken, delayed };
}

const runsOf = async (rig: QueueRig) => {
  const { runs } = rig.conn.t;
  const rows = await rig.conn.q.select().from(runs).orderBy(asc(runs.run_id));
  return rows.map((row) => ({
    pk: row.pk,
    attempt: row.attempt,
    outcome: RUN_OUTCOMES[row.outcome],
    error: row.error,
  }));
};

async function submitAndClaim(
  rig: QueueRig,
  names: string[],
  more: Partial<ClaimOp> = {},
): Promise<{ id: number; tasks: ClaimedTask[] }> {
  const id = await rig.addWorkload("work");
  await rig.call({ op: "submit", workload_id: id, tasks: names.map((pk) => task(pk)) });
  return { id, tasks: await claimed(rig, claimOp(id, more)) };
}

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
        ...{ ...refOf(of), retry_after_ms, reason: "RetryLater: not yet" },
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
