import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { retryReleasesOnce } from "#hub/fleet/links/lanes.ts";
import type { LaneLeases } from "#hub/platform/stores/leases.ts";
import { assetMeta } from "#test/support/clients/asset-meta.ts";
import { sha256 } from "#test/support/fakes/fake-worker.ts";
import { stillClock } from "#test/support/fakes/still-clock.ts";
import { TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import {
  type FleetOptions,
  fleetsOnPostgres,
  memoryStores,
  until,
} from "#test/support/rigs/hubs.ts";

/** A lease store that fails or loses what it held: jobs wait, and no lane is lost (rules/cluster#jobs-across-hubs). */

setDefaultTimeout(180_000);
const fleets = fleetsOnPostgres();
beforeAll(() => fleets.open(), 180_000);
afterEach(() => fleets.end());
afterAll(() => fleets.close(), 180_000);

const two = async (options: FleetOptions = {}) => {
  const fleet = await fleets.start({ clock: stillClock, ...options });
  const [a, b] = fleet.hubs as [TestHub, TestHub];
  return { a, b, fleet };
};
const submit = (hub: TestHub, options: Record<string, unknown> = {}) =>
  hub.call("POST", "/jobs", { url: TARGET, options });
const job = async (hub: TestHub, job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
const workers = async (hub: TestHub) => (await hub.call("GET", "/workers")).body.workers;

/** A lease store of which some calls fail while `away` holds. */
function failing(inner: LaneLeases) {
  const state = { away: new Set<keyof LaneLeases>(), lose_answers: false };
  const leases = { ...inner };
  for (const name of ["acquire", "release", "renew"] as const) {
    const call = inner[name] as (...args: unknown[]) => Promise<unknown>;
    (leases as Record<string, unknown>)[name] = async (...args: unknown[]) => {
      if (!state.away.has(name)) return call(...args);
      if (state.lose_answers) await call(...args);
      throw new Error(`the lease store is away: ${name}`);
    };
  }
  return { state, leases };
}

const withFailingLeases = async () => {
  const shared = memoryStores(stillClock);
  const { state, leases } = failing(shared.leases);
  const fleet = await fleets.start({ clock: stillClock, shared: { ...shared, leases } });
  const [a, b] = fleet.hubs as [TestHub, TestHub];
  return { a, b, fleet, state, inner: shared.leases };
};

test("while the lease store is away a job stays queued; it runs as soon as the store is back", async () => {
  const { a, fleet, state } = await withFailingLeases();
  const worker = await a.worker();
  state.away.add("acquire");
  const waiting = submit(a);
  await until(() => a.log.some((line) => line.message === "dispatch failed"));
  state.away.clear();
  fleet.messages[0]?.gap();
  expect((await waiting).body.status).toBe("running");
  expect(worker.assigned.all.length).toBe(1);
});

test("a lane whose lease could not be given back takes the next job as soon as the store is back", async () => {
  const { a, state, inner } = await withFailingLeases();
  const worker = await a.worker();
  await submit(a);
  const first = await worker.assigned.next();
  state.away.add("release");
  worker.finish(first);
  await a.signals.next("lane freed");
  expect((await inner.list("w11")).length).toBe(1);
  expect((await job(a, first.job_id)).status).toBe("completed");
  const waiting = submit(a);
  await until(() => a.ctx.waiters.size === 1);
  state.away.clear();
  await retryReleasesOnce(a.ctx);
  expect((await waiting).body.status).toBe("running");
  expect((await inner.list("w11")).map((lease) => lease.job_id)).toEqual([
    (await worker.assigned.next()).job_id,
  ]);
});

test("a lease that was given while its answer was lost is given back, and no other", async () => {
  const { a, state, inner } = await withFailingLeases();
  const worker = await a.worker({ lanes: 2 });
  const running = (await submit(a)).body.job_id;
  state.away.add("acquire");
  state.lose_answers = true;
  const waiting = submit(a);
  await until(() => a.log.some((line) => line.message === "dispatch failed"));
  expect((await inner.list("w11")).length).toBe(2);
  state.away.clear();
  await retryReleasesOnce(a.ctx);
  expect((await waiting).body.status).toBe("running");
  expect((await inner.list("w11")).map((lease) => lease.job_id)).toEqual([
    running,
    (await worker.assigned.next((each) => each.job_id !== running)).job_id,
  ]);
});

test("a store that was emptied knows the leases and the registration again after the gap", async () => {
  const { a, b, fleet, inner } = await withFailingLeases();
  const worker = await a.worker();
  const { job_id } = (await submit(a)).body;
  const before = await inner.list("w11");
  await inner.releaseAll("w11");
  for (const { key } of [
    ...(await fleet.shared.kv.list("worker:")),
    ...(await fleet.shared.kv.list("hub:")),
  ])
    await fleet.shared.kv.delete(key);
  for (const messages of fleet.messages) messages.gap();
  await until(async () => (await inner.list("w11")).length === 1);
  expect(await inner.list("w11")).toEqual(before);
  await until(async () => (await workers(b))[0]?.alive === true);
  expect((await fleet.shared.kv.list("hub:")).length).toBe(2);
  worker.finish(await worker.assigned.next());
  await a.signals.next("lane freed");
  expect((await job(b, job_id)).status).toBe("completed");
  expect(await inner.list("w11")).toEqual([]);
});

test("an upload at another hub of a store that was emptied is 503 until it knows the worker's hub again, and then stored", async () => {
  const { a, b, fleet } = await two();
  const worker = await a.worker();
  await submit(a);
  const assigned = await worker.assigned.next();
  const { job_id, lease_token } = assigned;
  const { name, ...meta } = assetMeta("a.txt");
  const headers = {
    authorization: `Bearer ${(await worker.registered).upload_token}`,
    "x-lease-token": String(lease_token),
    "x-sha256": sha256("kept"),
    "x-asset-meta": Buffer.from(JSON.stringify(meta)).toString("base64url"),
  };
  const put = (hub: TestHub) =>
    fetch(`${hub.url}/workers/${worker.worker_id}/jobs/${job_id}/assets/${name}`, {
      method: "PUT",
      headers,
      body: "kept",
    });
  for (const { key } of [
    ...(await fleet.shared.kv.list("worker:")),
    ...(await fleet.shared.kv.list("hub:")),
  ])
    await fleet.shared.kv.delete(key);
  const refused = await put(b);
  expect({ status: refused.status, body: await refused.json() }).toEqual({
    status: 503,
    body: { detail: "the shared store was emptied; the hubs are filling it again" },
  });
  for (const messages of fleet.messages) messages.gap();
  await until(async () => (await workers(b))[0]?.alive === true);
  expect((await put(b)).status).toBe(200);
  worker.finish(assigned);
  await a.signals.next("lane freed");
});
