import { afterEach, expect, test } from "bun:test";
import { SessionOver } from "#hub/fleet/sessions/types.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/**
 * A test for each row of the session's ends (rules/sessions#end-of-a-session), and what keep_session and attach_to_job make
 * of it.
 */

let hub: TestHub;
afterEach(() => hub.close());
const clock = () => createFakeClock();
const start = async (worker: FakeWorkerOptions = {}, time = clock()) => {
  hub = await startTestHub({ clock: time, env: { SVC_SUBMIT_WAIT_S: "0" } });
  const fake = await hub.worker(worker);
  /** Lets time pass while the worker goes on beating: silent for 120 s it would count as gone (rules/workers#alive). */
  const advance = async (ms: number) => {
    for (let left = ms; left > 0; left -= 60_000) {
      await time.advance(Math.min(left, 60_000));
      await fake.settle();
    }
  };
  return { worker: fake, time: { advance } };
};
const open = async (body: object = {}): Promise<string> => {
  const answer = await hub.call("POST", "/sessions", body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  return answer.body.session_id;
};
const submit = (options: object = {}) => hub.call("POST", "/jobs", { url: TARGET, options });
const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
const evaluate = (sid: string) => hub.call("POST", `/sessions/${sid}/evaluate`, { code: "1" });
const isOpen = (sid: string): boolean => hub.ctx.sessions.has(sid);
const leased = async () => (await hub.ctx.leases.list("w11")).length;

/** A keep_session job that has ended, with its session left open. */
async function keptJob(worker: Awaited<ReturnType<typeof start>>["worker"], more = {}) {
  await submit({ keep_session: true, ...more });
  const assigned = await worker.assigned.next();
  worker.result(assigned);
  await hub.signals.next("job finished", { job_id: assigned.job_id });
  return assigned;
}

test("idle longer than the idle TTL → reaped, and its lane comes back (rules/sessions#idle-time)", async () => {
  const { worker, time } = await start();
  const sid = await open();
  await time.advance(299_000);
  expect(isOpen(sid)).toBe(true);
  await time.advance(2_000);
  expect(isOpen(sid)).toBe(false);
  expect(await worker.closing.next()).toMatchObject({ session_id: sid, reason: "idle for 300 s" });
  await hub.signals.next("lane freed");
  expect(await leased()).toBe(0);
  expect((await hub.call("GET", `/sessions/${sid}/state`)).status).toBe(404);
});

test("the idle TTL is idle_ttl_s of the creation, or of a keepalive (rules/sessions#idle-time)", async () => {
  const { time } = await start();
  const sid = await open({ idle_ttl_s: 10 });
  await time.advance(9_000);
  const answer = await hub.call("POST", `/sessions/${sid}/keepalive`, { idle_ttl_s: 1_000 });
  expect(answer.body).toMatchObject({ ok: true, result: { idle_ttl_s: 1_000 } });
  await time.advance(990_000);
  expect(isOpen(sid)).toBe(true);
  await time.advance(12_000);
  expect(isOpen(sid)).toBe(false);
});

test("an action counts as activity, and as long as it runs the session is not idle; previews and state are none (rules/sessions#activity)", async () => {
  const { worker, time } = await start({
    on_call: ({ action }) => (action === "evaluate" ? null : {}),
  });
  const sid = await open({ idle_ttl_s: 10 });
  await time.advance(9_000);
  const running = hub.call("POST", `/sessions/${sid}/evaluate`, { code: "1", timeout_s: 60 });
  const call = await worker.calls.next((c) => c.action === "evaluate");
  await time.advance(50_000);
  expect(isOpen(sid)).toBe(true);
  worker.reply(call);
  expect((await running).status).toBe(200);
  await time.advance(5_000);
  await hub.call("GET", `/sessions/${sid}/state`);
  await time.advance(4_000);
  expect(isOpen(sid)).toBe(true);
  await time.advance(2_000);
  expect(isOpen(sid)).toBe(false);
});

test("the absolute TTL ends a session however busy it is; what runs then is 404 (rules/sessions#absolute-lifetime)", async () => {
  const { worker, time } = await start({ on_call: () => null });
  const sid = await open({ ttl_s: 20 });
  await time.advance(15_000);
  const running = evaluate(sid);
  await worker.calls.next();
  await time.advance(6_000);
  expect(await running).toMatchObject({ status: 404, body: { detail: "session not found" } });
  expect(await worker.closing.next()).toMatchObject({ reason: "its time is up" });
});

test("DELETE → reaped at once; the lane is leased until the worker says warm (rules/sessions#delete-a-session)", async () => {
  const { worker } = await start();
  const sid = await open();
  const ended = Promise.withResolvers<unknown>();
  hub.ctx.sessions.get(sid)?.ended.addEventListener("abort", (e) => {
    ended.resolve((e.target as AbortSignal).reason);
  });
  expect((await hub.call("DELETE", `/sessions/${sid}`)).status).toBe(204);
  expect(await ended.promise).toBeInstanceOf(SessionOver);
  expect((await hub.call("DELETE", `/sessions/${sid}`)).status).toBe(404);
  await worker.closing.next();
  await hub.signals.next("lane freed");
  await open();
});

test("hub restart → reaped: its id means nothing to the next one (rules/sessions#sessions-over-hub-restarts)", async () => {
  await start();
  const sid = await open();
  await hub.restart();
  expect((await hub.call("GET", `/sessions/${sid}/state`)).status).toBe(404);
});

test("worker loss → what runs is 502, then 404 for ever, also when the worker is back (rules/sessions#end-of-a-session)", async () => {
  const { worker } = await start({ on_call: () => null });
  const sid = await open();
  const running = evaluate(sid);
  await worker.calls.next();
  await worker.close();
  expect(await running).toMatchObject({
    status: 502,
    body: { detail: expect.stringMatching(/^its worker is gone: .*worker w11 /) },
  });
  await hub.signals.next("link closed");
  expect((await evaluate(sid)).status).toBe(404);
  await hub.worker();
  expect((await evaluate(sid)).status).toBe(404);
  expect(await leased()).toBe(0);
  expect(hub.ctx.session_calls.size).toBe(0);
});

test("the worker says that a session ended → reaped with its reason; under another lease it is stale", async () => {
  const { worker } = await start();
  const sid = await open();
  const { lease_token } = await worker.opening.next();
  const reason = "the browser crashed";
  worker.send({ type: "SessionEnded", session_id: sid, lease_token: lease_token - 1, reason });
  await worker.settle();
  expect(isOpen(sid)).toBe(true);
  const { ended } = hub.ctx.sessions.get(sid) ?? {};
  worker.send({ type: "SessionEnded", session_id: sid, lease_token, reason });
  await hub.signals.next("session ended", { session_id: sid });
  expect(ended?.reason.message).toBe(reason);
  expect(await leased()).toBe(1);
  worker.reset(0);
  await hub.signals.next("lane freed");
});

test("a lane that says warm has no session any more", async () => {
  const { worker } = await start();
  const sid = await open();
  worker.reset(0);
  await hub.signals.next("lane freed");
  expect(isOpen(sid)).toBe(false);
});

test("an action that gets no answer is 504 after its timeout and the grace", async () => {
  const { worker, time } = await start({ on_call: () => null });
  const sid = await open();
  const running = hub.call("POST", `/sessions/${sid}/click`, { selector: "a", timeout_s: 5 });
  await worker.calls.next();
  await time.advance(7_999);
  expect(hub.ctx.session_calls.size).toBe(1);
  await time.advance(1);
  expect((await running).status).toBe(504);
  expect(hub.ctx.session_calls.size).toBe(0);
});

test("a session that does not open in time is 504, and the worker is told", async () => {
  const { worker, time } = await start({ on_open: "never" });
  const call = hub.call("POST", "/sessions", {});
  const { session_id } = await worker.opening.next();
  await time.advance(60_000);
  expect((await call).status).toBe(504);
  expect(await worker.closing.next()).toMatchObject({ session_id });
});

test("a running job has a session, which its end reaps (rules/jobs#session-of-a-job)", async () => {
  const { worker } = await start();
  await submit();
  const assigned = await worker.assigned.next();
  const { session_id: sid, job_id } = assigned;
  expect((await hub.call("GET", `/sessions/${sid}/state`)).body).toMatchObject({
    session_id: sid,
    job_id,
    idle_ttl_s: null,
  });
  expect((await evaluate(sid)).status).toBe(200);
  worker.finish(assigned);
  await hub.signals.next("job finished");
  expect((await evaluate(sid)).status).toBe(404);
  expect((await job(job_id)).session_id).toBe(sid);
});

for (const [how, status] of [
  ["cancelled", "cancelled"],
  ["failed by its worker's loss", "failed"],
  ["abandoned by its lane", "failed"],
] as const)
  test(`a job that is ${how} reaps its session, also with keep_session (rules/jobs#keep-the-session)`, async () => {
    const { worker } = await start();
    await submit({ keep_session: true });
    const { job_id, session_id: sid, lane_idx } = await worker.assigned.next();
    if (how === "cancelled") await hub.call("POST", `/jobs/${job_id}/cancel`);
    else if (how === "abandoned by its lane") worker.reset(lane_idx);
    else await worker.close();
    await hub.signals.next("job finished", { job_id, status });
    expect(isOpen(sid)).toBe(false);
    expect((await evaluate(sid)).status).toBe(404);
  });

test("DELETE of a running job's session cancels the job", async () => {
  const { worker } = await start();
  await submit();
  const { job_id, session_id: sid } = await worker.assigned.next();
  expect((await hub.call("DELETE", `/sessions/${sid}`)).status).toBe(204);
  expect((await job(job_id)).status).toBe("cancelled");
  expect(await worker.messages.next((m) => m.type === "HubCancelJob")).toMatchObject({ job_id });
});

test("keep_session: the session outlives its job with an idle TTL of 60 s, on a leased lane (rules/jobs#keep-the-session)", async () => {
  const { worker, time } = await start();
  const { session_id: sid, job_id } = await keptJob(worker);
  expect((await job(job_id)).status).toBe("completed");
  expect((await hub.call("GET", `/sessions/${sid}/state`)).body).toMatchObject({
    job_id,
    idle_ttl_s: 60,
  });
  expect((await hub.call("POST", "/sessions", {})).status).toBe(503);
  await time.advance(59_000);
  expect((await evaluate(sid)).status).toBe(200);
  await time.advance(59_000);
  expect(isOpen(sid)).toBe(true);
  await time.advance(2_000);
  expect(isOpen(sid)).toBe(false);
  expect(await worker.closing.next()).toMatchObject({ session_id: sid });
  await hub.signals.next("lane freed");
  expect(await leased()).toBe(0);
});

test("a keep_session job that failed with its browser alive leaves it open too; keepalive before its end counts (rules/jobs#keep-the-session)", async () => {
  const { worker, time } = await start();
  await submit({ keep_session: true });
  const assigned = await worker.assigned.next();
  const { session_id: sid } = assigned;
  await hub.call("POST", `/sessions/${sid}/keepalive`, { idle_ttl_s: 600 });
  worker.result(assigned, { status: "failed", error: "no" });
  await hub.signals.next("job finished");
  await time.advance(590_000);
  expect(isOpen(sid)).toBe(true);
  expect((await hub.call("DELETE", `/sessions/${sid}`)).status).toBe(204);
  await worker.closing.next();
});

test("deleting the job ends the session it left behind (rules/jobs#keep-the-session)", async () => {
  const { worker } = await start();
  const { session_id: sid, job_id } = await keptJob(worker);
  expect((await hub.call("DELETE", `/jobs/${job_id}`)).status).toBe(204);
  expect(isOpen(sid)).toBe(false);
  expect(await worker.closing.next()).toMatchObject({ session_id: sid });
});

test("attach_to_job: the next job runs in the same session on the same lane, which stays open after it (rules/jobs#run-in-the-browser-of-another-job)", async () => {
  const { worker, time } = await start();
  const first = await keptJob(worker);
  const answer = await submit({ attach_to_job: first.job_id });
  expect(answer).toMatchObject({
    status: 200,
    body: { status: "running", session_id: first.session_id, lane_idx: first.lane_idx },
  });
  const second = await worker.assigned.next();
  expect(second).toMatchObject({
    job_id: answer.body.job_id,
    session_id: first.session_id,
    extras: { in_session: first.session_id },
  });
  expect(second.lease_token).toBeGreaterThan(first.lease_token);
  expect(await leased()).toBe(1);
  await time.advance(120_000); // a job's session is not idle
  expect(isOpen(first.session_id)).toBe(true);
  worker.result(second);
  await hub.signals.next("job finished", { job_id: second.job_id });
  expect((await hub.call("GET", `/sessions/${first.session_id}/state`)).body).toMatchObject({
    job_id: second.job_id,
    idle_ttl_s: 60,
  });
  const third = await submit({ attach_to_job: first.job_id });
  expect(third.body).toMatchObject({ status: "running", session_id: first.session_id });
  worker.result(await worker.assigned.next());
  await hub.signals.next("job finished", { job_id: third.body.job_id });
  expect((await hub.call("DELETE", `/sessions/${first.session_id}`)).status).toBe(204);
  const closing = await worker.closing.next();
  expect(closing.lease_token).toBeGreaterThan(second.lease_token);
  await hub.signals.next("lane freed");
  expect(await leased()).toBe(0);
});

test("attach_to_job needs no free lane, and takes none (rules/jobs#run-in-the-browser-of-another-job)", async () => {
  const { worker } = await start({ lanes: 2 });
  const first = await keptJob(worker);
  await open();
  expect((await submit({ attach_to_job: first.job_id })).body.status).toBe("running");
  expect(await leased()).toBe(2);
});

test("attach_to_job of a job that is running, or whose session has ended, is 409; of two at once one gets it", async () => {
  const { worker } = await start({ lanes: 2 });
  await submit();
  const plain = await worker.assigned.next();
  const busy = await submit({ attach_to_job: plain.job_id });
  expect(busy).toMatchObject({
    status: 409,
    body: { detail: `the lane of job ${plain.job_id} is busy with job ${plain.job_id}` },
  });
  worker.finish(plain);
  await hub.signals.next("job finished");
  const gone = await submit({ attach_to_job: plain.job_id });
  expect(gone).toMatchObject({ status: 409, body: { detail: expect.stringContaining("ended") } });
  const kept = await keptJob(worker);
  const both = await Promise.all([
    submit({ attach_to_job: kept.job_id }),
    submit({ attach_to_job: kept.job_id }),
  ]);
  expect(both.map((a) => a.body.status ?? a.status).sort()).toContain("running");
  expect(both.filter((a) => a.body.status === "running").length).toBe(1);
});

test("an attached job that the worker refuses fails and leaves the session as it was", async () => {
  const { worker } = await start({ on_assign: "by_hand" });
  const first = submit({ keep_session: true });
  const kept = await worker.assigned.next();
  worker.accept(kept);
  await first;
  worker.result(kept);
  await hub.signals.next("job finished");
  const attaching = submit({ attach_to_job: kept.job_id });
  const { job_id, lease_token } = await worker.assigned.next();
  worker.send({ type: "JobRefused", job_id, lease_token, reason: "too busy" });
  expect((await attaching).body).toMatchObject({
    status: "failed",
    error: "could not be attached: too busy",
  });
  expect((await hub.call("GET", `/sessions/${kept.session_id}/state`)).body.idle_ttl_s).toBe(60);
  expect((await hub.call("DELETE", `/sessions/${kept.session_id}`)).status).toBe(204);
  // Told under the lease the worker knows as well as under the one it refused.
  const told = [await worker.closing.next(), await worker.closing.next()];
  expect(told.map((m) => m.lease_token).sort()).toEqual([kept.lease_token, lease_token]);
  await hub.signals.next("lane freed");
  expect(await leased()).toBe(0);
});

test("a session whose browser dies while a job is being attached takes the job with it and gives the lane back", async () => {
  const { worker } = await start();
  const first = await keptJob(worker);
  await submit({ attach_to_job: first.job_id });
  const second = await worker.assigned.next();
  worker.reset(0);
  await hub.signals.next("job finished", { job_id: second.job_id, status: "failed" });
  await hub.signals.next("lane freed");
  expect(isOpen(first.session_id)).toBe(false);
  expect(await leased()).toBe(0);
});

test("cancelling an attached job ends the session with it", async () => {
  const { worker } = await start();
  const first = await keptJob(worker);
  const { job_id } = (await submit({ attach_to_job: first.job_id })).body;
  await worker.assigned.next();
  await hub.call("POST", `/jobs/${job_id}/cancel`);
  expect(isOpen(first.session_id)).toBe(false);
  worker.reset(0);
  await hub.signals.next("lane freed");
});

test("a session that is ended while its lane changes hands ends; the job fails and the lane comes back", async () => {
  const { worker } = await start();
  const first = await keptJob(worker);
  const { handOver } = hub.ctx.leases;
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  hub.ctx.leases.handOver = async (...args) => {
    const lease = await handOver(...args);
    asked.resolve();
    await go.promise;
    return lease;
  };
  const attaching = submit({ attach_to_job: first.job_id });
  await asked.promise;
  expect((await hub.call("DELETE", `/sessions/${first.session_id}`)).status).toBe(204);
  await worker.closing.next();
  await worker.settle();
  go.resolve();
  expect((await attaching).body).toMatchObject({
    status: expect.stringMatching(/failed|cancelled/),
  });
  await hub.signals.next("lane freed");
  expect(await leased()).toBe(0);
  await open();
});
