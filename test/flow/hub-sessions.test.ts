import { afterEach, expect, test } from "bun:test";
import { SessionOver } from "#hub/fleet/sessions/hub-session.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

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
const evaluate = (sid: string) => hub.call("POST", `/sessions/${sid}/evaluate`, { code: "1" });
const isOpen = (sid: string): boolean => hub.ctx.sessions.has(sid);
const leased = async () => (await hub.ctx.leases.list("w11")).length;

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

test("worker loss → what runs is 502, then 404 forever, also when the worker is back (rules/sessions#end-of-a-session)", async () => {
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
