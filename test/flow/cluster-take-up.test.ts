import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { livenessOnce } from "#hub/fleet/links/passes.ts";
import type { SessionPlace } from "#hub/fleet/sessions/places.ts";
import type { LaneHeld } from "#shared/protocol/link/messages.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { type FakeWorker, resumeOf } from "#test/support/fakes/fake-worker.ts";
import { TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { type FleetOptions, fleetsOnPostgres } from "#test/support/rigs/hubs.ts";
import { freePort } from "#test/support/servers/ports.ts";

/**
 * A hub of several is stopped, killed or hangs while its worker runs a job and a session: another hub takes them up from the
 * worker (rules/cluster#workers-that-move); what no worker comes back with fails and ends.
 */

setDefaultTimeout(180_000);
const fleets = fleetsOnPostgres();
beforeAll(() => fleets.open(), 180_000);
afterEach(() => fleets.end());
afterAll(() => fleets.close(), 180_000);

const job = async (hub: TestHub, job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
const stateOf = async (hub: TestHub, sid: string) =>
  (await hub.call("GET", `/sessions/${sid}/state`)).status;
const placeOf = (hub: TestHub, sid: string) => hub.ctx.kv.get<SessionPlace>(`session:${sid}`);

/** Two hubs, and a worker at the first one that runs a job and has a session open. */
async function busy(options: FleetOptions = {}) {
  const fleet = await fleets.start(options);
  const [a, b] = fleet.hubs as [TestHub, TestHub];
  const old = await a.worker({ lanes: 2, resume: null });
  const job_id: string = (await a.call("POST", "/jobs", { url: TARGET })).body.job_id;
  const assigned = await old.assigned.next();
  old.log(assigned, "run", "the page is open");
  const sid: string = (await a.call("POST", "/sessions", { idle_ttl_s: 500 })).body.session_id;
  const { lease_token, lane_idx } = await old.opening.next();
  await old.settle();
  const holds: LaneHeld[] = [
    {
      lane_idx: assigned.lane_idx,
      session_id: assigned.session_id,
      lease_token: assigned.lease_token,
      job_id,
    },
    { lane_idx, session_id: sid, lease_token, job_id: null },
  ];
  return { fleet, a, b, old, job_id, assigned, sid, holds };
}
type Busy = Awaited<ReturnType<typeof busy>>;

/** The worker dials the other hub, as a router brings it there. */
async function back({ b, old, holds }: Busy): Promise<FakeWorker> {
  const resume = { ...(await resumeOf(old)), acknowledged: 0, holds };
  const again = await b.worker({ lanes: 2, resume });
  await b.signals.next("link taken up", { worker_id: "w11" });
  return again;
}

async function goesOn(all: Busy, again: FakeWorker): Promise<void> {
  const { b, old, job_id, assigned, sid } = all;
  expect(await again.registered).toMatchObject({
    upload_token: (await old.registered).upload_token,
  });
  expect(await job(b, job_id)).toMatchObject({ status: "running", error: null });
  expect(await b.ctx.db.jobs.get(job_id)).toMatchObject({ hub_id: b.ctx.hub_id });
  expect(await b.ctx.leases.list("w11")).toHaveLength(2);
  for (const session_id of [sid, assigned.session_id]) {
    expect(await stateOf(b, session_id)).toBe(200);
    expect(await placeOf(b, session_id)).toMatchObject({ hub_id: b.ctx.hub_id });
  }
  expect((await again.putAsset(assigned, "body of a picture")).status).toBe(200);
}

async function comesToItsEnd({ b, job_id, assigned, sid }: Busy, again: FakeWorker): Promise<void> {
  again.finish(assigned);
  await b.signals.next("job finished", { job_id });
  expect(await job(b, job_id)).toMatchObject({ status: "completed", error: null, asset_count: 1 });
  expect((await b.call("DELETE", `/sessions/${sid}`)).status).toBe(204);
  expect(await stateOf(b, sid)).toBe(404);
}

test("a hub that stops leaves its job and its session to the hub that its worker comes to (rules/cluster#workers-that-move)", async () => {
  const all = await busy();
  await all.a.stop();
  expect((await all.old.closed).code).toBe(1012);
  // Their places name a hub that is gone: for as long as the worker may come that is not 404, which is for good.
  for (const sid of [all.sid, all.assigned.session_id]) {
    const meanwhile = await all.b.call("GET", `/sessions/${sid}/state`);
    expect([meanwhile.status, meanwhile.headers.get("retry-after")]).toEqual([503, "1"]);
  }
  const again = await back(all);
  await goesOn(all, again);
  await comesToItsEnd(all, again);
});

/** The others still believe that the hub is there, and find nobody at its address, or somebody who says nothing. */
async function unreachable({ a, b }: Busy, how: "refuses" | "hangs"): Promise<() => void> {
  const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } });
  const port = how === "hangs" ? silent.port : freePort();
  const key = `hub:${a.ctx.hub_id}`;
  const entry = await b.ctx.kv.get<object>(key);
  const { kv } = b.ctx;
  const { set } = kv;
  await set(key, { ...entry, url: `http://127.0.0.1:${port}` }, 3_600_000);
  // Its own beat would tell the address again.
  kv.set = async (at, ...more) => (at === key ? undefined : set(at, ...more));
  return () => silent.stop(true);
}

