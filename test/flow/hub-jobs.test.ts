import { afterEach, expect, test } from "bun:test";
import { reconcileOnce, redriveOnce } from "#hub/fleet/jobs/passes.ts";
import { SETTLE_MS } from "#hub/fleet/jobs/submit.ts";
import { openDb } from "#hub/platform/db/db.ts";
import { silentLog } from "#shared/kit/log.ts";
import { MAX_WAITING_SUBMITS, WORKER_LOST_ERROR } from "#shared/protocol/limits.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { LOST } from "#test/support/models/lost.ts";
import { SUBMIT_WAIT_MS, startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";
import { claimOf } from "#test/support/servers/db.ts";

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

test("redrive leaves a job younger than 90 s, and assigns it at 90 s (rules/scheduling#redrive)", async () => {
  const clock = createFakeClock();
  await start({ clock, env: { SVC_QUEUE_PULL_ON_FREE: "0" } });
  const job_id = await queue(TARGET, clock);
  await hub.worker();
  await clock.advance(89_999 - SUBMIT_WAIT_MS);
  await redriveOnce(hub.ctx);
  expect((await job(job_id)).status).toBe("queued");
  await clock.advance(1);
  await hub.signals.next("job assigned", { job_id });
  expect(await job(job_id)).toMatchObject({ status: "running", worker_id: "w11", lane_idx: 0 });
  const row = await job(job_id);
  expect(row.novnc_url).toContain(row.session_id);
});

test("the redrive loop runs every 3 s and can be switched off (rules/scheduling#redrive)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  await clock.sleeperIn(3_000);
  await hub.close();
  const quiet = createFakeClock();
  await start({ clock: quiet, env: { SVC_QUEUE_REDRIVE_DISABLE: "1" } });
  await quiet.sleeperIn(90_000);
  expect(quiet.sleepers()).not.toContain(3_000);
});

test("redrive takes at most SVC_QUEUE_REDRIVE_MAX_PER_PASS jobs per pass (rules/scheduling#redrive)", async () => {
  const clock = createFakeClock();
  await start({
    clock,
    env: {
      SVC_QUEUE_PULL_ON_FREE: "0",
      SVC_QUEUE_REDRIVE_MAX_PER_PASS: "2",
      SVC_QUEUE_REDRIVE_INTERVAL_S: "1000",
    },
  });
  for (let i = 0; i < 3; i += 1) await queue(TARGET, clock);
  await clock.advance(90_000);
  await hub.worker({ lanes: 5 });
  expect(await redriveOnce(hub.ctx)).toBe(2);
  expect(await redriveOnce(hub.ctx)).toBe(1);
});

test("redrive whose sending fails reverts the claim, and the next pass takes the job (rules/scheduling#redrive)", async () => {
  const clock = createFakeClock();
  await start({
    clock,
    env: { SVC_QUEUE_PULL_ON_FREE: "0", SVC_QUEUE_REDRIVE_INTERVAL_S: "1000" },
  });
  const job_id = await queue(TARGET, clock);
  const worker = await hub.worker();
  await clock.advance(90_000);
  const link = hub.ctx.links.get("w11");
  if (!link) throw new Error("no link");
  const send = link.send.bind(link);
  link.send = (message) => message.type !== "HubAssignJob" && send(message);
  expect(await redriveOnce(hub.ctx)).toBe(1);
  await hub.signals.next("job requeued", { job_id });
  expect(await job(job_id)).toMatchObject({ status: "queued", worker_id: null, novnc_url: null });
  expect(worker.assigned.all).toEqual([]);
  link.send = send;
  worker.lane(0, { state: "warm" });
  await worker.settle();
  // Nothing pulls it meanwhile: only the next pass does.
  expect((await job(job_id)).status).toBe("queued");
  expect(await redriveOnce(hub.ctx)).toBe(1);
  expect((await worker.assigned.next()).job_id).toBe(job_id);
  await hub.signals.next("job assigned", { job_id });
});

test("an assignment the worker refuses is reverted and retried once the lane says warm again (rules/scheduling#assignments-taken-back)", async () => {
  await start();
  const worker = await hub.worker({ on_assign: "refuse" });
  const job_id = await queue();
  await hub.signals.next("job requeued", { job_id });
  expect(await job(job_id)).toMatchObject({ status: "queued", worker_id: null, novnc_url: null });
  worker.lane(0, { state: "warm" });
  await hub.signals.next("job requeued", { job_id });
  expect(worker.assigned.all.length).toBe(2);
  expect(await hub.ctx.leases.list("w11")).toEqual([]);
});

test("an assignment without an answer for 5 s is reverted and the worker told to stop (rules/scheduling#assignments-taken-back)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = await hub.worker({ on_assign: "never" });
  const waiting = submit();
  const assigned = await worker.assigned.next();
  await clock.sleeperIn(5_000);
  await clock.advance(5_000);
  await hub.signals.next("job requeued", { job_id: assigned.job_id });
  expect(await worker.messages.next((m) => m.type === "HubCancelJob")).toMatchObject({
    job_id: assigned.job_id,
    lease_token: assigned.lease_token,
  });
  expect((await waiting).status).toBe(503);
  // Taken after all: the hub says no again, and the job stays where it is.
  worker.send({ type: "JobAccepted", job_id: assigned.job_id, lease_token: assigned.lease_token });
  await worker.messages.next((m) => m.type === "HubCancelJob");
  expect((await job(assigned.job_id)).status).toBe("queued");
});

