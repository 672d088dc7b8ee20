import { afterEach, expect, test } from "bun:test";
import { AppError } from "#shared/kit/errors.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** What a hub says of itself and of its parts (rules/operations#health). */

let hub: TestHub;
const start = async (options?: TestHubOptions) => {
  hub = await startTestHub(options);
  return hub;
};
afterEach(() => hub.close());

test("GET /health: status ok, store, connected workers, version (rules/operations#health)", async () => {
  await start();
  expect((await hub.call("GET", "/health")).body).toEqual({
    status: "ok",
    store: hub.ctx.db.dialect,
    workers: 0,
    lanes: { total: 0, busy: 0 },
    version: "test",
    degraded: [],
    disk: { status: "ok", free_bytes: expect.any(Number), reserve_bytes: expect.any(Number) },
    stopping: null,
  });
  await hub.worker();
  expect((await hub.call("GET", "/health")).body.workers).toBe(1);
});

test("GET /health is 503 degraded while the database does not answer (rules/operations#degraded-parts)", async () => {
  await start();
  hub.ctx.db.ping = () => Promise.reject(new Error("gone"));
  expect(await hub.call("GET", "/health")).toMatchObject({
    status: 503,
    body: {
      status: "degraded",
      store: "error",
      degraded: [{ part: "database", detail: "it does not answer" }],
    },
  });
});

test("GET /health names a database and an object store that take nothing, and looks again after 5 s (rules/operations#degraded-parts)", async () => {
  const clock = createFakeClock();
  await start({ clock, alone: true });
  const { db, objects } = hub.ctx;
  const set = db.settings.set;
  const full = new AppError("unavailable", "the disk of the database is full");
  db.settings.set = () => Promise.reject(full);
  objects.probe = () =>
    Promise.reject(new AppError("unavailable", "the object store is read-only"));
  const body = {
    status: "degraded",
    degraded: [
      { part: "database", detail: "the disk of the database is full" },
      { part: "object_store", detail: "the object store is read-only" },
    ],
  };
  expect(await hub.call("GET", "/health")).toMatchObject({ status: 200, body });
  db.settings.set = set;
  await clock.advance(4_999);
  expect((await hub.call("GET", "/health")).body).toMatchObject(body);
  await clock.advance(1);
  expect((await hub.call("GET", "/health")).body).toMatchObject({
    status: "degraded",
    degraded: [{ part: "object_store" }],
  });
});

test("the fleet view falls back to the last good one for 60 s when the store does not answer (rules/workers#list-and-read-workers)", async () => {
  // Each hub has its own last view.
  await start({ alone: true });
  await hub.worker();
  expect((await hub.call("GET", "/workers")).body.workers.length).toBe(1);
  hub.ctx.kv.list = () => Promise.reject(new Error("gone"));
  expect((await hub.call("GET", "/workers")).body.workers.length).toBe(1);
  if (hub.ctx.fleet_cache.last) hub.ctx.fleet_cache.last.at -= 61_000;
  expect(await hub.call("GET", "/workers")).toMatchObject({
    status: 503,
    body: { detail: "the worker registry does not answer" },
  });
});

test("/api/v1/health and /status answer next to the hub", async () => {
  await start({ mode: "dev" });
  expect((await hub.call("GET", "/api/v1/health")).body).toEqual({
    ok: true,
    version: "test",
    degraded: [],
    disk: { status: "ok", free_bytes: expect.any(Number), reserve_bytes: expect.any(Number) },
  });
  expect((await hub.call("GET", "/api/v1/status")).body).toMatchObject({
    version: "test",
    mode: "dev",
    db_url: expect.stringContaining("sqlite:"),
    now: expect.stringMatching(/Z$/),
  });
});

test("GET /api/v1/health names what is degraded as /health does, in control mode too (rules/pipeline-overview#health)", async () => {
  await start({ mode: "control" });
  expect((await hub.call("GET", "/api/v1/health")).body.degraded).toEqual([]);
  await hub.close();
  await start({ clock: createFakeClock(), alone: true });
  const { db, objects } = hub.ctx;
  objects.probe = () =>
    Promise.reject(new AppError("unavailable", "the object store is read-only"));
  db.settings.set = () =>
    Promise.reject(new AppError("unavailable", "the disk of the database is full"));
  const degraded = [
    { part: "database", detail: "the disk of the database is full" },
    { part: "object_store", detail: "the object store is read-only" },
  ];
  expect(await hub.call("GET", "/api/v1/health")).toMatchObject({
    status: 200,
    body: { ok: true, degraded },
  });
  await hub.close();
  await start();
  hub.ctx.db.ping = () => Promise.reject(new Error("gone"));
  expect(await hub.call("GET", "/api/v1/health")).toMatchObject({
    status: 503,
    body: { ok: false, degraded: [{ part: "database", detail: "it does not answer" }] },
  });
});
