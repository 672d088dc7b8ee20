import { afterEach, expect, test } from "bun:test";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/** The session of a job: its end, and what keep_session and attach_to_job make of it (rules/jobs#session-of-a-job). */

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
  // It is part of its job's record, and no past session (rules/sessions#past-sessions).
  expect((await hub.call("GET", "/sessions?status=ended")).body.sessions).toEqual([]);
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
  // Past sessions (rules/sessions#past-sessions) show it as its job's.
  const { body: past } = await hub.call("GET", "/sessions?status=ended");
  expect(past.sessions).toMatchObject([{ session_id: sid, job_id, opened_by: null, actions: 1 }]);
  expect(past.sessions[0].end_reason).toBe("idle for 60 s");
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
