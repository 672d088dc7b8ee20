import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { SUBMIT_WAIT_MS, startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { askUntil } from "#test/support/rigs/pull-rig.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";
import { startRedis, type TestRedis } from "#test/support/servers/redis.ts";

/** Hubs on a real Postgres and a real Redis that is killed, frozen or emptied. Their clocks are the test's. */

let postgres: TestPostgres;
let redis: TestRedis;
let clock: FakeClock;
let env: Record<string, string>;
let hubs: TestHub[] = [];
beforeAll(async () => {
  postgres = await startPostgres();
}, 180_000);
afterAll(() => postgres?.stop(), 180_000);
afterEach(async () => {
  await Promise.all(hubs.map((hub) => hub.close()));
  hubs = [];
  await redis.stop();
}, 180_000);

async function startHubs(n: number): Promise<TestHub[]> {
  redis = await startRedis();
  clock = createFakeClock(Date.now());
  env = { SVC_DB_URL: await postgres.createDatabase(), SVC_REDIS_URL: redis.url };
  for (let i = 0; i < n; i += 1) hubs.push(await startTestHub({ env, clock }));
  return hubs;
}

const job = async (hub: TestHub, job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
const submit = (hub: TestHub) => hub.call("POST", "/jobs", { url: TARGET });
/** POST /jobs that finds no lane waits its time. */
async function submitInVain(hub: TestHub) {
  const asked = submit(hub);
  await clock.sleeperIn(SUBMIT_WAIT_MS);
  await clock.advance(SUBMIT_WAIT_MS);
  return asked;
}
const workersOf = (hub: TestHub) => hub.call("GET", "/workers");
/** The hub's own connections are back; they try for themselves, in real time. */
const usable = (hub: TestHub) =>
  askUntil("Redis", () =>
    hub.ctx.kv.set("probe:1", 1, 1_000).then(
      () => true,
      () => false as const,
    ),
  );

test("Redis killed for more than a minute: what runs ends, what is new queues, workers stay; then all goes on by itself (rules/cluster#when-redis-is-away)", async () => {
  const [hub] = (await startHubs(1)) as [TestHub];
  const worker = await hub.worker({ lanes: 2 });
  const first = (await submit(hub)).body;
  const assigned = await worker.assigned.next();
  const session = (await hub.call("POST", "/sessions", { url: TARGET })).body;
  expect((await workersOf(hub)).body.workers).toHaveLength(1);
  await redis.kill();

  const refused = await submitInVain(hub);
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).not.toBeNull();
  const { job_id } = refused.body;
  expect((await job(hub, job_id)).status).toBe("queued");
  worker.finish(assigned, { title: "While Redis was away" });
  await hub.signals.next("lane freed");
  expect(await job(hub, first.job_id)).toMatchObject({
    status: "completed",
    title: "While Redis was away",
  });
  for (let seconds = 0; seconds < 60; seconds += 20) {
    expect((await workersOf(hub)).body.workers).toMatchObject([{ worker_id: "w11", alive: true }]);
    await clock.advance(20_000);
    await worker.settle();
  }
  await clock.advance(1_000);
  const late = await workersOf(hub);
  expect([late.status, late.headers.get("retry-after")]).toEqual([503, "2"]);
  const click = { selector: "h1" };
  expect((await hub.call("POST", `/sessions/${session.session_id}/click`, click)).status).toBe(200);

  await redis.restart();
  await usable(hub);
  await clock.advance(5_000);
  expect((await worker.assigned.next()).job_id).toBe(job_id);
  expect((await workersOf(hub)).status).toBe(200);
  // The session's lease was put back with the heartbeat.
  worker.heartbeat();
  await askUntil("both leases", async () => (await hub.ctx.leases.list("w11")).length === 2);
  const leases = await hub.ctx.leases.list("w11");
  expect(new Set(leases.map((lease) => lease.job_id))).toEqual(new Set([job_id, null]));
}, 180_000);

test("Redis emptied while jobs run: no lane is leased twice, and the leases are there again after a heartbeat (rules/cluster#when-redis-was-emptied)", async () => {
  const [hub] = (await startHubs(1)) as [TestHub];
  const worker = await hub.worker({ lanes: 2 });
  for (const _ of [1, 2]) expect((await submit(hub)).body.status).toBe("running");
  const running = [await worker.assigned.next(), await worker.assigned.next()];
  const before = await hub.ctx.leases.list("w11");
  expect(before).toHaveLength(2);
  await redis.flush();
  const third = await submitInVain(hub);
  expect(third.status).toBe(503);
  expect(worker.assigned.all).toHaveLength(2);
  await worker.settle();
  await askUntil("the leases", async () => (await hub.ctx.leases.list("w11")).length === 2);
  expect(await hub.ctx.leases.list("w11")).toEqual(before);
  expect((await workersOf(hub)).body.workers).toMatchObject([{ worker_id: "w11", in_flight: 2 }]);
  worker.finish(running[0] as (typeof running)[number]);
  const next = await worker.assigned.next();
  expect(next.job_id).toBe(third.body.job_id);
  expect(next.lease_token).toBeGreaterThan(Math.max(...before.map(({ token }) => token)));
}, 180_000);

test("the last good view holds the workers of other hubs too, for 60 s, with what they run (rules/cluster#when-redis-is-away)", async () => {
  const [a, b] = (await startHubs(2)) as [TestHub, TestHub];
  const worker = await a.worker();
  const { job_id } = (await submit(a)).body;
  await worker.assigned.next();
  worker.heartbeat();
  const seen = await askUntil("the worker, with its job", async () => {
    const { body } = await workersOf(b);
    return body.workers[0]?.lanes[0]?.job_id === job_id && body;
  });
  await redis.kill();
  expect((await workersOf(b)).body).toEqual(seen);
  await clock.advance(60_000);
  expect((await workersOf(b)).status).toBe(200);
  await clock.advance(1_000);
  expect((await workersOf(b)).status).toBe(503);
  await redis.restart();
  await Promise.all([usable(a), usable(b)]);
}, 180_000);

test("Redis emptied: a session of another hub is 503 until its hub has told of it again, and never 404 for good (rules/cluster#calls-are-passed-on)", async () => {
  const [one, two] = (await startHubs(2)) as [TestHub, TestHub];
  await one.worker({ lanes: 1 });
  const { session_id } = (await one.call("POST", "/sessions", { url: TARGET })).body;
  const reload = (hub: TestHub, id: string) => hub.call("POST", `/sessions/${id}/reload`);
  expect((await reload(two, session_id)).status).toBe(200);
  const unknown = `${session_id.slice(0, -3)}${session_id.endsWith("abc") ? "xyz" : "abc"}`;
  expect((await reload(two, unknown)).status).toBe(404);

  await redis.flush();
  const refused = await reload(two, session_id);
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("5");
  expect((await reload(one, session_id)).status).toBe(200);

  // Every hub's beat: what it has is told again.
  await clock.advance(30_000);
  await askUntil("the session's place", () => one.ctx.kv.get(`session:${session_id}`));
  await askUntil("both hubs", async () => (await two.ctx.kv.list("hub:")).length === 2 || null);
  expect((await reload(two, session_id)).status).toBe(200);
  expect((await reload(two, unknown)).status).toBe(503);
  await clock.advance(36_000);
  expect((await reload(two, unknown)).status).toBe(404);
});
