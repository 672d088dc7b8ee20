import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { stopEndedOnce } from "#hub/fleet/jobs/ended-elsewhere.ts";
import { startEventStream } from "#hub/fleet/jobs/event-stream.ts";
import { reconcileOnce } from "#hub/fleet/jobs/passes.ts";
import { LEAVE_MS } from "#hub/fleet/links/candidate.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { resumeOf } from "#test/support/fakes/fake-worker.ts";
import { stillClock } from "#test/support/fakes/still-clock.ts";
import { LOST } from "#test/support/models/lost.ts";
import { TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { type FleetOptions, fleetsOnPostgres, until } from "#test/support/rigs/hubs.ts";
import { jobRow } from "#test/support/servers/db.ts";

/** Several hubs while messages are lost, stores fail and hubs come and go: nothing runs twice, nothing stays stuck. */

setDefaultTimeout(180_000);
const fleets = fleetsOnPostgres();
beforeAll(() => fleets.open(), 180_000);
afterEach(() => fleets.end());
afterAll(() => fleets.close(), 180_000);

/** Nothing here is the doing of a loop or of a deadline, unless a test has a clock that goes. */
const two = async (options: FleetOptions = {}) => {
  const fleet = await fleets.start({ clock: stillClock, ...options });
  const [a, b] = fleet.hubs as [TestHub, TestHub];
  return { a, b, fleet };
};
const submit = (hub: TestHub, options: Record<string, unknown> = {}) =>
  hub.call("POST", "/jobs", { url: TARGET, options });
const job = async (hub: TestHub, job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
const workers = async (hub: TestHub) => (await hub.call("GET", "/workers")).body.workers;

test("a POST whose messages are all lost is answered with the running record when it looks for itself", async () => {
  const clock = createFakeClock();
  const { a, b, fleet } = await two({ clock });
  const worker = await b.worker();
  for (const messages of fleet.messages) messages.loses = () => true;
  const waiting = submit(a);
  await clock.sleeperIn(8_000);
  let answered = false;
  void waiting.then(() => {
    answered = true;
  });
  // The other hub looks for queued jobs every 5 s.
  await until(async () => {
    await clock.advance(1_000);
    // The database goes on in its own time.
    for (let i = 0; i < 4; i += 1) await Promise.all([a, b].map((hub) => hub.call("GET", "/jobs")));
    return answered;
  });
  expect((await waiting).body).toMatchObject({ status: "running", worker_id: "w11" });
  expect(worker.assigned.all.length).toBe(1);
});

test("without a lane at any hub a POST is answered 503 and its job stays queued for whichever hub has one first (rules/jobs#at-capacity)", async () => {
  const { a, b } = await two({ env: { SVC_SUBMIT_WAIT_S: "0.047" } });
  const { status, body } = await submit(a);
  expect({ status, detail: body.detail }).toEqual({ status: 503, detail: "fleet at capacity" });
  const worker = await b.worker();
  expect((await worker.assigned.next()).job_id).toBe(body.job_id);
});

test("a job that was left to a better hub is taken after all when that one does not come for it (rules/cluster#jobs-across-hubs)", async () => {
  const { a, b } = await two({ clock: systemClock });
  const here = await a.worker({ worker_id: "w1", lanes: 2 });
  expect((await submit(a)).body.worker_id).toBe("w1");
  await b.worker({ worker_id: "w2", lanes: 2 });
  await until(() => a.ctx.cluster.peers.get(b.ctx.hub_id)?.best?.in_flight === 0);
  const stuck = Promise.withResolvers<void>();
  const pass = b.ctx.dispatcher.exclusive(() => stuck.promise);
  const since = performance.now();
  expect((await submit(a)).body.worker_id).toBe("w1");
  stuck.resolve();
  await pass;
  expect(performance.now() - since).toBeGreaterThan(LEAVE_MS - 20);
  expect(here.assigned.all.length).toBe(2);
});

test("SVC_QUEUE_PULL_ON_FREE=0: the other hub takes a job whose POST still waits, and leaves the others for redrive (rules/scheduling#freed-lanes)", async () => {
  const { a, b } = await two({ env: { SVC_QUEUE_PULL_ON_FREE: "0" } });
  const left = jobRow({ created_at: Date.now() });
  await a.ctx.db.jobs.insert(left);
  const worker = await b.worker({ lanes: 2 });
  const { body } = await submit(a);
  expect(body).toMatchObject({ status: "running", worker_id: "w11" });
  expect(worker.assigned.all.map((each) => each.job_id)).toEqual([body.job_id]);
  expect((await job(a, left.job_id)).status).toBe("queued");
});

test("a stream at a hub that heard nothing shows the events, and the end, when it looks for itself", async () => {
  const clock = createFakeClock();
  const { a, b, fleet } = await two({ clock });
  const worker = await b.worker();
  // Before there is a job: what is on its way about it would still arrive.
  for (const messages of fleet.messages) messages.loses = () => true;
  const { job_id } = (await submit(b)).body;
  const assigned = await worker.assigned.next();
  const row = await a.ctx.db.jobs.get(job_id);
  if (!row) throw new Error("no row");
  let looks = 0;
  const { get } = a.ctx.db.jobs;
  a.ctx.db.jobs.get = async (id) => {
    const found = await get(id);
    looks += 1;
    return found;
  };
  const sent: string[] = [];
  let closed = 0;
  const stream = startEventStream(a.ctx, row, 0, {
    send: (text) => {
      sent.push(JSON.parse(text).type);
      return true;
    },
    close: (code) => {
      closed = code;
    },
  });
  // What is stored was sent, and the job was seen running.
  await until(() => sent.length > 0 && looks > 0);
  worker.log(assigned, "navigate", "one");
  worker.finish(assigned);
  await b.signals.next("lane freed");
  expect(closed).toBe(0);
  await until(async () => {
    await clock.advance(1_000);
    return closed !== 0;
  });
  stream.stop();
  expect(sent).toEqual(["log", "log", "done"]);
  expect(closed).toBe(1000);
});

test("a job cancelled at a hub whose message is lost stops when the hub that runs it looks", async () => {
  const { a, b, fleet } = await two();
  const worker = await b.worker();
  const { job_id, session_id } = (await submit(b)).body;
  for (const messages of fleet.messages) messages.loses = () => true;
  expect((await a.call("POST", `/jobs/${job_id}/cancel`)).status).toBe(200);
  await worker.settle();
  expect(worker.messages.all.filter((m) => m.type === "HubCancelJob")).toEqual([]);
  await stopEndedOnce(b.ctx);
  await worker.messages.next((m) => m.type === "HubCancelJob");
  expect(b.ctx.sessions.has(session_id)).toBe(false);
  worker.reset(0);
  await b.signals.next("lane freed");
});

test("DELETE of a job at one hub ends the browser it left open at the other (rules/jobs#delete-a-job)", async () => {
  const { a, b } = await two();
  const worker = await b.worker();
  const { job_id, session_id } = (await submit(a, { keep_session: true })).body;
  worker.result(await worker.assigned.next());
  await b.signals.next("job finished", { job_id });
  expect(b.ctx.sessions.get(session_id)?.kind).toBe("kept");
  expect((await a.call("DELETE", `/jobs/${job_id}`)).status).toBe(204);
  expect((await worker.closing.next()).session_id).toBe(session_id);
});

test("attach_to_job at a hub that has not the session runs in it at the hub that has; a busy one is 409 (rules/jobs#run-in-the-browser-of-another-job)", async () => {
  const { a, b } = await two();
  const worker = await b.worker();
  const first = (await submit(b, { keep_session: true })).body;
  worker.result(await worker.assigned.next());
  await b.signals.next("job finished", { job_id: first.job_id });
  const answer = await submit(a, { attach_to_job: first.job_id });
  expect(answer.body).toMatchObject({ status: "running", session_id: first.session_id });
  const assigned = await worker.assigned.next();
  expect(assigned.extras.in_session).toBe(first.session_id);
  const refused = await submit(a, { attach_to_job: first.job_id });
  expect({ status: refused.status, detail: refused.body.detail }).toEqual({
    status: 409,
    detail: `the lane of job ${first.job_id} is busy with job ${answer.body.job_id}`,
  });
  expect((await submit(a, { attach_to_job: answer.body.job_id })).status).toBe(409);
});

test("a worker whose link was cut goes on with it by way of another hub", async () => {
  const { a, b } = await two();
  const worker = await a.worker({ lanes: 2, resume: null });
  const { job_id, session_id } = (await submit(a)).body;
  const assigned = await worker.assigned.next();
  await worker.settle();
  const resume = await resumeOf(worker);
  worker.socket.terminate();
  await a.signals.next("link cut");
  const again = await b.worker({ lanes: 2, resume });
  const { upload_token } = resume;
  expect(await again.registered).toMatchObject({ upload_token, resumed: { received: 2 } });
  expect([a.ctx.links.size, b.ctx.links.size]).toEqual([1, 0]);
  expect((await b.call("GET", `/sessions/${session_id}/state`)).status).toBe(200);
  expect((await again.putAsset(assigned, "body of a picture")).status).toBe(200);
  again.finish(assigned);
  await a.signals.next("job finished", { job_id });
  expect(await job(b, job_id)).toMatchObject({ status: "completed", error: null });
});

test("a worker whose hub died with its link begins anew at another", async () => {
  const { a, b } = await two();
  const worker = await a.worker({ lanes: 2, resume: null });
  const { job_id } = (await submit(a)).body;
  await worker.assigned.next();
  const { upload_token } = await worker.registered;
  await a.stop();
  const again = await b.worker({ lanes: 2, resume: { upload_token, received: 1 } });
  expect((await again.registered).resumed).toBeUndefined();
  expect(await job(b, job_id)).toMatchObject({ status: "failed", error: LOST });
});

test("a hub that did not hear that its worker left neither overwrites the registration nor fails what runs there", async () => {
  const { a, b, fleet } = await two({ clock: systemClock });
  const old = await a.worker({ lanes: 2 });
  const before = (await submit(a)).body.job_id;
  for (const messages of fleet.messages) messages.loses = (type) => type === "link_taken";
  const fresh = b.dial({ lanes: 2 });
  await fresh.registered;
  expect((await job(b, before)).error).toEqual(LOST);
  const running = (await submit(b)).body;
  expect(running).toMatchObject({ status: "running", worker_id: "w11" });
  const leases = await b.ctx.leases.list("w11");
  old.heartbeat();
  expect((await old.closed).code).toBe(4410);
  await a.signals.next("link closed");
  expect((await job(a, running.job_id)).status).toBe("running");
  expect(await b.ctx.leases.list("w11")).toEqual(leases);
  expect(await workers(a)).toMatchObject([{ link_hub: b.ctx.hub_id, alive: true }]);
  fresh.finish(await fresh.assigned.next());
  await b.signals.next("lane freed");
  expect((await job(a, running.job_id)).status).toBe("completed");
});

test("a live twin at another hub is refused; when that hub is gone from the registry it is not (rules/workers#two-workers-with-one-id)", async () => {
  const { a, b } = await two();
  const first = await a.worker({ instance_id: "1", hostname: "one" });
  const running = (await submit(a)).body.job_id;
  const twin = b.dial({ instance_id: "2", hostname: "two" });
  expect(await twin.closed).toEqual({ code: 4409, reason: "duplicate worker_id" });
  await first.settle();
  expect((await job(b, running)).status).toBe("running");
  expect(await workers(b)).toMatchObject([{ hostname: "one", link_hub: a.ctx.hub_id }]);
  await a.ctx.kv.delete(`hub:${a.ctx.hub_id}`);
  await b.worker({ instance_id: "2", hostname: "two" });
  expect(await workers(a)).toMatchObject([{ hostname: "two", link_hub: b.ctx.hub_id }]);
  expect((await first.closed).code).toBe(4410);
});

test("what an operator sets at one hub holds at the one with the link, and lanes are seen at every hub (rules/workers#status-of-a-worker)", async () => {
  const { a, b } = await two({ clock: systemClock });
  const worker = await b.worker({ lanes: 2 });
  expect((await a.call("POST", "/workers/w11/status", { status: "drain" })).status).toBe(200);
  await until(() => b.ctx.links.get("w11")?.status === "drain");
  worker.lane(1, { state: "quarantined", reason: "tests" });
  await until(async () => (await workers(a))[0].lanes[1].state === "quarantined");
});

test("at hub start nothing is failed while another hub lives, and everything is when none does (rules/jobs#hub-restarts)", async () => {
  const fleet = await fleets.start({ clock: stillClock, count: 1 });
  const [a] = fleet.hubs as [TestHub];
  await a.worker();
  const { job_id } = (await submit(a)).body;
  const b = await fleet.add();
  expect((await job(b, job_id)).status).toBe("running");
  // As after a power cut of both.
  await a.ctx.db.jobs.unclaim(job_id, (await a.ctx.db.jobs.get(job_id))?.lease_token ?? 0);
  const left = { job_id, worker_id: "w99", lane_idx: 0, session_id: "s", novnc_url: "" };
  await a.ctx.db.jobs.claim({ ...left, lease_token: 1, hub_id: "gone", now: 0 });
  await Promise.all([a.stop(), b.stop()]);
  await b.restart();
  expect(await job(b, job_id)).toMatchObject({ status: "failed", error: LOST });
});

test("reconciler: a worker alive at any hub counts; one that is found nowhere twice does not (rules/scheduling#reconciler)", async () => {
  const clock = createFakeClock();
  const { a, b } = await two({ clock });
  const worker = await b.worker();
  const { job_id } = (await submit(b)).body;
  for (let i = 0; i < 4; i += 1) {
    await clock.advance(90_000);
    await worker.settle();
  }
  await until(async () => (await workers(a))[0]?.alive === true);
  await reconcileOnce(a.ctx);
  expect((await job(a, job_id)).status).toBe("running");
  // The shared store forgets everything, and the worker's hub has not said it again yet.
  await a.ctx.kv.delete("worker:w11");
  await reconcileOnce(a.ctx);
  expect((await job(a, job_id)).status).toBe("running");
  await worker.settle();
  await until(async () => (await workers(a))[0]?.alive === true);
  await reconcileOnce(a.ctx);
  expect(a.ctx.cluster.missing.size).toBe(0);
  await a.ctx.kv.delete("worker:w11");
  await reconcileOnce(a.ctx);
  await clock.advance(30_001);
  await reconcileOnce(a.ctx);
  expect(await job(a, job_id)).toMatchObject({
    status: "failed",
    error: "worker w11 is not alive",
  });
});
