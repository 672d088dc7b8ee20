import { afterEach, expect, test } from "bun:test";
import { isCounted } from "#shared/protocol/link/outbox.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import {
  type FakeWorker,
  type FakeWorkerOptions,
  resumeOf,
} from "#test/support/fakes/fake-worker.ts";
import { LOST } from "#test/support/models/lost.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/**
 * A worker whose link was cut and who is back within SVC_LINK_GRACE_S keeps its jobs and sessions
 * (rules/worker-link#cuts-of-a-link); without it they fail and end with the worker.
 */

let hub: TestHub;
afterEach(() => hub.close());
const start = async ({ env, ...options }: TestHubOptions = {}) => {
  // Longer than anything here takes on a busy machine.
  hub = await startTestHub({ alone: true, ...options, env: { SVC_LINK_GRACE_S: "60", ...env } });
};
/** A worker of this version, which has no link to go on with yet. */
const dial = (options: FakeWorkerOptions = {}) => hub.worker({ resume: null, ...options });
const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
const submit = async (options: object = {}): Promise<string> =>
  (await hub.call("POST", "/jobs", { url: TARGET, options })).body.job_id;
const openSession = async (): Promise<string> =>
  (await hub.call("POST", "/sessions", {})).body.session_id;

/** The worker's network goes away. Resolves when the hub has noticed. */
async function cut(worker: FakeWorker): Promise<void> {
  const noticed = hub.signals.next("link cut", { worker_id: worker.worker_id });
  worker.socket.terminate();
  await noticed;
}
const back = async (worker: FakeWorker, options: FakeWorkerOptions = {}) =>
  hub.worker({ lanes: worker.lanes.length, resume: await resumeOf(worker), ...options });

test("the handshake tells for how long a link is kept, and a worker of an earlier version keeps none", async () => {
  await start({ env: { SVC_LINK_GRACE_S: "7" } });
  expect((await (await dial()).registered).link_grace_ms).toBe(7_000);
  expect(await (await hub.worker({ worker_id: "w12" })).registered).not.toHaveProperty(
    "link_grace_ms",
  );
});

test("a job goes on across a cut, and so do its leases, its session and its upload token", async () => {
  await start();
  const worker = await dial();
  const job_id = await submit();
  const assigned = await worker.assigned.next();
  const before = await worker.registered;
  const { session_id, novnc_url } = await job(job_id);
  await worker.settle();
  await cut(worker);
  expect(await job(job_id)).toMatchObject({ status: "running", session_id, novnc_url });
  expect(await hub.ctx.leases.list("w11")).toHaveLength(1);
  expect(hub.ctx.sessions.has(session_id)).toBe(true);
  // Its uploads go by HTTP, and need no link.
  expect((await worker.putAsset(assigned, "body of a picture")).status).toBe(200);
  const again = await back(worker);
  expect(await again.registered).toMatchObject({
    upload_token: before.upload_token,
    // JobAccepted and LaneChanged.
    resumed: { received: 2 },
  });
  again.finish(assigned);
  await hub.signals.next("job finished", { job_id });
  const ended = await job(job_id);
  expect(ended).toMatchObject({ status: "completed", error: null });
  const log = (await hub.call("GET", `/jobs/${job_id}/log.txt`)).text;
  expect(log).toMatch(
    /the link to worker w11 was cut \(code 1006.*\); waiting for it for 60 s at most[\s\S]*worker w11 is back on its link/,
  );
});

test("what was cancelled, ended or asked for during the cut is told to the worker when it is back, in order", async () => {
  await start();
  const worker = await dial({ lanes: 3 });
  const job_id = await submit();
  await worker.assigned.next();
  const sid = await openSession();
  const kept = await openSession();
  await cut(worker);
  expect((await hub.call("POST", `/jobs/${job_id}/cancel`)).body.status).toBe("cancelled");
  expect((await hub.call("DELETE", `/sessions/${sid}`)).status).toBeLessThan(300);
  expect((await hub.call("GET", `/sessions/${sid}/state`)).status).toBe(404);
  const answer = hub.call("POST", `/sessions/${kept}/evaluate`, { code: "1", timeout_s: 600 });
  await hub.everywhere((ctx) => ctx.session_calls.size > 0);
  const again = await back(worker);
  expect((await answer).status).toBe(200);
  const types = again.messages.all.map(({ type }) => type).filter(isCounted);
  expect(types).toEqual(["HubCancelJob", "HubCloseSession", "HubSessionCall"]);
  expect(hub.ctx.sessions.has(kept)).toBe(true);
});

test("what the worker said and the hub never heard comes again, once", async () => {
  await start();
  const worker = await dial();
  const job_id = await submit();
  const assigned = await worker.assigned.next();
  await worker.settle();
  await cut(worker);
  const again = await back(worker);
  const { resumed } = await again.registered;
  expect(resumed?.received).toBe(2);
  again.result(assigned);
  again.result(assigned);
  const acks = [
    await again.messages.next((m) => m.type === "HubResultAck"),
    await again.messages.next((m) => m.type === "HubResultAck"),
  ];
  expect(acks).toMatchObject([{ accepted: true }, { accepted: false }]);
  expect((await job(job_id)).status).toBe("completed");
});

test("a worker that is not back in time has lost its jobs and sessions, and the error says what happened", async () => {
  const clock = createFakeClock();
  await start({ clock, env: { SVC_LINK_GRACE_S: "10" } });
  const worker = await dial({ lanes: 2 });
  const sid = await openSession();
  const job_id = await submit();
  await worker.assigned.next();
  await cut(worker);
  await clock.advance(9_999);
  expect((await job(job_id)).status).toBe("running");
  await clock.advance(1);
  await hub.signals.next("link closed", { worker_id: "w11" });
  const { status, error } = await job(job_id);
  expect(status).toBe("failed");
  expect(error).toEqual(LOST);
  expect(error).toMatch(/the link to worker w11 was cut at .*, and it was not back within 10 s$/);
  expect((await hub.call("GET", `/sessions/${sid}/state`)).status).toBe(404);
  const late = await back(worker);
  expect((await late.registered).resumed).toBeUndefined();
});

test("a worker that was started anew fails what its process of before ran, at once", async () => {
  await start();
  const worker = await dial();
  const job_id = await submit();
  await worker.assigned.next();
  await cut(worker);
  await dial({ instance_id: "instance-2" });
  expect(await job(job_id)).toMatchObject({
    status: "failed",
    error: expect.stringMatching(/: worker w11 was started anew at .*; it was heard of last at /),
  });
  // The one of before is not let in beside it.
  const old = hub.dial({ resume: await resumeOf(worker) });
  expect((await old.closed).code).toBe(4409);
});

test("a worker on another host is refused while the one that was cut may come back", async () => {
  await start();
  const worker = await dial();
  const job_id = await submit();
  await worker.assigned.next();
  await cut(worker);
  const other = hub.dial({ instance_id: "instance-2", hostname: "host-2", resume: null });
  expect((await other.closed).code).toBe(4409);
  await back(worker);
  expect((await job(job_id)).status).toBe("running");
});

test("the same process back before its old socket was noticed to be dead goes on as well", async () => {
  await start();
  const worker = await dial();
  const job_id = await submit();
  const assigned = await worker.assigned.next();
  const again = await back(worker);
  expect(await worker.closed).toMatchObject({ code: 4410 });
  again.finish(assigned);
  await hub.signals.next("job finished", { job_id });
  expect((await job(job_id)).status).toBe("completed");
});

test("a worker that says goodbye, and any with SVC_LINK_GRACE_S=0, is not waited for", async () => {
  await start();
  const worker = await dial();
  const job_id = await submit();
  await worker.assigned.next();
  worker.socket.close(1001, "worker is stopping");
  await hub.signals.next("link closed", { worker_id: "w11" });
  expect((await job(job_id)).error).toMatch(/worker w11 closed its link .*worker is stopping/);
  await hub.close();
  await start({ env: { SVC_LINK_GRACE_S: "0" } });
  const other = await dial();
  const lost = await submit();
  await other.assigned.next();
  other.socket.terminate();
  await hub.signals.next("link closed", { worker_id: "w11" });
  expect((await job(lost)).error).toEqual(LOST);
});

test("a worker that is waited for is given nothing new", async () => {
  await start();
  const worker = await dial({ lanes: 2 });
  await cut(worker);
  const answer = await hub.call("POST", "/jobs", { url: TARGET });
  expect(answer.status).toBe(503);
  const again = await back(worker);
  expect((await again.assigned.next()).job_id).toBe(answer.body.job_id);
});

test("a hub that stops while it waits for a worker leaves the waiting to the next one", async () => {
  const clock = createFakeClock();
  await start({ clock, env: { SVC_LINK_GRACE_S: "10" } });
  const worker = await dial();
  const job_id = await submit();
  await worker.assigned.next();
  await cut(worker);
  await hub.restart();
  expect((await job(job_id)).status).toBe("running");
  await clock.advance(10_000);
  await hub.signals.next("job finished", { job_id });
  expect(await job(job_id)).toMatchObject({ status: "failed", error: LOST });
});

test("what is told between two sockets is bounded: a worker that missed too much begins anew", async () => {
  await start();
  const worker = await dial();
  const sid = await openSession();
  await cut(worker);
  const link = hub.ctx.links.get("w11");
  for (let i = 0; i < 20; i += 1)
    link?.send({
      type: "HubSessionCall",
      call_id: `c${i}`,
      session_id: sid,
      action: "state",
      args: { text: "x".repeat(1024 * 1024) },
      timeout_ms: 1_000,
    });
  const again = await back(worker);
  expect((await again.registered).resumed).toBeUndefined();
  expect(hub.ctx.sessions.has(sid)).toBe(false);
});
