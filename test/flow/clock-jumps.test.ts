import { afterEach, describe, expect, test } from "bun:test";
import { reconcileOnce, redriveOnce } from "#hub/fleet/jobs/passes.ts";
import { livenessOnce } from "#hub/fleet/links/passes.ts";
import { reapSessionsOnce } from "#hub/fleet/sessions/reap.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { SUBMIT_WAIT_MS, startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/** What lives, lives by the monotonic clock (rules/time#the-wall-clock): the wall clock may be put anywhere. */

const HOUR_MS = 3_600_000;
let hub: TestHub;
afterEach(() => hub.close());

const start = async () => {
  const clock = createFakeClock();
  hub = await startTestHub({ clock, alone: true });
  return clock;
};
/** A job that finds no lane. */
const queue = async (clock: FakeClock): Promise<string> => {
  const waiting = hub.call("POST", "/jobs", { url: TARGET });
  await clock.sleeperIn(SUBMIT_WAIT_MS);
  await clock.advance(SUBMIT_WAIT_MS);
  return (await waiting).body.job_id;
};
const everyPass = async () => {
  await livenessOnce(hub.ctx);
  await reapSessionsOnce(hub.ctx);
  await reconcileOnce(hub.ctx);
  await redriveOnce(hub.ctx);
};
const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
const told = () =>
  hub.log.filter(({ message }) => String(message).startsWith("the wall clock jumped"));

for (const [way, by] of [
  ["forward", HOUR_MS],
  ["back", -HOUR_MS],
] as const)
  test(`a wall clock that jumps ${way} by an hour fails no job, ends no session, and is logged`, async () => {
    const clock = await start();
    const worker = await hub.worker({ lanes: 2 });
    const session = (await hub.call("POST", "/sessions", {})).body;
    const running = (await hub.call("POST", "/jobs", { url: TARGET })).body.job_id;
    const assigned = await worker.assigned.next();
    const queued = await queue(clock);
    await clock.advance(10_000);
    clock.jump(by);
    await everyPass();
    expect(worker.socket.readyState).toBe(WebSocket.OPEN);
    expect((await hub.call("GET", "/workers")).body.workers[0].alive).toBe(true);
    expect(await job(running)).toMatchObject({ status: "running" });
    expect(await job(queued)).toMatchObject({ status: "queued" });
    const { status, body } = await hub.call("GET", "/sessions");
    expect(status).toBe(200);
    expect(body.sessions.map((s: { session_id: string }) => s.session_id)).toContain(
      session.session_id,
    );
    worker.finish(assigned);
    await hub.signals.next("job finished", { job_id: running });
    const { created_at, started_at, finished_at } = await job(running);
    expect([created_at, started_at, finished_at]).toEqual(
      [created_at, started_at, finished_at].sort(),
    );
    expect(told()).toEqual([expect.objectContaining({ jumped_ms: by, level: "warn" })]);
  });

test("the idle TTL of a session and the queue timeout last as long as they say after a jump forward", async () => {
  const clock = await start();
  const worker = await hub.worker();
  const { session_id } = (await hub.call("POST", "/sessions", { idle_ttl_s: 300 })).body;
  await clock.advance(10_000);
  const queued = await queue(clock);
  clock.jump(HOUR_MS);
  const pass = async (seconds: number) => {
    for (let s = 0; s < seconds; s += 15) {
      await clock.advance(15_000);
      await worker.settle();
    }
  };
  await pass(165);
  await everyPass();
  expect(await job(queued)).toMatchObject({ status: "queued" });
  await pass(15);
  await everyPass();
  expect(await job(queued)).toMatchObject({ status: "failed" });
  expect(hub.ctx.sessions.has(session_id)).toBe(true);
  await pass(120);
  await everyPass();
  expect(hub.ctx.sessions.has(session_id)).toBe(false);
});

test("a job that another process stored with a later time ends no earlier than it began", async () => {
  const clock = await start();
  const worker = await hub.worker();
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const assigned = await worker.assigned.next();
  clock.jump(-HOUR_MS);
  expect((await hub.call("POST", `/jobs/${job_id}/cancel`)).status).toBe(200);
  expect(assigned.job_id).toBe(job_id);
  const { created_at, started_at, finished_at } = await job(job_id);
  expect(finished_at >= started_at && started_at >= created_at).toBe(true);
});

describe("pull workers and agents", () => {
  const register = async (incarnation: string, host: string) => {
    const path = "/api/v1/workers/w1/register";
    return (await hub.call("POST", path, { incarnation, host, slots: 1, version: "1" })).status;
  };
  const state = async () => (await hub.call("GET", "/api/v1/workers")).body.workers[0].state;
  const sync = async (agent_id: string) => {
    const report = { gpus: [], children: [], version: "1" };
    return (await hub.call("POST", "/api/v1/agents/h1/sync", { agent_id, ...report })).status;
  };

  test.each([
    ["forward", HOUR_MS],
    ["back", -HOUR_MS],
  ] as const)(
    "a jump %s lets nobody take the name of one that lives, nor keeps that of one that is silent",
    async (_way, by) => {
      const clock = await start();
      expect([await register("incarnation-1", "a"), await sync("agent-one")]).toEqual([200, 200]);
      await clock.advance(5_000);
      clock.jump(by);
      expect([await register("incarnation-2", "b"), await sync("agent-two")]).toEqual([409, 409]);
      expect(await state()).toBe("active");
      await clock.advance(7_000);
      expect(await register("incarnation-2", "a")).toBe(409);
      await clock.advance(1_000);
      expect(await register("incarnation-2", "a")).toBe(200);
      await clock.advance(30_001);
      expect(await state()).toBe("offline");
      expect([await register("incarnation-3", "b"), await sync("agent-two")]).toEqual([200, 200]);
    },
  );
});
