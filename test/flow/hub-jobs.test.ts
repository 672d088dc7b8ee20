import { afterEach, expect, test } from "bun:test";
import { SETTLE_MS } from "#hub/fleet/jobs/submit.ts";
import { MAX_WAITING_SUBMITS } from "#shared/protocol/limits.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { SUBMIT_WAIT_MS, startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** A test for each row of the job's state table (rules/jobs#states). */

let hub: TestHub;
const start = async (options?: TestHubOptions) => {
  hub = await startTestHub(options);
  return hub;
};
afterEach(() => hub.close());

const submit = (url = TARGET) => hub.call("POST", "/jobs", { url });
const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
/** A job left in the queue by a POST that found no lane within its 50 ms. */
const queue = async (url?: string, clock?: FakeClock): Promise<string> => {
  const waiting = submit(url);
  await clock?.sleeperIn(SUBMIT_WAIT_MS);
  await clock?.advance(SUBMIT_WAIT_MS);
  const answer = await waiting;
  expect(answer.status).toBe(503);
  return answer.body.job_id;
};

test("POST /jobs stores a queued record without viewer, worker and lane (rules/jobs#job-record)", async () => {
  await start();
  const job_id = await queue();
  expect(await job(job_id)).toMatchObject({
    job_id,
    status: "queued",
    url: TARGET,
    novnc_url: null,
    worker_id: null,
    lane_idx: null,
    session_id: null,
    queue_position: 1,
    started_at: null,
  });
});

test("assignment inside POST /jobs: running, with worker and viewer URL recorded (rules/jobs#states)", async () => {
  await start();
  const worker = await hub.worker({ worker_id: "w123" });
  const answer = await submit();
  expect(answer.status).toBe(200);
  const assigned = await worker.assigned.next();
  const sid = answer.body.session_id;
  expect(answer.body).toMatchObject({
    status: "running",
    worker_id: "w123",
    lane_idx: 0,
    novnc_url: `/sessions/${sid}/novnc/?path=sessions/${sid}/novnc/websockify&autoconnect=1&resize=scale&reconnect=1`,
    queue_position: null,
  });
  expect(assigned).toMatchObject({ job_id: answer.body.job_id, session_id: sid, url: TARGET });
});

test("POST /jobs without capacity waits about 8 s, answers 503 and leaves the job queued (rules/jobs#at-capacity)", async () => {
  const clock = createFakeClock();
  await start({ clock, env: { SVC_SUBMIT_WAIT_S: "" } });
  const waiting = submit();
  await clock.sleeperIn(8_000);
  let answered = false;
  void waiting.then(() => {
    answered = true;
  });
  await clock.advance(7_999);
  expect(answered).toBe(false);
  await clock.advance(1);
  const answer = await waiting;
  expect(answer.status).toBe(503);
  expect(answer.body).toEqual({
    detail: "fleet at capacity",
    job_id: expect.any(String),
    waiting_for: { reason: "no_worker", detail: "no worker is connected" },
  });
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await job(answer.body.job_id)).status).toBe("queued");
});

test("a lane that becomes free within the wait takes the job of the waiting POST (rules/jobs#wait-for-a-lane)", async () => {
  const clock = createFakeClock();
  await start({ clock, env: { SVC_SUBMIT_WAIT_S: "" } });
  const worker = await hub.worker();
  await submit();
  const first = await worker.assigned.next();
  const waiting = submit("http://site.test/second");
  await clock.sleeperIn(8_000);
  worker.finish(first);
  const answer = await waiting;
  expect(answer.status).toBe(200);
  expect(answer.body.status).toBe("running");
});

test("POST /jobs above 1,000 waiting ones answers 503 with the job_id at once; the job stays queued", async () => {
  const clock = createFakeClock();
  await start({ clock, env: { SVC_SUBMIT_WAIT_S: "" } });
  for (let i = 0; i < MAX_WAITING_SUBMITS; i += 1) hub.ctx.waiters.set(`job${i}`, () => {});
  const refused = await submit();
  expect(refused.body).toEqual({ detail: "fleet at capacity", job_id: expect.any(String) });
  expect((await job(refused.body.job_id)).status).toBe("queued");
  expect(hub.ctx.waiters.size).toBe(MAX_WAITING_SUBMITS);
  // One fewer, and the next call waits again.
  hub.ctx.waiters.delete("job0");
  const waiting = submit();
  await clock.sleeperIn(8_000);
  await clock.advance(8_000);
  expect((await waiting).status).toBe(503);
});

