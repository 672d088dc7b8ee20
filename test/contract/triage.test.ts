import { describe, expect, test } from "bun:test";
import type { ClaimedTask, FoundTask } from "#hub/platform/db/queue/queue-store.ts";
import { runsRepo } from "#hub/platform/db/runs.ts";
import { triageRepo } from "#hub/platform/db/triage/repo.ts";
import type { TaskFilter } from "#hub/platform/db/triage/triage-repo.ts";
import {
  claimed,
  claimOp,
  counts,
  failed,
  runsOf,
  submitAndClaim,
} from "#test/support/models/queue-ops.ts";
import {
  BACKOFF,
  eachQueue,
  type QueueRig,
  START,
  task,
} from "#test/support/models/queue-store.ts";

const [A, B] = ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"];
const FAILED = [2];

const fail = (
  rig: QueueRig,
  id: number,
  tasks: ClaimedTask[],
  fingerprint: string | null,
  error = "it broke",
) =>
  rig.call({
    op: "fail",
    worker: "w1",
    workload_id: id,
    backoff: BACKOFF,
    items: tasks.map((ref) => failed(ref, { no_retry: true, fingerprint, error })),
  });

/** Failed tasks a0 … with fingerprint A, then b0 … with B. */
async function twoGroups(rig: QueueRig, a: number, b: number): Promise<number> {
  const names = [
    ...Array.from({ length: a }, (_, i) => `a${i}`),
    ...Array.from({ length: b }, (_, i) => `b${i}`),
  ];
  const { id, tasks } = await submitAndClaim(rig, names, { max: a + b });
  await fail(rig, id, tasks.slice(0, a), A, "OSError: no file 100%");
  await rig.advance(1_000);
  await fail(rig, id, tasks.slice(a), B);
  return id;
}

/** All that a filter finds, in pieces of `limit`. */
async function foundBy(rig: QueueRig, filter: TaskFilter, limit = 2): Promise<FoundTask[]> {
  const repo = triageRepo(rig.conn);
  const all: FoundTask[] = [];
  for (let after = null as Parameters<typeof repo.findTasks>[1]; ; ) {
    const { found, last } = await repo.findTasks(filter, after, limit);
    all.push(...found);
    if (last === null) return all;
    after = last;
  }
}
const keys = (tasks: readonly { pk: string }[]) => tasks.map(({ pk }) => pk);

