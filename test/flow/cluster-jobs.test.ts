import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { openShared, type SharedStores } from "#hub/platform/stores/open-shared.ts";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { ASSIGN_ACK_MS } from "#shared/protocol/limits.ts";
import type { JobEvent } from "#shared/protocol/schema/job.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { stillClock } from "#test/support/fakes/still-clock.ts";
import { createQueue } from "#test/support/models/queue.ts";
import { TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { fleetsOnPostgres, memoryStores, until } from "#test/support/rigs/hubs.ts";
import { startRedis, type TestRedis } from "#test/support/servers/redis.ts";

/** Several hubs on one Postgres and shared stores behave as one fleet for jobs (rules/cluster#one-fleet). */

setDefaultTimeout(180_000);
const fleets = fleetsOnPostgres();
let redis: TestRedis;
beforeAll(async () => {
  await fleets.open();
  redis = await startRedis();
}, 180_000);
afterEach(() => fleets.end());
afterAll(async () => {
  await fleets.close();
  await redis?.stop();
}, 180_000);

const two = async (shared?: SharedStores, clock: Clock = systemClock) => {
  const fleet = await fleets.start({ clock, ...(shared && { shared }) });
  const [a, b] = fleet.hubs as [TestHub, TestHub];
  return { a, b, fleet };
};
const submit = (hub: TestHub, options: Record<string, unknown> = {}) =>
  hub.call("POST", "/jobs", { url: TARGET, options });
const job = async (hub: TestHub, job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;

function follow(hub: TestHub, job_id: string) {
  const socket = new WebSocket(`${hub.url.replace("http", "ws")}/jobs/${job_id}/events`);
  const events = createQueue<JobEvent>();
  socket.onmessage = ({ data }) => events.push(JSON.parse(String(data)));
  const closed = new Promise<number>((resolve) => {
    socket.onclose = ({ code }) => resolve(code);
  });
  return { events, closed };
}

/** A worker whose jobs are done at once. */
async function busy(hub: TestHub, worker_id: string, lanes: number): Promise<FakeWorker> {
  const worker = await hub.worker({ worker_id, lanes });
  void (async () => {
    for (;;) worker.finish(await worker.assigned.next());
  })();
  return worker;
}

/** Real time, but for the wait for a worker's answer: a job whose answer is late goes to another lane, rightly. */
const waitsForAnswers: Clock = {
  ...systemClock,
  sleep: (ms, signal) => (ms === ASSIGN_ACK_MS ? stillClock : systemClock).sleep(ms, signal),
};

let spaces = 0;
const STORES: Record<string, () => Promise<SharedStores>> = {
  "stores in memory": async () => memoryStores(),
  Redis: () => {
    spaces += 1;
    const at = { driver: "redis", url: redis.url, prefix: `test${spaces}:` } as const;
    return openShared(at, { clock: systemClock, log: silentLog });
  },
};

for (const [name, open] of Object.entries(STORES))
  describe(`two hubs on ${name}`, () => {
    test("a job that one hub takes in runs on the lane of the other, and the waiting POST gets the running record (rules/cluster#jobs-across-hubs)", async () => {
      const { a, b } = await two(await open());
      const worker = await b.worker();
      const { status, body } = await submit(a);
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { status: "running", worker_id: "w11" },
      });
      const assigned = await worker.assigned.next();
      expect(assigned.job_id).toBe(body.job_id);
      worker.finish(assigned);
      await b.signals.next("lane freed");
      expect(await job(a, body.job_id)).toMatchObject({ status: "completed" });
    });

    test("the events of a job are shown live at the hub that does not run it (rules/events#events-at-any-hub)", async () => {
      const { a, b } = await two(await open());
      const worker = await b.worker();
      const { job_id } = (await submit(a)).body;
      const assigned = await worker.assigned.next();
      const stream = follow(a, job_id);
      await stream.events.next();
      worker.log(assigned, "navigate", "one");
      await stream.events.next((e) => e.data.message === "one");
      worker.log(assigned, "idle", "two");
      await stream.events.next((e) => e.data.message === "two");
      worker.finish(assigned);
      expect(await stream.closed).toBe(1000);
      expect(stream.events.all.map((e) => e.seq)).toEqual([1, 2, 3, 4]);
      expect(stream.events.all.at(-1)?.type).toBe("done");
    });

    test("a job cancelled at one hub stops on the lane of the other, and its session ends", async () => {
      const { a, b } = await two(await open());
      const worker = await b.worker();
      const { job_id, session_id } = (await submit(b)).body;
      const assigned = await worker.assigned.next();
      expect(b.ctx.sessions.has(session_id)).toBe(true);
      expect((await a.call("POST", `/jobs/${job_id}/cancel`)).status).toBe(200);
      const told = await worker.messages.next((m) => m.type === "HubCancelJob");
      expect(told).toMatchObject({ job_id, lease_token: assigned.lease_token });
      await b.signals.next("session ended", { session_id });
      worker.reset(0);
      await b.signals.next("lane freed");
      expect((await submit(a)).body.status).toBe("running");
    });

    test("of 200 jobs at both hubs none runs twice and none is lost (rules/jobs#two-hubs-and-one-job)", async () => {
      const { a, b } = await two(await open(), waitsForAnswers);
      const workers = [await busy(a, "w1", 4), await busy(b, "w2", 4), await busy(b, "w3", 2)];
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, i) => submit(i % 2 ? a : b)),
      );
      const ids = answers.map((answer) => answer.body.job_id).sort();
      // On a slow machine some are answered 503 and run all the same.
      await until(async () => {
        const done = await a.ctx.db.jobs.list({ status: "completed", limit: 200 }, null);
        return done.length === ids.length;
      });
      const assigned = workers.flatMap((w) => w.assigned.all.map((j) => j.job_id));
      expect(assigned.sort()).toEqual(ids);
      for (const hub of [a, b]) await hub.ctx.dispatcher.exclusive(async () => {});
      for (const worker of workers) await worker.settle();
      for (const id of ["w1", "w2", "w3"]) expect(await a.ctx.leases.list(id)).toEqual([]);
    });

    test("a script submitted at one hub leaves the last lane of the other to fetch jobs for a while, is told of it once, and takes it (rules/scheduling#lane-reserve)", async () => {
      const { a, b } = await two(await open());
      await a.call("PATCH", "/settings", { lane_reserve_s: 4 });
      for (const hub of [a, b]) hub.ctx.settings_cache.clear();
      const worker = await a.worker({ lanes: 2 });
      expect((await submit(a)).body.status).toBe("running");
      const { job_id } = (await submit(b, { mode: "rerun", code: "log(1)" })).body;
      const waited = await b.ctx.db.jobs.get(job_id);
      const assigned = await worker.assigned.next((job) => job.job_id === job_id);
      expect(assigned.options).toMatchObject({ mode: "rerun" });
      const events = await a.ctx.db.events.list(job_id, 0, 10);
      expect(events.map(({ data }) => data.stage)).toEqual(["queued", "assigned"]);
      const taken_after = (events[1]?.ts ?? 0) - (waited?.created_at ?? 0);
      expect(taken_after).toBeGreaterThanOrEqual(4_000);
    });

    test("a job goes to the hub whose worker has fewer in flight (rules/cluster#jobs-across-hubs)", async () => {
      // The better hub has all the time that it needs to come for the job.
      const { a, b } = await two(await open(), stillClock);
      const here = await a.worker({ worker_id: "w1", lanes: 2 });
      expect((await submit(a)).body.worker_id).toBe("w1");
      const there = await b.worker({ worker_id: "w2", lanes: 2 });
      await until(() => a.ctx.cluster.peers.get(b.ctx.hub_id)?.best?.in_flight === 0);
      expect((await submit(a)).body.worker_id).toBe("w2");
      expect([here.assigned.all.length, there.assigned.all.length]).toEqual([1, 1]);
    });

    test("a worker that dials the other hub while its old link is open keeps one registration: what it ran fails, what it was not given yet runs", async () => {
      const { a, b } = await two(await open());
      const old = await a.worker({ lanes: 2, on_assign: "by_hand" });
      const first = submit(a);
      old.accept(await old.assigned.next());
      const ran = (await first).body.job_id;
      const waiting = submit(a);
      const unanswered = (await old.assigned.next()).job_id;
      const fresh = await b.worker({ lanes: 2 });
      expect((await old.closed).code).toBe(4410);
      expect((await fresh.assigned.next()).job_id).toBe(unanswered);
      expect((await waiting).body).toMatchObject({ status: "running", job_id: unanswered });
      expect((await job(a, ran)).status).toBe("failed");
      expect((await a.call("GET", "/workers")).body.workers).toMatchObject([
        { worker_id: "w11", alive: true, link_hub: b.ctx.hub_id, in_flight: 1 },
      ]);
    });
  });