test("POST /jobs whose job is undecided 6 s after the wait answers 503 with its job_id", async () => {
  const clock = createFakeClock();
  await start({ clock, env: { SVC_SUBMIT_WAIT_S: "" } });
  const never = Promise.withResolvers<void>();
  void hub.ctx.dispatcher.exclusive(() => never.promise);
  const waiting = submit();
  await clock.sleeperIn(8_000);
  await clock.advance(8_000);
  await clock.sleeperIn(SETTLE_MS);
  await clock.advance(SETTLE_MS);
  const answer = await waiting;
  expect(answer.status).toBe(503);
  expect((await job(answer.body.job_id)).status).toBe("queued");
  never.resolve();
});

test("a worker's result ends the job as completed, with what it found (rules/jobs#states)", async () => {
  await start();
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  const assigned = await worker.assigned.next();
  worker.result(assigned, { http_status: 404, final_url: "http://site.test/x", title: "T" });
  expect(await worker.messages.next((m) => m.type === "HubResultAck")).toMatchObject({
    accepted: true,
  });
  expect(await job(job_id)).toMatchObject({
    status: "completed",
    http_status: 404,
    final_url: "http://site.test/x",
    title: "T",
    error: null,
    duration_ms: expect.any(Number),
    novnc_url: expect.any(String),
  });
});

test("a worker's failure ends the job as failed with its error (rules/jobs#failed-and-completed)", async () => {
  await start();
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  worker.result(await worker.assigned.next(), { status: "failed", error: "DNS lookup failed" });
  await hub.signals.next("job finished", { job_id });
  expect(await job(job_id)).toMatchObject({ status: "failed", error: "DNS lookup failed" });
});

test("of two claims of one job exactly one wins (rules/jobs#two-hubs-and-one-job)", async () => {
  await start();
  const job_id = await queue();
  const claim = (worker_id: string, lease_token: number) =>
    hub.ctx.db.jobs.claim({
      job_id,
      worker_id,
      lane_idx: 0,
      session_id: "s",
      novnc_url: "/n",
      lease_token,
      hub_id: "hub-1",
      now: 1,
    });
  const won = await Promise.all([claim("w1", 1), claim("w2", 2), claim("w3", 3)]);
  expect(won.filter(Boolean).length).toBe(1);
});

test("a lane that becomes free pulls the oldest queued job at once (rules/scheduling#freed-lanes)", async () => {
  await start();
  const worker = await hub.worker();
  await submit();
  const first = await worker.assigned.next();
  const older = await queue("http://site.test/older");
  const newer = await queue("http://site.test/newer");
  worker.finish(first);
  const second = await worker.assigned.next();
  expect(second.job_id).toBe(older);
  worker.finish(second);
  expect((await worker.assigned.next()).job_id).toBe(newer);
});

test("a worker that registers pulls what is queued", async () => {
  await start();
  const job_id = await queue();
  const worker = await hub.worker();
  expect((await worker.assigned.next()).job_id).toBe(job_id);
});

test("a stale result is refused by its lease token and changes nothing", async () => {
  await start();
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  const assigned = await worker.assigned.next();
  worker.result({ ...assigned, lease_token: assigned.lease_token + 1 });
  expect(await worker.messages.next((m) => m.type === "HubResultAck")).toMatchObject({
    accepted: false,
  });
  expect((await job(job_id)).status).toBe("running");
  worker.result(assigned);
  await hub.signals.next("job finished", { job_id });
  worker.result(assigned, { status: "failed", error: "again" });
  await worker.messages.next((m) => m.type === "HubResultAck" && !m.accepted);
  expect((await job(job_id)).status).toBe("completed");
});

