import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** The control plane's clock stands still unless a test moves it: nothing here is the sweeper's doing. */

setDefaultTimeout(180_000);

let hub: TestHub;
let clock: FakeClock;
afterEach(() => hub.close());

const incarnation = "incarnation-1";
const api = async (method: string, path: string, body?: unknown) => {
  const answer = await hub.call(method, `/api/v1${path}`, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
};
async function start(workers: string[], limits: Record<string, unknown>): Promise<void> {
  clock = createFakeClock(Date.now());
  hub = await startTestHub({ clock, mode: "control", alone: true });
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  await api("POST", "/workloads", { slug: "w", ...command, ...limits });
  for (const id of workers) {
    const hello = { incarnation, host: id, slots: 2, version: "1" };
    await api("POST", `/workers/${id}/register`, hello);
  }
  const items = Array.from({ length: 9 }, (_, i) => ({ pk: `t${i}` }));
  await api("POST", "/workloads/w/tasks/batch", { items });
}
interface Task {
  task_id: number;
  epoch: number;
  pk: string;
}
const tasksIn = ({ batches }: { batches: { tasks: Task[] }[] }): Task[] =>
  batches.flatMap(({ tasks }) => tasks);
const claim = async (id: string, wait_ms = 0, slots = 1): Promise<Task[]> =>
  tasksIn(await api("POST", `/workers/${id}/claim`, { incarnation, slots, wait_ms }));
const only = (tasks: Task[]): Task => {
  expect(tasks).toHaveLength(1);
  return tasks[0] as Task;
};
const done = ({ task_id, epoch }: Task) => ({ task_id, epoch, duration_ms: 1 });
const complete = (id: string, task: Task) =>
  api("POST", `/workers/${id}/complete`, { incarnation, items: [done(task)] });

test("max_in_flight: a completion wakes a claim that waits for a place", async () => {
  await start(["a", "b"], { max_in_flight: 1 });
  const first = only(await claim("a", 0, 2));
  const waiting = claim("b", 20_000);
  await clock.sleeperIn(20_000);
  await complete("a", first);
  expect(only(await waiting).pk).toBe("t1");
});

test("max_in_flight: a report and a claim in one call take the place again", async () => {
  await start(["a"], { max_in_flight: 1 });
  let task = only(await claim("a", 0, 2));
  for (const pk of ["t1", "t2", "t3"]) {
    const body = { incarnation, done: [done(task)], want: { slots: 2 } };
    task = only(tasksIn(await api("POST", "/workers/a/exchange", body)));
    expect(task.pk).toBe(pk);
  }
});

test("max_in_flight: a claim that does not wait gets what is ready right after a completion, a release or a cancellation", async () => {
  await start(["a"], { max_in_flight: 1 });
  const first = only(await claim("a", 0, 2));
  expect(await claim("a")).toEqual([]);
  await complete("a", first);
  const { task_id, epoch } = only(await claim("a"));
  expect(await claim("a")).toEqual([]);
  const released = [{ task_id, epoch }];
  await api("POST", "/workers/a/exchange", { incarnation, released, want: { slots: 0 } });
  const again = only(await claim("a"));
  expect(await claim("a")).toEqual([]);
  await api("DELETE", `/workloads/w/queue/${again.pk}`);
  only(await claim("a"));
});

test("max_in_flight: raised or taken away, waiting claims get the new places at once", async () => {
  await start(["a", "b"], { max_in_flight: 1 });
  only(await claim("a", 0, 2));
  const waiting = claim("b", 20_000);
  await clock.sleeperIn(20_000);
  const { name, executor_type, executor_config } = await api("GET", "/workloads/w");
  const settings = { name, executor_type, executor_config, max_in_flight: 2 };
  await api("PUT", "/workloads/w", settings);
  only(await waiting);
});

test("a task that its worker gives back wakes a claim that waits", async () => {
  await start(["a", "b"], {});
  const all = await claim("a", 0, 9);
  expect(all).toHaveLength(9);
  const waiting = claim("b", 20_000);
  await clock.sleeperIn(20_000);
  const released = all.slice(4, 5).map(({ task_id, epoch }) => ({ task_id, epoch }));
  await api("POST", "/workers/a/exchange", { incarnation, released, want: { slots: 0 } });
  expect(only(await waiting).pk).toBe("t4");
});

test("rate_limit: its window opens for the claims that wait, each time it does", async () => {
  await start(["a", "b"], { rate_limit: { count: 2, per_s: 0.1 } });
  expect(await claim("a", 0, 2)).toHaveLength(2);
  for (const pks of [
    ["t2", "t3"],
    ["t4", "t5"],
  ]) {
    const waiting = [claim("a", 20_000), claim("b", 20_000)];
    await clock.sleeperIn(20_000);
    await clock.advance(100);
    const tasks = (await Promise.all(waiting)).flat();
    expect(tasks.map(({ pk }) => pk).sort()).toEqual(pks);
  }
});

test("a claim that waited says for how long, because a lease may be shorter than the wait (rules/pipeline-pull#claim)", async () => {
  await start(["a"], { max_in_flight: 1 });
  const first = only(await claim("a", 0, 2));
  const waiting = api("POST", "/workers/a/claim", { incarnation, slots: 1, wait_ms: 20_000 });
  await clock.sleeperIn(20_000);
  await clock.advance(7_000);
  await complete("a", first);
  const [batch] = (await waiting).batches;
  expect(batch).toMatchObject({ lease_ms: 60_000, waited_ms: 7_000 });
});
