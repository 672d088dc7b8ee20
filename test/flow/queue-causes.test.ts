import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { reconcileOnce } from "#hub/fleet/jobs/passes.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { SUBMIT_WAIT_MS, startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/**
 * Who waits for a lane is told what for, while it waits, in the 503, and when it waited in vain
 * (rules/jobs#what-a-queued-job-waits-for).
 */

setDefaultTimeout(180_000);

let hub: TestHub;
let clock: FakeClock;
afterEach(() => hub.close());

async function start(options: TestHubOptions = {}): Promise<void> {
  clock = createFakeClock();
  hub = await startTestHub({ alone: true, clock, ...options });
}

const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
const RERUN = { mode: "rerun", code: "log(1)" };

/** A job that is queued, and a pass has seen it. */
async function queued(options: object = {}): Promise<string> {
  const headers = { prefer: "respond-async" };
  const answer = await hub.call("POST", "/jobs", { url: TARGET, options }, { headers });
  expect(answer.body.status).toBe("queued");
  await hub.ctx.dispatcher.exclusive(async () => {});
  return answer.body.job_id;
}

/** Waits out the queue timeout, with the workers alive. */
async function error(
  job_id: string,
  workers: FakeWorker[] = [],
  load: Record<string, unknown> = {},
): Promise<string> {
  for (let i = 0; i < 4; i += 1) {
    await clock.advance(46_000);
    for (const worker of workers) await worker.settle(load);
  }
  await reconcileOnce(hub.ctx);
  const { status, error: said, waiting_for } = await job(job_id);
  expect({ status, waiting_for }).toEqual({ status: "failed", waiting_for: null });
  return said;
}

const TIMEOUT = "queue timeout: no worker took the job within 180 s";

test("no worker: there is none (rules/jobs#what-a-queued-job-waits-for)", async () => {
  await start();
  const job_id = await queued();
  const detail = "no worker is connected";
  expect((await job(job_id)).waiting_for).toEqual({ reason: "no_worker", detail });
  expect(await error(job_id)).toBe(`${TIMEOUT}: ${detail}`);
});

test("no worker: the one that was there has gone (rules/jobs#what-a-queued-job-waits-for)", async () => {
  await start();
  const worker = await hub.worker();
  await worker.close();
  await hub.signals.next("link closed");
  const job_id = await queued();
  expect(await error(job_id)).toBe(`${TIMEOUT}: no worker is connected (1 worker known)`);
});

test("every worker is on drain or standby (rules/jobs#what-a-queued-job-waits-for)", async () => {
  await start();
  const workers = [await hub.worker({ worker_id: "w1" }), await hub.worker({ worker_id: "w2" })];
  await hub.call("POST", "/workers/w1/status", { status: "drain" });
  await hub.call("POST", "/workers/w2/status", { status: "standby" });
  const job_id = await queued();
  const detail = "no connected worker takes work: w1 is on drain, w2 is on standby";
  expect((await job(job_id)).waiting_for).toEqual({ reason: "workers_paused", detail });
  expect(await error(job_id, workers)).toBe(`${TIMEOUT}: ${detail}`);
});

test("the disk of every active worker is full (rules/jobs#what-a-queued-job-waits-for)", async () => {
  await start();
  const load = { cpu_percent: 1, mem_percent: 2, disk_pct: 97.4 };
  const worker = await hub.worker({ load });
  const job_id = await queued();
  const detail = "no active worker has room on its disk: w11 is 97 % full, and 90 % is the most";
  expect((await job(job_id)).waiting_for).toEqual({ reason: "disk_full", detail });
  expect(await error(job_id, [worker], { load })).toBe(`${TIMEOUT}: ${detail}`);
});

test("no lane works: each with its reason", async () => {
  await start();
  const worker = await hub.worker({ lanes: 2 });
  worker.lane(0, { state: "quarantined", reason: "Xvnc does not start" });
  worker.lane(1, { state: "dead", reason: null });
  await worker.settle();
  const job_id = await queued();
  const detail =
    "no lane works: lane 0 of w11 is quarantined (Xvnc does not start), lane 1 of w11 is dead";
  expect((await job(job_id)).waiting_for).toEqual({ reason: "no_lane", detail });
  expect(await error(job_id, [worker])).toBe(`${TIMEOUT}: ${detail}`);
});

test("all lanes are busy: with what, in the record, in the 503 and in the error (rules/jobs#what-a-queued-job-waits-for)", async () => {
  await start();
  const worker = await hub.worker({ lanes: 3 });
  expect((await hub.call("POST", "/jobs", { url: TARGET })).body.status).toBe("running");
  const session = { url: null, ttl_s: 3_600, idle_ttl_s: 3_600 };
  expect((await hub.call("POST", "/sessions", session)).status).toBe(201);
  const idle = (await worker.assigned.next()).lane_idx + (await worker.opening.next()).lane_idx;
  worker.lane(3 - idle, { state: "resetting" });
  await worker.settle();
  const waiting = hub.call("POST", "/jobs", { url: TARGET });
  await clock.sleeperIn(SUBMIT_WAIT_MS);
  await clock.advance(SUBMIT_WAIT_MS);
  const { status, body } = await waiting;
  const waiting_for = {
    reason: "lanes_busy",
    detail: "all 3 lanes are busy (1 with jobs, 1 with sessions, 1 being made ready)",
  };
  expect({ status, body }).toMatchObject({
    status: 503,
    body: { detail: "fleet at capacity", waiting_for },
  });
  expect((await job(body.job_id)).waiting_for).toEqual(waiting_for);
  expect((await hub.call("GET", "/jobs?status=queued")).body.jobs).toMatchObject([{ waiting_for }]);
  expect(await error(body.job_id, [worker])).toBe(`${TIMEOUT}: ${waiting_for.detail}`);
});

test("max_concurrent keeps lanes from use", async () => {
  await start();
  const worker = await hub.worker({
    lanes: 2,
    capabilities: {
      max_concurrent: 1,
      lane_novnc_urls: ["http://a.test/", "http://b.test/"],
      novnc_url: null,
      browser: null,
      capture: "durable",
    },
  });
  expect((await hub.call("POST", "/jobs", { url: TARGET })).body.status).toBe("running");
  const job_id = await queued();
  expect(await error(job_id, [worker])).toBe(
    `${TIMEOUT}: all 2 lanes are busy (1 with jobs, 1 beyond max_concurrent)`,
  );
});

test("a worker that refused it says why", async () => {
  await start();
  const worker = await hub.worker({ on_assign: "refuse" });
  const submit = hub.call("POST", "/jobs", { url: TARGET });
  const { job_id } = await worker.assigned.next();
  await hub.signals.next("job requeued", { job_id });
  await clock.sleeperIn(SUBMIT_WAIT_MS);
  await clock.advance(SUBMIT_WAIT_MS);
  expect((await submit).status).toBe(503);
  expect(await error(job_id, [worker])).toBe(
    `${TIMEOUT}: not delivered, back in the queue: lane is not warm`,
  );
});

test("a script waits for the reserve, then for a runner", async () => {
  await start();
  const worker = await hub.worker({ lanes: 2 });
  expect((await hub.call("POST", "/jobs", { url: TARGET })).body.status).toBe("running");
  const job_id = await queued(RERUN);
  await clock.advance(5_100);
  expect((await job(job_id)).waiting_for).toEqual({
    reason: "lane_reserve",
    detail:
      "one lane is free, and is left to fetch jobs for another 15 s of 20 (setting lane_reserve_s)",
  });
  await hub.call("PATCH", "/settings", { max_concurrent_runs: 1 });
  worker.finish(await worker.assigned.next());
  const first = await worker.assigned.next();
  expect(first.job_id).toBe(job_id);
  const second = await queued(RERUN);
  expect((await job(second)).waiting_for).toEqual({
    reason: "runners_busy",
    detail:
      "every runner is busy with another script: a hub runs 1 at a time (setting max_concurrent_runs)",
  });
});

test("without pull-on-free a free lane is taken at the age of 90 s, or never without redrive (rules/scheduling#redrive)", async () => {
  await start({ env: { SVC_QUEUE_PULL_ON_FREE: "0", SVC_QUEUE_REDRIVE_DISABLE: "1" } });
  const job_id = await queued();
  const worker = await hub.worker();
  const detail =
    "a lane is free, and nothing takes it: SVC_QUEUE_PULL_ON_FREE is 0 and SVC_QUEUE_REDRIVE_DISABLE is 1";
  expect((await job(job_id)).waiting_for).toEqual({ reason: "redrive", detail });
  expect(await error(job_id, [worker])).toBe(`${TIMEOUT}: ${detail}`);
});

test("the 503 of a session says what there was no lane for (rules/sessions#no-lane-for-a-session)", async () => {
  await start();
  const open = async (body: object) => {
    const waiting = hub.call("POST", "/sessions", body);
    await clock.sleeperIn(SUBMIT_WAIT_MS);
    await clock.advance(SUBMIT_WAIT_MS);
    const answer = await waiting;
    expect({ status: answer.status, detail: answer.body.detail }).toEqual({
      status: 503,
      detail: "fleet at capacity",
    });
    return answer.body.waiting_for;
  };
  expect(await open({})).toEqual({ reason: "no_worker", detail: "no worker is connected" });
  await hub.worker({ worker_id: "w1" });
  const two = await hub.worker({ worker_id: "w2" });
  await hub.call("POST", "/workers/w1/status", { status: "drain" });
  expect(await open({ worker_id: "w1" })).toEqual({
    reason: "workers_paused",
    detail: "no connected worker takes work: w1 is on drain",
  });
  await two.close();
  await hub.signals.next("link closed", { worker_id: "w2" });
  expect(await open({ worker_id: "w2" })).toEqual({
    reason: "no_worker",
    detail: "worker w2 is not connected",
  });
});
