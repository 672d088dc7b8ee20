import { afterAll, beforeAll, expect, test } from "bun:test";
import { controlPlaces } from "#hub/platform/cluster/control-places.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { startTestHub } from "#test/support/rigs/hub.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/** Hubs tell their workers where control processes with the same database listen (rules/egress#never-reachable). */

const HOUR_MS = 3_600_000;
let server: TestPostgres;
beforeAll(async () => {
  server = await startPostgres();
}, 180_000);
afterAll(() => server?.stop(), 180_000);

const controlsOf = (places: readonly { is: string }[] | null | undefined) =>
  places?.filter(({ is }) => is === "control") ?? null;

test("a worker is told of them at its handshake, and again once they have changed", async () => {
  const clock = createFakeClock();
  const env = { SVC_DB_URL: await server.createDatabase() };
  const control = await startTestHub({ env, mode: "control" });
  const hub = await startTestHub({ env, clock });
  try {
    const worker = await hub.worker();
    const port = Number(new URL(control.url).port);
    const there = { host: "127.0.0.1", from: port, to: port, is: "control" };
    expect(controlsOf((await worker.registered).fleet_places)).toContainEqual(there);
    const toldNext = async () => {
      await clock.advance(60_000);
      worker.heartbeat();
      const told = await worker.messages.next(
        (message) => message.type === "HubHeartbeatAck" && message.fleet_places != null,
      );
      return told.type === "HubHeartbeatAck" ? told.fleet_places : null;
    };
    // What cannot be read is not gone.
    const { settings } = hub.ctx.db;
    const { list } = settings;
    settings.list = () => Promise.reject(new Error("the database does not answer"));
    await (await hub.worker({ worker_id: "w2", address: "10.0.0.2" })).registered;
    const told = await toldNext();
    expect(told?.map(({ is }) => is)).toContain("bridge");
    expect(controlsOf(told)).toContainEqual(there);
    settings.list = list;
    await control.close();
    expect(controlsOf(await toldNext())).toEqual([]);
  } finally {
    await hub.close();
  }
}, 180_000);

test("one that was killed is told of for an hour", async () => {
  const clock = createFakeClock();
  const hub = await startTestHub({ env: { SVC_DB_URL: await server.createDatabase() }, clock });
  try {
    const { settings } = hub.ctx.db;
    const place = { host: "10.0.0.9", from: 8001, to: 8001, is: "control" as const };
    await settings.set("control_place.killed", [place], clock.now());
    await settings.set("control_place.damaged", [{ host: 5 }], clock.now());
    expect(await controlPlaces(settings, clock.now())).toEqual([place]);
    expect(await controlPlaces(settings, clock.now() + HOUR_MS)).toEqual([place]);
    expect(await controlPlaces(settings, clock.now() + HOUR_MS + 1)).toEqual([]);
  } finally {
    await hub.close();
  }
}, 180_000);
