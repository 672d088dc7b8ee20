import { afterEach, expect, test } from "bun:test";
import type { LaneHeld } from "#shared/protocol/link/messages.ts";
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
 * A hub that is stopped or killed leaves what runs to the next one, which takes it up from the worker that still runs it
 * (rules/jobs#hub-restarts); what no worker comes back with fails and ends.
 */

let hub: TestHub;
afterEach(() => hub.close());
const start = async ({ env, ...options }: TestHubOptions = {}) => {
  // Longer than anything here takes on a busy machine.
  hub = await startTestHub({ alone: true, ...options, env: { SVC_LINK_GRACE_S: "60", ...env } });
};
const dial = (options: FakeWorkerOptions = {}) => hub.worker({ resume: null, ...options });
const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
const submit = async (options: object = {}): Promise<string> =>
  (await hub.call("POST", "/jobs", { url: TARGET, options })).body.job_id;
const stateOf = async (sid: string) => (await hub.call("GET", `/sessions/${sid}/state`)).status;

/** What the process says that comes back: the link it had, what came on it, and what it runs. */
async function back(
  worker: FakeWorker,
  holds: LaneHeld[],
  options: FakeWorkerOptions = {},
): Promise<FakeWorker> {
  const resume = { ...(await resumeOf(worker)), acknowledged: 0, holds };
  return hub.worker({ lanes: worker.lanes.length, resume, ...options });
}

/** One job and one session on two lanes. */
async function busy(options: TestHubOptions = {}) {
  await start(options);
  const worker = await dial({ lanes: 2 });
  const job_id = await submit();
  const assigned = await worker.assigned.next();
  worker.log(assigned, "run", "the page is open");
  const sid: string = (await hub.call("POST", "/sessions", { idle_ttl_s: 500 })).body.session_id;
  const { lease_token, lane_idx } = await worker.opening.next();
  await worker.settle();
  const { session_id } = assigned;
  const holds: LaneHeld[] = [
    { lane_idx: assigned.lane_idx, session_id, lease_token: assigned.lease_token, job_id },
    { lane_idx, session_id: sid, lease_token, job_id: null },
  ];
  return { worker, job_id, assigned, sid, holds };
}

test("a job that runs when its hub is started anew goes on under its lease, with its token and its session (rules/jobs#hub-restarts)", async () => {
  const { worker, job_id, assigned, holds } = await busy();
  const before = await job(job_id);
  await hub.restart();
  expect(await worker.closed).toMatchObject({ code: 1012 });
  expect(await job(job_id)).toEqual(before);
  const again = await back(worker, holds);
  await hub.signals.next("link taken up", { worker_id: "w11" });
  expect(await again.registered).toMatchObject({
    upload_token: (await worker.registered).upload_token,
  });
  expect(await hub.ctx.leases.list("w11")).toHaveLength(2);
  expect((await again.putAsset(assigned, "body of a picture")).status).toBe(200);
  again.finish(assigned);
  await hub.signals.next("job finished", { job_id });
  expect(await job(job_id)).toMatchObject({ status: "completed", error: null, asset_count: 1 });
  expect((await hub.call("GET", `/jobs/${job_id}/log.txt`)).text).toMatch(
    /the page is open[\s\S]*the hub was started anew, worker w11 is back, and the job goes on/,
  );
});

test("a session that is open when its hub is started anew answers again when its worker is back, as it was (rules/sessions#sessions-over-hub-restarts)", async () => {
  const { worker, sid, holds } = await busy();
  const { body: before } = await hub.call("GET", `/sessions/${sid}`);
  await hub.restart();
  const meanwhile = await hub.call("GET", `/sessions/${sid}/state`);
  expect([meanwhile.status, meanwhile.headers.get("retry-after")]).toEqual([503, "1"]);
  await back(worker, holds);
  await hub.signals.next("link taken up", { worker_id: "w11" });
  const { body: after } = await hub.call("GET", `/sessions/${sid}`);
  const { worker_id, lane_idx, created_at, idle_ttl_s, novnc_url } = before;
  expect(after).toMatchObject({ worker_id, lane_idx, created_at, idle_ttl_s, novnc_url });
  expect(Math.abs(Date.parse(after.expires_at) - Date.parse(before.expires_at))).toBeLessThan(
    1_000,
  );
  expect((await hub.call("DELETE", `/sessions/${sid}`)).status).toBe(204);
  await hub.restart();
  expect(await stateOf(sid)).toBe(404);
});

test("what no worker is back with within SVC_LINK_GRACE_S of the start fails, and is 404 (rules/jobs#hub-restarts)", async () => {
  const clock = createFakeClock();
  const { job_id, sid } = await busy({ clock, env: { SVC_LINK_GRACE_S: "10" } });
  await hub.restart();
  await clock.advance(9_999);
  expect((await job(job_id)).status).toBe("running");
  await clock.advance(1);
  await hub.signals.next("job finished", { job_id });
  expect(await job(job_id)).toMatchObject({ status: "failed", error: LOST });
  expect((await job(job_id)).error).toMatch(
    /: the hub was started anew, and worker w11 was not back/,
  );
  expect(await stateOf(sid)).toBe(404);
});

test("another process of the worker, and one with another token, has nothing to go on with (rules/jobs#hub-restarts)", async () => {
  const { worker, job_id, sid, holds } = await busy();
  await hub.restart();
  await back(worker, holds, { instance_id: "instance-2" });
  expect(await job(job_id)).toMatchObject({ status: "failed", error: LOST });
  expect(await stateOf(sid)).toBe(404);
});

test("0 for SVC_LINK_GRACE_S: jobs left running fail at the start, and sessions are over", async () => {
  const { worker, job_id, sid } = await busy({ env: { SVC_LINK_GRACE_S: "0" } });
  await hub.restart();
  expect(await worker.closed).toMatchObject({ code: 1001 });
  expect(await job(job_id)).toMatchObject({ status: "failed", error: LOST });
  expect(await stateOf(sid)).toBe(404);
});

test("what the worker ran and the hub does not know is ended; what it was never told of is queued again", async () => {
  const { worker, job_id, sid, holds } = await busy();
  const [run, open] = holds as [LaneHeld, LaneHeld];
  await hub.restart();
  const again = await back(worker, [{ ...run, lease_token: run.lease_token + 1 }, open]);
  expect(await again.messages.next((m) => m.type === "HubCancelJob")).toMatchObject({ job_id });
  await hub.signals.next("job finished", { job_id });
  expect((await job(job_id)).error).toMatch(
    /: worker w11 came back at .*, and the job no longer ran there$/,
  );
  expect(await stateOf(sid)).toBe(200);
  await hub.restart();
  const last = await back(again, [{ ...open, session_id: "a".repeat(22) }]);
  expect(await last.messages.next((m) => m.type === "HubCloseSession")).toBeDefined();
});

/** As a kill leaves it: nothing is known of how much was handled. */
async function restartKilled(): Promise<void> {
  await hub.restart();
  const [{ value: kept } = { value: {} }] = await hub.ctx.kept.list<object>("kept-link:");
  await hub.ctx.kept.set("kept-link:w11", { ...kept, received: null }, 3_600_000);
}

test("a hub that was killed: lines it had stored and was not sure of are not stored twice, and a result is", async () => {
  const { worker, job_id, assigned, holds } = await busy();
  await restartKilled();
  const again = await back(worker, holds);
  const { resumed } = await again.registered;
  expect(resumed?.received).toBe(0);
  const events = (await hub.call("GET", `/jobs/${job_id}/log.txt`)).text;
  const said = worker.sent.filter(({ type }) => isCounted(String(type)));
  for (const message of said.filter(({ type }) => type === "JobLog")) again.send(message);
  again.finish(assigned);
  await hub.signals.next("job finished", { job_id });
  const log = (await hub.call("GET", `/jobs/${job_id}/log.txt`)).text;
  expect(events.split("the page is open")).toHaveLength(2);
  expect(log.split("the page is open")).toHaveLength(2);
  expect((await job(job_id)).status).toBe("completed");
});

test("a hub that was killed: a lane that was warm before its run began, said once more, ends neither job nor session (rules/jobs#hub-restarts)", async () => {
  const { worker, job_id, assigned, sid, holds } = await busy();
  await restartKilled();
  const again = await back(worker, holds);
  await hub.signals.next("link taken up", { worker_id: "w11" });
  for (const { lane_idx } of holds)
    again.send({ type: "LaneChanged", lane: again.lanes[lane_idx] });
  const counted = worker.sent.filter(({ type }) => isCounted(String(type)));
  for (const message of counted) again.send(message);
  await again.settle();
  expect(await job(job_id)).toMatchObject({ status: "running", error: null });
  expect(await stateOf(sid)).toBe(200);
  again.finish(assigned);
  await hub.signals.next("job finished", { job_id });
  await hub.signals.next("lane freed", { lane_idx: assigned.lane_idx });
  expect((await job(job_id)).status).toBe("completed");
});

test("a hub that drains assigns nothing, keeps what comes in the queue, and waits for what runs", async () => {
  await start({ env: { SVC_DRAIN_TIMEOUT_S: "300" } });
  const worker = await dial({ lanes: 2 });
  const job_id = await submit();
  const assigned = await worker.assigned.next();
  const stopped = hub.stop();
  await hub.everywhere(({ draining }) => draining.aborted);
  const second = await hub.call("POST", "/jobs", { url: TARGET });
  expect([second.status, second.headers.get("retry-after")]).toEqual([503, "10"]);
  expect((await hub.call("GET", `/jobs/${second.body.job_id}`)).body.status).toBe("queued");
  const stopping = { reason: "stopping", detail: expect.stringMatching(/^the hub is stopping/) };
  expect(second.body.waiting_for).toEqual(stopping);
  expect((await job(second.body.job_id)).waiting_for).toEqual(stopping);
  const session = await hub.call("POST", "/sessions", {});
  expect([session.status, session.body.waiting_for]).toEqual([503, stopping]);
  const { body: health } = await hub.call("GET", "/health");
  expect(health).toMatchObject({ status: "ok", stopping: { jobs: 1, sessions: 0 } });
  expect(health.stopping.left_s).toBeGreaterThan(200);
  expect((await worker.putAsset(assigned, "body of a picture")).status).toBe(200);
  worker.finish(assigned);
  await hub.signals.next("job finished", { job_id });
  await stopped;
  expect(worker.assigned.all).toHaveLength(1);
});