test("an assignment whose link closes before the answer goes back to the queue, not to failed (rules/scheduling#assignments-taken-back)", async () => {
  await start();
  const worker = await hub.worker({ on_assign: "never" });
  const waiting = submit();
  const { job_id } = await worker.assigned.next();
  await worker.close();
  await hub.signals.next("job requeued", { job_id });
  await hub.signals.next("link closed", { worker_id: "w11" });
  await waiting;
  expect(await job(job_id)).toMatchObject({ status: "queued", worker_id: null });
});

test("the reconciler runs every 90 s and fails a job queued for 180 s (rules/scheduling#queue-timeout)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  await clock.sleeperIn(90_000);
  const job_id = await queue(TARGET, clock);
  await clock.advance(179_999 - SUBMIT_WAIT_MS);
  await reconcileOnce(hub.ctx);
  expect((await job(job_id)).status).toBe("queued");
  await clock.advance(1);
  await reconcileOnce(hub.ctx);
  expect(await job(job_id)).toMatchObject({
    status: "failed",
    error: expect.stringContaining("queue timeout"),
  });
});

test("the reconciler fails a running job of 300 s whose worker is not alive, and no younger one (rules/scheduling#reconciler)", async () => {
  const clock = createFakeClock();
  await start({
    clock,
    env: { SVC_STALE_RECONCILE_INTERVAL_S: "100000", SVC_QUEUE_REDRIVE_DISABLE: "1" },
  });
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  await clock.advance(1);
  // As left behind by a hub that died: the row says running, no hub knows the worker.
  hub.ctx.links.delete("w11");
  await hub.ctx.kv.delete("worker:w11");
  await clock.advance(299_998);
  await reconcileOnce(hub.ctx);
  expect((await job(job_id)).status).toBe("running");
  await clock.advance(1);
  await reconcileOnce(hub.ctx);
  expect(await job(job_id)).toMatchObject({ status: "failed", error: "worker w11 is not alive" });
  await worker.close();
});

test("the reconciler leaves an old running job alone while its worker lives (rules/scheduling#reconciler)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  for (let i = 0; i < 4; i += 1) {
    await clock.advance(100_000);
    worker.heartbeat();
    await worker.messages.next((m) => m.type === "HubHeartbeatAck");
  }
  await reconcileOnce(hub.ctx);
  expect((await job(job_id)).status).toBe("running");
});

test("a link that disconnects fails the in-flight jobs of its worker with the message for it (rules/jobs#lost-workers)", async () => {
  await start();
  const worker = await hub.worker({ lanes: 2 });
  const first = (await submit()).body.job_id;
  const second = (await submit()).body.job_id;
  await worker.close();
  await hub.signals.next("link closed", { worker_id: "w11" });
  for (const id of [first, second])
    expect(await job(id)).toMatchObject({ status: "failed", error: LOST });
  expect(WORKER_LOST_ERROR).toBe("orchestrator killed by hub restart");
});

test("a worker that restarts on the same host replaces its silent link; what it ran is failed (rules/jobs#lost-workers)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const before = await hub.worker({ instance_id: "one" });
  const { job_id } = (await submit()).body;
  await clock.advance(30_001);
  await hub.worker({ instance_id: "two" });
  expect((await before.closed).code).toBe(4410);
  expect(await job(job_id)).toMatchObject({ status: "failed", error: LOST });
  expect((await submit()).status).toBe(200);
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

/** As after kill -9 of a hub: its stop leaves a row that says running. */
const leaveRunning = async (): Promise<string> => {
  const job_id = await queue();
  await hub.stop();
  const db = await openDb(hub.ctx.config.db_url, { log: silentLog });
  expect(await db.jobs.claim(claimOf(job_id))).toMatchObject({ status: "running" });
  await db.close();
  return job_id;
};

test("a hub that starts fails the jobs an earlier one left running (rules/jobs#hub-restarts)", async () => {
  await start();
  const job_id = await leaveRunning();
  await hub.restart();
  expect(await job(job_id)).toMatchObject({ status: "failed", error: LOST });
});

test("at hub start nothing is failed when another live hub key exists (rules/jobs#hub-restarts)", async () => {
  let other_lives = false;
  await start({
    onContext: ({ kv }) => {
      if (other_lives) void kv.set("hub:other", { at: 0 }, 90_000);
    },
  });
  const job_id = await leaveRunning();
  other_lives = true;
  await hub.restart();
  expect((await job(job_id)).status).toBe("running");
  other_lives = false;
  await hub.restart();
  expect(await job(job_id)).toMatchObject({ status: "failed", error: LOST });
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
  worker.heartbeat(free);
  await worker.messages.next((m) => m.type === "HubHeartbeatAck");
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
