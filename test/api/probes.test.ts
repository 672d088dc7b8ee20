import { afterEach, expect, test } from "bun:test";
import type { PipelineContext } from "#hub/pipeline/context.ts";
import { pipelineProbes } from "#hub/pipeline/metrics/pipeline-probes.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** What supervisors and routers ask of a hub and of a control plane (rules/metrics#live-and-ready). */

let hub: TestHub;
afterEach(() => hub.close());
const start = async (options: TestHubOptions = {}) => {
  hub = await startTestHub({ alone: true, ...options });
};
const get = (path: string) => hub.call("GET", path);
const gone = () => Promise.reject(new Error("gone"));

test("a hub is live while its database is away, and not ready (rules/metrics#live-and-ready)", async () => {
  await start();
  expect(await get("/ready")).toMatchObject({ status: 200, body: { ready: true, reasons: [] } });
  hub.ctx.db.ping = gone;
  expect(await get("/live")).toMatchObject({ status: 200, body: { status: "live" } });
  const answer = await get("/ready");
  expect(answer).toMatchObject({
    status: 503,
    body: { ready: false, reasons: [{ reason: "database" }] },
  });
  expect(answer.headers.get("retry-after")).not.toBeNull();
});

test("a control plane is ready until it stops or its database is away (rules/metrics#live-and-ready)", async () => {
  await start({ mode: "control" });
  expect(await get("/live")).toMatchObject({ status: 200, body: { status: "live" } });
  expect(await get("/ready")).toMatchObject({ status: 200, body: { ready: true, reasons: [] } });
  const reasonsOf = async (ping: () => Promise<void>, aborted: boolean) => {
    const ctx = { db: { ping }, pipeline: { stopping: { aborted } }, clock: systemClock };
    const reasons = await pipelineProbes(ctx as unknown as PipelineContext).notReady();
    return reasons.map(({ reason }) => reason);
  };
  const answers = async () => undefined;
  expect(await reasonsOf(answers, false)).toEqual([]);
  expect(await reasonsOf(gone, false)).toEqual(["database"]);
  expect(await reasonsOf(answers, true)).toEqual(["stopping"]);
});

test("a hub whose registry of workers is away is not ready (rules/metrics#live-and-ready)", async () => {
  await start();
  hub.ctx.kv.list = gone;
  expect(await get("/ready")).toMatchObject({
    status: 503,
    body: { reasons: [{ reason: "worker_registry" }] },
  });
});

test("a hub that takes no writes stays ready (rules/metrics#live-and-ready)", async () => {
  await start();
  hub.ctx.db.settings.set = gone;
  hub.ctx.objects.probe = gone;
  expect((await get("/health")).body.status).toBe("degraded");
  expect((await get("/ready")).status).toBe(200);
});

test("a hub that stops is not ready and says so (rules/metrics#live-and-ready)", async () => {
  await start();
  Object.defineProperty(hub.ctx.draining, "aborted", { value: true });
  expect(await get("/ready")).toMatchObject({
    status: 503,
    body: { reasons: [{ reason: "stopping" }] },
  });
});

test("a hub without workers is not available and says why (rules/metrics#pressure)", async () => {
  await start();
  await hub.call("POST", "/jobs", { url: TARGET });
  expect(await get("/pressure")).toMatchObject({
    status: 200,
    body: {
      is_available: false,
      reasons: [{ reason: "no_worker", detail: expect.any(String) }],
      running: 0,
      max_running: 0,
      queued: 1,
      oldest_queued_s: expect.any(Number),
      workers: 0,
    },
  });
});

test("a hub with a free lane is available (rules/metrics#pressure)", async () => {
  await start();
  await hub.worker();
  expect((await get("/pressure")).body).toMatchObject({
    is_available: true,
    reasons: [],
    running: 0,
    max_running: 1,
    queued: 0,
    oldest_queued_s: null,
    workers: 1,
  });
});

test("a hub whose lanes all have something is not available (rules/metrics#pressure)", async () => {
  await start();
  const worker = await hub.worker();
  await hub.call("POST", "/jobs", { url: TARGET });
  await worker.assigned.next();
  const { body } = await get("/pressure");
  expect(body).toMatchObject({ is_available: false, running: 1, max_running: 1 });
  expect(body.reasons).toHaveLength(1);
});

test("a control plane without workers says so, and counts what waits (rules/metrics#pressure)", async () => {
  await start({ mode: "control" });
  const api = (path: string, body: unknown) => hub.call("POST", `/api/v1${path}`, body);
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  await api("/workloads", { slug: "sizes", ...command });
  await api("/workloads/sizes/tasks/batch", { items: [{ pk: "a" }] });
  expect((await get("/pressure")).body).toMatchObject({
    is_available: false,
    reasons: [{ reason: "no_worker" }],
    running: 0,
    max_running: null,
    queued: 1,
    workers: 0,
  });
  const hello = { incarnation: "incarnation-1", host: "h", slots: 4, version: "1" };
  await api("/workers/p/register", hello);
  expect((await get("/pressure")).body).toMatchObject({ is_available: true, workers: 1 });
});
