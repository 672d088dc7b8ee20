import { expect, test } from "bun:test";
import type { Db } from "#hub/platform/db/storage.ts";
import { eachDialect } from "#test/support/servers/db.ts";

const CLAIM = { op: "claim", worker: "w", worker_id: "w1", lease_ms: 60_000 } as const;
const UNBOUND = { timeout_ms: null, max_in_flight: null, rate_limit: null };
const task = (pk: string, labels?: Record<string, string>) => ({
  pk,
  extra: null,
  priority: 0,
  max_attempts: 1,
  run_at: null,
  ...(labels && { labels }),
});

eachDialect((open) => {
  const openQueue = (db: Db) =>
    db.openQueue({ node: "n", now: () => 1_700_000_000_000, random: () => 0.5 });

  test("labels are stored with new tasks only, one batch with and without (rules/labels#labels-of-tasks)", async () => {
    const db = await open();
    const queue = openQueue(db);
    const submit = (tasks: ReturnType<typeof task>[]) =>
      queue.flush([{ op: "submit", workload_id: 1, tasks }]);
    await submit([task("a", { team: "x", "n.1": "it's" }), task("b"), task("a", { team: "z" })]);
    await submit([task("b", { team: "y" }), task("c", { team: "x" })]);
    const filter = { workload_id: 1, states: [0], after: 0, offset: 0, limit: 10 };
    const found = await db.task_labels.tasks({ ...filter, label: [{ key: "team", value: null }] });
    expect(found.map(({ pk }) => pk)).toEqual(["a", "c"]);
    const labels = await db.task_labels.of(found.map(({ task_id }) => task_id));
    const [a, c] = found.map(({ task_id }) => labels.get(task_id));
    expect(c).toEqual({ team: "x" });
    expect([JSON.stringify({ "n.1": "it's", team: "x" }), '{"team":"z"}']).toContain(
      JSON.stringify(a),
    );
    await queue.close();
  });

  test("they are deleted when neither the queue nor a run knows the task (rules/labels#how-long-labels-last)", async () => {
    const db = await open();
    const queue = openQueue(db);
    const tasks = [task("c", { k: "stays" }), task("a", { k: "ran" }), task("b", { k: "gone" })];
    await queue.flush([{ op: "submit", workload_id: 1, tasks: tasks.slice(1) }]);
    const [claim] = await queue.flush([{ ...CLAIM, ...UNBOUND, workload_id: 1, max: 1 }]);
    const [ran] = (claim as { tasks: { task_id: number; epoch: number }[] }).tasks;
    const done = { duration_ms: 1, stdout: "", stderr: "", output: null, truncated: false };
    await queue.flush([
      {
        op: "complete",
        worker: "w",
        items: [{ task_id: ran?.task_id ?? 0, epoch: ran?.epoch ?? 0, ...done }],
      },
    ]);
    await queue.flush([{ op: "submit", workload_id: 1, tasks: tasks.slice(0, 1) }]);
    expect(await queue.cancel(1, "b")).not.toBeNull();
    const first = await db.task_labels.prune(0, 2);
    expect(first.deleted).toBe(1);
    expect((await db.task_labels.prune(first.last ?? 0, 2)).deleted).toBe(0);
    expect((await db.task_labels.prune(0, 9)).deleted).toBe(0);
    expect((await db.task_labels.of([ran?.task_id ?? 0])).size).toBe(1);
    const filter = { workload_id: 1, states: [0], after: 0, offset: 0, limit: 10 };
    const queued = await db.task_labels.tasks({ ...filter, label: [{ key: "k", value: "stays" }] });
    expect(queued.map(({ pk }) => pk)).toEqual(["c"]);
    await queue.close();
  });
});