eachQueue((open) => {
  describe("tasks by a filter (rules/failures#acting-by-filter)", () => {
    test("by fingerprint, in all workloads and in one", async () => {
      const rig = await open();
      const id = await twoGroups(rig, 3, 2);
      const all = { workload_id: null, states: FAILED };
      expect(keys(await foundBy(rig, { ...all, fingerprint: A }))).toEqual(["a0", "a1", "a2"]);
      expect(keys(await foundBy(rig, { ...all, fingerprint: B, workload_id: id }))).toEqual([
        "b0",
        "b1",
      ]);
      expect(await foundBy(rig, { ...all, fingerprint: A, workload_id: id + 1 })).toEqual([]);
      expect(await foundBy(rig, { ...all, fingerprint: A, except: id })).toEqual([]);
      expect(await triageRepo(rig.conn).countTasks({ ...all, fingerprint: A }, null, 10)).toEqual({
        n: 3,
        last: null,
      });
    });

    test("of a workload: failed ones, other states, a text in any case, and where and when they failed", async () => {
      const rig = await open();
      const id = await twoGroups(rig, 3, 2);
      await rig.call({ op: "submit", workload_id: id, tasks: [task("z1"), task("z2")] });
      const of = { workload_id: id, states: FAILED };
      expect(keys(await foundBy(rig, of))).toEqual(["a0", "a1", "a2", "b0", "b1"]);
      expect(keys(await foundBy(rig, { ...of, states: [0, 3] }))).toEqual(["z1", "z2"]);
      expect(keys(await foundBy(rig, { ...of, text: "oserror" }))).toEqual(["a0", "a1", "a2"]);
      expect(keys(await foundBy(rig, { ...of, text: "100%" }))).toHaveLength(3);
      expect(keys(await foundBy(rig, { ...of, text: "B1" }))).toEqual(["b1"]);
      expect(keys(await foundBy(rig, { ...of, since: START + 1_000 }))).toEqual(["b0", "b1"]);
      expect(keys(await foundBy(rig, { ...of, until: START + 1_000 }))).toEqual(["a0", "a1", "a2"]);
      expect(keys(await foundBy(rig, { ...of, worker_id: "worker-1" }))).toHaveLength(5);
      expect(await foundBy(rig, { ...of, worker_id: "another" })).toEqual([]);
      expect(await foundBy(rig, { ...of, fingerprint: null })).toEqual([]);
      const repo = triageRepo(rig.conn);
      const piece = await repo.countTasks(of, null, 3);
      expect(piece).toMatchObject({ n: 3, last: { pk: "a2" } });
      expect(await repo.countTasks(of, piece.last, 3)).toEqual({ n: 2, last: null });
    });

    test("retry makes those that are still as they were found ready, with all their attempts, once", async () => {
      const rig = await open();
      const id = await twoGroups(rig, 3, 0);
      const found = await foundBy(rig, { workload_id: id, states: FAILED });
      expect(await rig.store.cancel(id, "a1")).not.toBeNull();
      const done = await rig.store.change({ kind: "retry" }, found);
      expect(keys(done.tasks)).toEqual(["a0", "a2"]);
      expect(await counts(rig, id)).toEqual({ ready: 2, claimed: 0, failed: 0, delayed: 0 });
      expect((await rig.store.change({ kind: "retry" }, found)).tasks).toEqual([]);
      expect(await claimed(rig, claimOp(id))).toMatchObject([
        { pk: "a0", attempt: 1 },
        { pk: "a2", attempt: 1 },
      ]);
    });

    test("remove takes them out of the queue; a claimed one ends as cancelled, and its place is free", async () => {
      const rig = await open();
      const { id } = await submitAndClaim(rig, ["a", "b"], { max: 1 });
      const found = await foundBy(rig, { workload_id: id, states: [0, 1, 3] });
      expect(keys((await rig.store.change({ kind: "remove" }, found)).tasks).sort()).toEqual([
        "a",
        "b",
      ]);
      expect(await counts(rig, id)).toEqual({ ready: 0, claimed: 0, failed: 0, delayed: 0 });
      expect(await runsOf(rig)).toMatchObject([{ pk: "a", outcome: "cancelled", attempt: 1 }]);
      expect(rig.freed).toContainEqual({ workload_id: id, places: 1, ready: 0 });
      expect((await rig.store.change({ kind: "remove" }, found)).tasks).toEqual([]);
    });

    test("a task that was claimed since it was found is left alone", async () => {
      const rig = await open();
      const { id } = await submitAndClaim(rig, ["a", "b"], { max: 0 });
      const found = await foundBy(rig, { workload_id: id, states: [0] });
      await claimed(rig, claimOp(id, { max: 1 }));
      const to = { workload_id: await rig.addWorkload("other"), max_attempts: 7 };
      expect(keys((await rig.store.change({ kind: "move", to }, found)).tasks)).toEqual(["b"]);
      expect((await rig.store.change({ kind: "remove" }, found)).tasks).toEqual([]);
      expect(await counts(rig, id)).toMatchObject({ claimed: 1, ready: 0 });
    });

    test("move puts them into the other queue with all their attempts; a key that is there stays", async () => {
      const rig = await open();
      const id = await twoGroups(rig, 3, 0);
      const other = await rig.addWorkload("other");
      await rig.call({ op: "submit", workload_id: other, tasks: [task("a1")] });
      const found = await foundBy(rig, { workload_id: id, states: FAILED });
      const to = { workload_id: other, max_attempts: 7 };
      const done = await rig.store.change({ kind: "move", to }, found);
      expect({ moved: keys(done.tasks), duplicates: done.duplicates }).toEqual({
        moved: ["a0", "a2"],
        duplicates: 1,
      });
      expect(await counts(rig, id)).toEqual({ ready: 0, claimed: 0, failed: 1, delayed: 0 });
      expect(await counts(rig, other)).toEqual({ ready: 3, claimed: 0, failed: 0, delayed: 0 });
      expect(keys(await claimed(rig, claimOp(other))).sort()).toEqual(["a0", "a1", "a2"]);
    });

    test("one key from two workloads is moved once", async () => {
      const rig = await open();
      const to = { workload_id: await rig.addWorkload("target"), max_attempts: 3 };
      const found: FoundTask[] = [];
      for (const slug of ["one", "two"]) {
        const id = await rig.addWorkload(slug);
        await rig.call({ op: "submit", workload_id: id, tasks: [task("k")] });
        found.push(...(await foundBy(rig, { workload_id: id, states: [0] })));
      }
      const done = await rig.store.change({ kind: "move", to }, found);
      expect([done.tasks.length, done.duplicates]).toEqual([1, 1]);
    });
  });

  describe("failed runs in groups (rules/failures#groups)", () => {
    test("a fingerprint is stored with the run and the task, also when a lease is over", async () => {
      const rig = await open();
      const { id, tasks } = await submitAndClaim(rig, ["a", "b"]);
      await fail(rig, id, tasks.slice(0, 1), A);
      await rig.advance(61_000);
      await rig.store.expire(10);
      const list = await runsRepo(rig.conn).list({ limit: 10 });
      expect(list.map((run) => run.fingerprint)).toEqual([
        expect.stringMatching(/^[0-9a-f]{16}$/),
        A,
      ]);
      expect(await runsRepo(rig.conn).task(id, "a")).toMatchObject({ fingerprint: A });
      expect(await runsRepo(rig.conn).task(id, "b")).toMatchObject({
        fingerprint: list[0]?.fingerprint as string,
      });
    });

    test("they are counted piece by piece, by what they have in common and by time", async () => {
      const rig = await open();
      const id = await twoGroups(rig, 3, 2);
      const repo = triageRepo(rig.conn);
      const since = START - 1_000;
      const end = { finished_at: START + 5_000, run_id: 0 };
      const from = await repo.placeBefore(end, since, 4);
      const within = { before: end, from, since, bucket_ms: 1_000 };
      const of = (one: { fingerprint: string | null; bucket: number; n: number }) => [
        one.fingerprint,
        one.bucket,
        one.n,
      ];
      const newer = await repo.countFailures(within, {});
      expect(newer.map(of).sort()).toEqual([
        [A, 1, 2],
        [B, 2, 2],
      ]);
      expect(newer.find((one) => one.fingerprint === B)).toMatchObject({
        workload_id: id,
        worker_id: "worker-1",
        first: START + 1_000,
        newest: 5,
      });
      expect(await repo.placeBefore(from as NonNullable<typeof from>, since, 4)).toBeNull();
      const older = await repo.countFailures(
        { ...within, before: from as NonNullable<typeof from>, from: null },
        {},
      );
      expect(older.map(of)).toEqual([[A, 1, 1]]);
      const all = { ...within, from: null };
      const countOf = async (filter: Parameters<typeof repo.countFailures>[1]) =>
        (await repo.countFailures(all, filter)).reduce((sum, { n }) => sum + n, 0);
      expect(await countOf({ fingerprint: B })).toBe(2);
      expect(await countOf({ fingerprint: null })).toBe(0);
      expect(await countOf({ text: "NO FILE" })).toBe(3);
      expect(await countOf({ worker_id: "worker-1", workload_id: id })).toBe(5);
      expect(await countOf({ worker_id: "other" })).toBe(0);
      expect(await repo.firstSeen([A, B, "cccccccccccccccc"])).toEqual(
        new Map([
          [A, START],
          [B, START + 1_000],
        ]),
      );
      const examples = await repo.examples([1, 5]);
      expect(examples.sort((a, b) => a.run_id - b.run_id)).toMatchObject([
        { pk: "a0", slug: "work" },
        { pk: "b1", printed: "" },
      ]);
    });

    test("runs are listed by fingerprint, newest first and page by page; the others are those without one", async () => {
      const rig = await open();
      const id = await twoGroups(rig, 3, 2);
      await rig.call({ op: "submit", workload_id: id, tasks: [task("old")] });
      await fail(rig, id, await claimed(rig, claimOp(id)), null);
      const list = async (
        filter: Omit<Parameters<ReturnType<typeof runsRepo>["list"]>[0], "limit">,
      ) => keys(await runsRepo(rig.conn).list({ ...filter, limit: 2 }));
      expect(await list({ fingerprint: A })).toEqual(["a2", "a1"]);
      expect(await list({ fingerprint: A, before: 2 })).toEqual(["a0"]);
      expect(await list({ fingerprint: A, workload_id: id, from: 1 })).toEqual(["a2", "a1"]);
      expect(await list({ fingerprint: "unknown" })).toEqual(["old"]);
    });
  });
});