for (const how of ["refuses", "hangs"] as const)
  test(`a hub that ${how} loses its worker to another, and changes nothing of it when it goes on (rules/cluster#workers-that-move)`, async () => {
    const all = await busy();
    const { fleet, a, b, old, job_id, assigned, sid } = all;
    // It hears nothing while it hangs.
    for (const messages of fleet.messages) messages.loses = () => true;
    const close = await unreachable(all, how);
    try {
      const again = await back(all);
      await goesOn(all, again);
      const leases = await b.ctx.leases.list("w11");
      // The first hub goes on, with what came meanwhile and its timers.
      old.heartbeat();
      expect((await old.closed).code).toBe(4410);
      await a.signals.next("link closed");
      expect(await job(b, job_id)).toMatchObject({ status: "running", error: null });
      expect(await b.ctx.leases.list("w11")).toEqual(leases);
      for (const key of ["kept-link:w11", `kept-session:${sid}`])
        expect(await b.ctx.kept.get(key)).not.toBeNull();
      for (const session_id of [sid, assigned.session_id])
        expect(await placeOf(a, session_id)).toMatchObject({ hub_id: b.ctx.hub_id });
      await comesToItsEnd(all, again);
    } finally {
      close();
    }
  });

test("a hub that hung for longer than 120 s does not fail what another hub leads by now (rules/cluster#workers-that-move)", async () => {
  const clock = createFakeClock();
  const all = await busy({ clock });
  const { a, b, job_id, sid } = all;
  // What the shared store keeps for 120 s has run out, and the worker has dialled anew; no loop of the first hub has run.
  await b.ctx.kv.delete("worker:w11");
  const again = await back(all);
  const link = a.ctx.links.get("w11");
  if (!link) throw new Error("the first hub has no link");
  link.heard_at -= 120_001;
  await livenessOnce(a.ctx);
  expect(a.ctx.links.size).toBe(0);
  await goesOn(all, again);
  expect(await b.ctx.kept.get(`kept-session:${sid}`)).not.toBeNull();
  expect(await job(a, job_id)).toMatchObject({ status: "running", error: null });
});

test("what a killed hub had leased and never given is free at the hub that takes its worker up (rules/scheduling#lane-leases)", async () => {
  const all = await busy();
  await all.a.stop();
  const session_id = "lost".padEnd(22, "0");
  const lost = { lanes: [0, 1, 2], max_concurrent: 3, job_id: null, session_id, ttl_ms: 120_000 };
  expect(await all.b.ctx.leases.acquire({ worker_id: "w11", ...lost })).not.toBeNull();
  await goesOn(all, await back(all));
});
