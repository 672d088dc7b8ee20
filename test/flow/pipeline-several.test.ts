import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { createReadyHints } from "#hub/pipeline/queue/ready-hints.ts";
import { lookAtPullersOnce } from "#hub/pipeline/queue/wakes.ts";
import { openDb } from "#hub/platform/db/db.ts";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { silentLog } from "#shared/kit/log.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { askUntil } from "#test/support/rigs/pull-rig.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";
import { startRedis, type TestRedis } from "#test/support/servers/redis.ts";

/**
 * Two control planes on one Postgres and one Redis. Their clocks stand still unless a test moves them, so neither sweeps
 * nor polls: what one does because of the other was told to it.
 */

// A machine that does other things too.
setDefaultTimeout(180_000);

let postgres: TestPostgres;
let redis: TestRedis;
let a: TestHub;
let b: TestHub;
let clock: FakeClock;
let db_url: string;
beforeAll(async () => {
  [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
}, 180_000);
afterAll(async () => {
  await Promise.all([postgres?.stop(), redis?.stop()]);
}, 180_000);
afterEach(() => Promise.all([a.close(), b.close()]));

async function startTwo(): Promise<void> {
  db_url = await postgres.createDatabase();
  clock = createFakeClock(Date.now());
  const env = { SVC_DB_URL: db_url, SVC_REDIS_URL: redis.url };
  const start = () => startTestHub({ env, clock, mode: "control" });
  await redis.flush();
  a = await start();
  b = await start();
}

const api = async (hub: TestHub, method: string, path: string, body?: unknown) => {
  const answer = await hub.call(method, `/api/v1${path}`, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
};
const command = { executor_type: "command", executor_config: { argv: ["true"] } };
const incarnation = "incarnation-1";
const register = (hub: TestHub) =>
  api(hub, "POST", "/workers/p1/register", { incarnation, host: "h", slots: 2, version: "1" });
const beat = (hub: TestHub) =>
  api(hub, "POST", "/workers/p1/heartbeat", { incarnation, in_flight: [] });
const claim = async (hub: TestHub, wait_ms = 0): Promise<string[]> => {
  const { batches } = await api(hub, "POST", "/workers/p1/claim", {
    incarnation,
    slots: 2,
    wait_ms,
  });
  return batches.flatMap((batch: { tasks: { pk: string }[] }) => batch.tasks.map(({ pk }) => pk));
};
const submit = (hub: TestHub, pks: string[]) =>
  api(hub, "POST", "/workloads/w/tasks/batch", { items: pks.map((pk) => ({ pk })) });

test("a submit at one control plane wakes a claim that waits at another, also for a workload made just now", async () => {
  await startTwo();
  await register(b);
  const waiting = claim(b, 20_000);
  await clock.sleeperIn(20_000);
  await api(a, "POST", "/workloads", { slug: "w", ...command });
  await submit(a, ["one"]);
  expect(await waiting).toEqual(["one"]);
});

test("a claim that does not wait finds what another control plane was given a moment ago", async () => {
  await startTwo();
  await api(a, "POST", "/workloads", { slug: "w", ...command });
  await register(b);
  const first = claim(b, 20_000);
  await clock.sleeperIn(20_000);
  await submit(a, ["one", "two", "three"]);
  expect([...(await first), ...(await claim(b))].sort()).toEqual(["one", "three", "two"]);
});

test("max_in_flight: a completion at one control plane wakes a claim that waits for its place at another", async () => {
  await startTwo();
  await api(a, "POST", "/workloads", { slug: "w", ...command, max_in_flight: 1 });
  await submit(a, ["one", "two"]);
  await register(a);
  const { batches } = await api(a, "POST", "/workers/p1/claim", { incarnation, slots: 2 });
  const [{ task_id, epoch }] = batches[0].tasks;
  const hello = { incarnation, host: "h2", slots: 1, version: "1" };
  await api(b, "POST", "/workers/p2/register", hello);
  const waiting = api(b, "POST", "/workers/p2/claim", { incarnation, slots: 1, wait_ms: 20_000 });
  await clock.sleeperIn(20_000);
  const items = [{ task_id, epoch, duration_ms: 1 }];
  await api(a, "POST", "/workers/p1/complete", { incarnation, items });
  // Messages of one process are 20 ms apart, and it may be the turn of an earlier one.
  let told = false;
  void waiting.finally(() => {
    told = true;
  });
  await askUntil("the claim's answer", async () => {
    await clock.advance(20);
    return told;
  });
  expect((await waiting).batches[0].tasks).toMatchObject([{ pk: "two" }]);
});

test("what a run emits to a workload that this control plane has not heard of is not lost", async () => {
  await startTwo();
  await api(a, "POST", "/workloads", { slug: "w", ...command });
  await submit(a, ["one"]);
  await register(b);
  const { batches } = await api(b, "POST", "/workers/p1/claim", {
    incarnation,
    slots: 1,
    wait_ms: 0,
  });
  const [{ task_id, epoch }] = batches[0].tasks;
  // As another control process does, whose message does not arrive.
  const db = await openDb(db_url, { log: silentLog });
  const { workload_id: _id, ...row } = (await db.workloads.get("w")) as WorkloadRow;
  await db.workloads.insert({ ...row, slug: "next" });
  await db.close();
  const output = { emit: [{ workload: "next", pk: "child" }] };
  const items = [{ task_id, epoch, duration_ms: 1, output }];
  await api(b, "POST", "/workers/p1/complete", { incarnation, items });
  expect(await api(b, "GET", "/workloads/next/queue")).toMatchObject({ pending: 1 });
});

test("drain at one control plane: a claim that waits at another is answered with nothing, and gets nothing later (rules/pipeline-pull#drain-and-leave)", async () => {
  await startTwo();
  await api(a, "POST", "/workloads", { slug: "w", ...command });
  await register(b);
  const waiting = claim(b, 20_000);
  await clock.sleeperIn(20_000);
  await api(a, "POST", "/workers/p1/admin-command", { command: "drain" });
  expect(await waiting).toEqual([]);
  await submit(a, ["one"]);
  expect(await claim(b)).toEqual([]);
  await api(a, "POST", "/workers/p1/admin-command", { command: "resume" });
  const one = async () => (await claim(b))[0] ?? false;
  expect(await askUntil("the task", one)).toBe("one");
});

test("a command and a filter set at one control plane reach a poll of the settings that waits at another", async () => {
  await startTwo();
  await api(a, "POST", "/workloads", { slug: "w", ...command });
  await register(b);
  const config = (revision: string, wait_ms: number) =>
    api(b, "POST", "/workers/p1/config", { incarnation, revision, wait_ms });
  // A workload that is heard of later would end the poll as well.
  const first = await askUntil("the workload at the other one", async () => {
    const told = await config("", 0);
    return told.workloads.length > 0 && told;
  });
  const waiting = config(first.revision, 20_000);
  await clock.sleeperIn(1_000);
  const { command_id } = await api(a, "POST", "/workers/p1/admin-command", { command: "stop" });
  const told = await waiting;
  expect(told.commands).toEqual([{ command_id, command: "stop" }]);
  expect((await beat(a)).commands).toEqual([{ command_id, command: "stop" }]);
  const next = config(told.revision, 20_000);
  await clock.sleeperIn(1_000);
  await api(a, "POST", "/workers/p1/filter", { op: "replace", workloads: ["other"] });
  expect((await next).filter).toEqual(["other"]);
});

test("without a message the other one looks for itself within seconds, and forgets workers that are gone", async () => {
  await startTwo();
  await register(a);
  const db = await openDb(db_url, { log: silentLog });
  const seen = await db.pull_workers.get("p1");
  const pullers = new Map(seen ? [["p1", seen]] : []);
  const ready = createReadyHints();
  let nudges = 0;
  ready.onWork(() => {
    nudges += 1;
    return false;
  });
  await lookAtPullersOnce(db, { pullers, ready });
  expect(nudges).toBe(0);
  await api(a, "POST", "/workers/p1/admin-command", { command: "drain" });
  await lookAtPullersOnce(db, { pullers, ready });
  expect([pullers.get("p1")?.draining, nudges]).toEqual([true, 1]);
  const before = Number.MAX_SAFE_INTEGER;
  await db.pull_workers.forget({ plain_before: before, filtered_before: before });
  await lookAtPullersOnce(db, { pullers, ready });
  expect(pullers.size).toBe(0);
  await db.close();
});

test("counters of two control planes are kept apart and add up; a name is free again after its process", async () => {
  await startTwo();
  await api(a, "POST", "/workloads", { slug: "w", ...command });
  await register(a);
  await Promise.all([submit(a, ["a1", "a2", "a3"]), submit(b, ["b1", "b2", "b3"])]);
  const claimed = [...(await claim(a)), ...(await claim(b))];
  expect(claimed.length).toBe(4);
  for (const hub of [a, b])
    expect(await api(hub, "GET", "/workloads/w/queue")).toEqual({
      pending: 2,
      claimed: 4,
      failed: 0,
      total: 6,
    });
  const names = async () => (await redis.send("KEYS", "*pipeline-node:*")).length;
  expect(await names()).toBe(2);
  await b.stop();
  expect(await names()).toBe(1);
});

test("a tick of a schedule makes one task, however many control planes see it", async () => {
  await startTwo();
  await api(a, "POST", "/workloads", { slug: "w", ...command, schedule: "* * * * * *" });
  const keys = await askUntil("some tasks, as many as are counted", async () => {
    await clock.advance(1_000);
    const { rows } = await api(b, "GET", "/workloads/w/queue/peek?limit=100");
    const { pending } = await api(a, "GET", "/workloads/w/queue");
    return pending > 4 && rows.length === pending && rows.map((row: { pk: string }) => row.pk);
  });
  expect(new Set(keys).size).toBe(keys.length);
});