test("min_asset_size_bytes 0 takes the hub's setting, another value stays (rules/capture#smallest-asset)", async () => {
  const clock = createFakeClock();
  await start({ clock, env: { SVC_MIN_ASSET_SIZE_BYTES: "1000" } });
  const worker = await hub.worker({ lanes: 3 });
  const sent = async (options: object) => {
    await hub.call("POST", "/jobs", { url: TARGET, options });
    return (await worker.assigned.next()).options.min_asset_size_bytes;
  };
  expect(await sent({})).toBe(1000);
  expect(await sent({ min_asset_size_bytes: 5 })).toBe(5);
  await hub.ctx.db.settings.set("min_asset_size_bytes", 77, 1);
  await clock.advance(1_000);
  expect(await sent({ min_asset_size_bytes: 0 })).toBe(77);
});

test("the least busy worker gets the next job, counted at once (rules/scheduling#order-of-candidates)", async () => {
  await start();
  const a = await hub.worker({ worker_id: "wa", lanes: 2 });
  const b = await hub.worker({ worker_id: "wb", lanes: 3 });
  // Six at once: b first (more lanes), then always the one with fewer in flight.
  const answers = await Promise.all(Array.from({ length: 6 }, () => submit()));
  expect(answers.filter((r) => r.status === 200).length).toBe(5);
  expect(a.assigned.all.length).toBe(2);
  expect(b.assigned.all.length).toBe(3);
});

test("POST /workers/{id}/status: a drained worker finishes what it runs and takes nothing more (rules/workers#status-of-a-worker)", async () => {
  await start();
  const worker = await hub.worker({ lanes: 2 });
  await submit();
  const running = await worker.assigned.next();
  const drained = await hub.call("POST", "/workers/w11/status", { status: "drain" });
  expect(drained.body).toMatchObject({ worker_id: "w11", status: "drain", in_flight: 1 });
  await queue();
  worker.result(running);
  await hub.signals.next("job finished", { job_id: running.job_id });
  await hub.call("POST", "/workers/w11/status", { status: "active" });
  await worker.assigned.next();
});

test("POST /jobs/{id}/cancel: a queued job never runs; a running one is stopped and its late result refused (rules/jobs#cancel-a-job)", async () => {
  await start();
  const queued = await queue();
  expect((await hub.call("POST", `/jobs/${queued}/cancel`)).body).toMatchObject({
    status: "cancelled",
  });
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  const assigned = await worker.assigned.next();
  const answer = await hub.call("POST", `/jobs/${job_id}/cancel`);
  expect(answer.body).toMatchObject({ status: "cancelled", finished_at: expect.any(String) });
  await worker.messages.next((m) => m.type === "HubCancelJob");
  worker.finish(assigned);
  await worker.messages.next((m) => m.type === "HubResultAck" && !m.accepted);
  await hub.signals.next("lane freed");
  expect((await job(job_id)).status).toBe("cancelled");
  expect((await hub.call("POST", `/jobs/${job_id}/cancel`)).status).toBe(409);
  expect((await submit()).status).toBe(200);
});

test("a lane that is warm again without a result fails its job and takes the next", async () => {
  await start();
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  await worker.assigned.next();
  worker.lane(0, { state: "warm", job_id: null });
  await hub.signals.next("job finished", { job_id });
  expect(await job(job_id)).toMatchObject({
    status: "failed",
    error: "worker w11 ended the run without a result",
  });
  expect((await submit()).status).toBe(200);
});

test("a lease whose lane is shown free by two heartbeats is freed", async () => {
  await start();
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  await worker.assigned.next();
  const free = { lanes: [{ ...worker.lanes[0], state: "warm", job_id: null }] };
  await worker.settle(free);
  expect((await job(job_id)).status).toBe("running");
  worker.heartbeat(free);
  await hub.signals.next("job finished", { job_id });
  await hub.signals.next("lane freed");
  expect(await hub.ctx.leases.list("w11")).toEqual([]);
});

test("the hub's stop fails what runs, answers who waits and closes links with 1001 (rules/operations#stop)", async () => {
  const clock = createFakeClock();
  await start({ clock, env: { SVC_SUBMIT_WAIT_S: "" } });
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  const waiting = submit();
  await clock.sleeperIn(8_000);
  await hub.stop();
  expect((await waiting).status).toBe(503);
  expect((await worker.closed).code).toBe(1001);
  await hub.restart();
  expect((await job(job_id)).status).toBe("failed");
});