test("the same Idempotency-Key at two hubs at the same time is one job and one answer (rules/cluster#one-key-at-two-hubs)", async () => {
  const { a, b } = await two();
  const worker = await b.worker({ lanes: 2, on_assign: "by_hand" });
  const headers = { "Idempotency-Key": "one" };
  const calls = [a, b, a, b].map((hub) => hub.call("POST", "/jobs", { url: TARGET }, { headers }));
  worker.accept(await worker.assigned.next());
  const answers = await Promise.all(calls);
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200]);
  for (const { body } of answers) expect(body).toEqual(answers[0]?.body);
  expect(worker.assigned.all.length).toBe(1);
});

test("Redis away: what runs ends as its worker says, new jobs wait, and run when Redis is back, emptied or not (rules/cluster#when-redis-is-away)", async () => {
  const server = await startRedis();
  const shared = await openShared(
    { driver: "redis", url: server.url, prefix: "flotilla:" },
    { clock: systemClock, log: silentLog },
  );
  try {
    const { a, b } = await two(shared);
    const worker = await b.worker();
    const { job_id } = (await submit(a)).body;
    const assigned = await worker.assigned.next();
    await server.kill();
    worker.finish(assigned);
    await b.signals.next("job finished", { job_id });
    const waiting = submit(b);
    await until(() => b.ctx.waiters.size === 1);
    await server.restart();
    const { body } = await waiting;
    expect((await worker.assigned.next()).job_id).toBe(body.job_id);
    expect((await job(a, job_id)).status).toBe("completed");
    const lanes = await b.ctx.leases.list("w11");
    expect(lanes.map((lease) => lease.job_id)).toEqual([body.job_id]);
    await until(async () => (await a.call("GET", "/workers")).body.workers[0]?.alive === true);
  } finally {
    await fleets.end();
    await server.stop();
  }
});
