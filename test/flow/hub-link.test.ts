import { afterEach, expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { livenessOnce } from "#hub/fleet/links/passes.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** The worker's link, seen from the hub (rules/worker-link#link). */

let hub: TestHub;
const start = async (options?: TestHubOptions) => {
  hub = await startTestHub(options);
  return hub;
};
afterEach(() => hub.close());

const workers = async () => (await hub.call("GET", "/workers")).body.workers;

test("WS /workers/{worker_id}/link: a registration is answered with the hub's version, an upload token and the base URL (rules/worker-link#welcome)", async () => {
  await start({ env: { PUBLIC_BASE_URL: "http://hub.test:8000" } });
  const worker = await hub.worker();
  const port = Number(new URL(hub.url).port);
  expect(await worker.registered).toEqual({
    type: "HubRegistered",
    expected_worker_version: "test",
    upload_token: expect.stringMatching(/^.{20,}$/),
    public_base_url: "http://hub.test:8000",
    heartbeat_interval_ms: 15_000,
    late_uploads: true,
    // What its lanes may not open.
    fleet_places: [
      { host: "hub.test", from: 8000, to: 8000, is: "hub" },
      { host: "127.0.0.1", from: port, to: port, is: "hub" },
      ...ownPlaces(port),
    ],
  });
});

/** A worker of this machine knows by them that the hub's loopback is its own. */
const ownPlaces = (port: number) =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith("fe80"))
    .map(({ address }) => ({ host: address, from: port, to: port, is: "hub" as const }));

test("lanes may not open the hub's own port, whatever port the router before it has (rules/egress#never-reachable)", async () => {
  await start({ env: { SVC_ADVERTISE_URL: "http://router.test:9000" } });
  const port = Number(new URL(hub.url).port);
  const { fleet_places } = await (await hub.worker()).registered;
  expect(fleet_places).toContainEqual({ host: "router.test", from: 9_000, to: 9_000, is: "hub" });
  expect(fleet_places).toEqual(expect.arrayContaining(ownPlaces(port)));
});

test("PUBLIC_BASE_URL is http://hub:8000 in hub mode and unset in dev mode (rules/worker-link#welcome)", async () => {
  await start();
  expect((await (await hub.worker()).registered).public_base_url).toBe("http://hub:8000");
  await hub.close();
  await start({ mode: "dev" });
  expect((await (await hub.worker()).registered).public_base_url).toBeNull();
});

test("a worker with another secret is disconnected with the reason bad worker secret (rules/worker-link#bad-worker-secret)", async () => {
  await start({ env: { WORKER_SECRET: "right" } });
  for (const secret of ["wrong", undefined]) {
    const closed = await hub.dial({ secret }).closed;
    expect(closed).toEqual({ code: 4401, reason: "bad worker secret" });
  }
  await hub.worker({ secret: "right" });
  expect((await workers()).length).toBe(1);
});

test("a worker that has a secret is refused by a hub that has none: the two differ (rules/worker-link#bad-worker-secret)", async () => {
  await start();
  expect((await hub.dial({ secret: "some" }).closed).reason).toBe("bad worker secret");
});

test("a second live host with one worker_id is refused, the first keeps its jobs (rules/workers#two-workers-with-one-id)", async () => {
  await start();
  const first = await hub.worker({ address: "10.0.1.23", hostname: "a", instance_id: "1" });
  const job_id = (await hub.call("POST", "/jobs", { url: TARGET })).body.job_id;
  const second = hub.dial({ address: "10.0.12.3", hostname: "b", instance_id: "2" });
  expect(await second.closed).toEqual({ code: 4409, reason: "duplicate worker_id" });
  await first.settle();
  expect((await hub.call("GET", `/jobs/${job_id}`)).body.status).toBe("running");
});

test("a second worker on one host is told of its worker_id while the first still sends heartbeats", async () => {
  await start();
  const first = await hub.worker({ instance_id: "1" });
  const twin = hub.dial({ instance_id: "2" });
  expect(await twin.closed).toEqual({ code: 4409, reason: "duplicate worker_id" });
  await first.settle();
  expect((await hub.call("GET", "/workers")).body.workers[0].alive).toBe(true);
});

test("a host that was silent for more than 120 s gives its worker_id to another", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const first = await hub.worker({ address: "10.0.1.23", hostname: "a", instance_id: "1" });
  await clock.advance(120_001);
  await hub.worker({ address: "10.0.12.3", hostname: "b", instance_id: "2" });
  expect((await first.closed).code).toBeGreaterThan(4400);
});

test("a link without a heartbeat for 120 s is terminated and its jobs fail (rules/workers#alive)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = await hub.worker();
  const job_id = (await hub.call("POST", "/jobs", { url: TARGET })).body.job_id;
  await clock.advance(120_000);
  await livenessOnce(hub.ctx);
  expect((await hub.call("GET", `/jobs/${job_id}`)).body.status).toBe("running");
  await clock.advance(5_000);
  expect(await worker.closed).toMatchObject({ code: 4408 });
  await hub.signals.next("link closed", { worker_id: "w11" });
  expect((await hub.call("GET", `/jobs/${job_id}`)).body.status).toBe("failed");
});

test("log lines do not stand in for heartbeats (rules/workers#alive)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = await hub.worker();
  await hub.call("POST", "/jobs", { url: TARGET });
  const job = await worker.assigned.next();
  await clock.advance(119_000);
  worker.log(job, "wait", "still here");
  await clock.advance(6_000);
  expect((await worker.closed).code).toBe(4408);
});

test("every heartbeat is acknowledged and shown in GET /workers (rules/workers#heartbeats)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = await hub.worker();
  await clock.advance(15_000);
  await worker.settle({
    load: { cpu_percent: 50, mem_percent: 60, disk_pct: 70 },
    profiles: ["p"],
  });
  expect((await workers())[0]).toMatchObject({
    cpu_percent: 50,
    mem_percent: 60,
    disk_pct: 70,
    profiles: ["p"],
    last_heartbeat_at: new Date(clock.now()).toISOString(),
  });
});

test("GET /workers carries address, lane_novnc_urls, version, alive and what the scheduler reads (rules/workers#worker-record)", async () => {
  await start();
  await hub.worker({ worker_id: "w123", address: "192.168.1.23", version: "abc", lanes: 2 });
  const [worker] = await workers();
  expect(worker).toMatchObject({
    worker_id: "w123",
    address: "192.168.1.23",
    hostname: "host-1",
    version: "abc",
    alive: true,
    status: "active",
    in_flight: 0,
    disk_pct: 3,
    capabilities: { max_concurrent: 2 },
    lanes: [{ lane_idx: 0, state: "warm" }, { lane_idx: 1 }],
    connected_at: expect.any(String),
    link_hub: expect.any(String),
  });
});

test("NOVNC_PUBLIC_HOST localhost in viewer links is corrected to the worker's address (rules/lanes#viewer-links-of-a-lane)", async () => {
  await start();
  await hub.worker({
    address: "192.168.1.23",
    lanes: 2,
    capabilities: {
      max_concurrent: 2,
      lane_novnc_urls: ["http://localhost:6080/", "http://viewer.lan:6081/"],
      novnc_url: "http://127.0.0.1:6080/vnc.html",
      browser: null,
      capture: "durable",
    },
  });
  const [worker] = await workers();
  expect(worker.lane_novnc_urls).toEqual(["http://192.168.1.23:6080/", "http://viewer.lan:6081/"]);
  expect(worker.capabilities.novnc_url).toBe("http://192.168.1.23:6080/vnc.html");
});

test("in_flight counts leases: assigned jobs, until their lane is warm again (rules/scheduling#counted-at-once)", async () => {
  await start();
  const worker = await hub.worker({ lanes: 2 });
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const job = await worker.assigned.next();
  await worker.settle();
  expect((await workers())[0]).toMatchObject({
    in_flight: 1,
    lanes: [{ job_id }, { job_id: null }],
  });
  worker.result(job);
  worker.lane(0, { state: "resetting", job_id: null });
  await worker.settle();
  expect((await workers())[0].in_flight).toBe(1);
  worker.lane(0, { state: "warm" });
  await worker.settle();
  expect((await workers())[0].in_flight).toBe(0);
});

test("POST /workers/{id}/status: the operator's status outlives the link and decides what the worker is given (rules/workers#status-of-a-worker)", async () => {
  await start();
  const worker = await hub.worker();
  await hub.call("POST", "/workers/w11/status", { status: "standby" });
  await worker.close();
  await hub.signals.next("link closed");
  expect((await workers())[0]).toMatchObject({ alive: false, status: "standby", lanes: [] });
  await hub.worker();
  expect((await workers())[0]).toMatchObject({ alive: true, status: "standby" });
  expect((await hub.call("POST", "/jobs", { url: TARGET })).status).toBe(503);
});

test("a connected worker cannot be deleted (409), one that left can, an unknown one is 404 (rules/workers#forget-a-worker)", async () => {
  await start();
  const worker = await hub.worker();
  expect((await hub.call("DELETE", "/workers/w11")).status).toBe(409);
  await worker.close();
  await hub.signals.next("link closed");
  expect((await hub.call("DELETE", "/workers/w11")).status).toBe(204);
  expect((await hub.call("DELETE", "/workers/w11")).status).toBe(404);
  expect(await workers()).toEqual([]);
});

const REFUSED: [string, unknown[], number][] = [
  ["bytes that are not JSON", ["nonsense"], 1008],
  ["a frame without type", [{}], 1008],
  [
    "a message before the registration",
    [{ type: "WorkerHeartbeat", in_flight: 0, load: {}, lanes: [] }],
    1008,
  ],
];
for (const [what, frames, code] of REFUSED)
  test(`a socket that opens with ${what} is closed with ${code} (rules/worker-link#unknown-and-broken-frames)`, async () => {
    await start();
    const socket = new WebSocket(`${hub.url.replace("http", "ws")}/workers/w1/link`);
    const closed = new Promise<number>((resolve) => {
      socket.onclose = (event) => resolve(event.code);
    });
    socket.onopen = () => {
      for (const frame of frames)
        socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
    };
    expect(await closed).toBe(code);
    expect(await workers()).toEqual([]);
  });

test("an unknown message type is skipped, a known one that is malformed closes 1008 (rules/worker-link#unknown-and-broken-frames)", async () => {
  await start();
  const worker = await hub.worker();
  worker.send({ type: "FromTheFuture", x: 1 });
  await worker.settle();
  worker.send({ type: "LaneChanged", lane: { lane_idx: -1 } });
  expect((await worker.closed).code).toBe(1008);
});

test("a frame over the limit of the link closes it", async () => {
  await start();
  const worker = await hub.worker();
  worker.socket.send("x".repeat(5 * 1024 * 1024));
  expect((await worker.closed).code).toBeGreaterThan(1000);
});

test("a registration for another worker_id than the path's is refused", async () => {
  await start();
  const worker = hub.dial({ worker_id: "w11" });
  worker.socket.onopen = () =>
    worker.send({
      type: "registration",
      worker_id: "w99",
      instance_id: "i",
      version: "v",
      address: "",
      hostname: "",
      capabilities: { max_concurrent: 1, lane_novnc_urls: [] },
      lanes: [],
      load: { cpu_percent: 0, mem_percent: 0, disk_pct: 0 },
    });
  expect((await worker.closed).code).toBe(1008);
});

test("WS /workers/{worker_id}/link: a socket that does not register within 10 s is closed (rules/worker-link#registration)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = hub.dial();
  worker.socket.onopen = null;
  await new Promise((resolve) => worker.socket.addEventListener("open", resolve));
  while (hub.ctx.handshakes.size === 0) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(15_000);
  expect(await worker.closed).toEqual({ code: 1008, reason: "no registration" });
  expect(hub.ctx.handshakes.size).toBe(0);
});

test("WS /workers/{worker_id}/link: a web page cannot open a link: an Origin is refused before the handshake (rules/worker-link#link)", async () => {
  await start();
  const worker = hub.dial({ headers: { Origin: "https://evil.test" } });
  expect((await worker.closed).code).not.toBe(1000);
  expect(await workers()).toEqual([]);
  const answer = await hub.call("GET", "/workers/w1/link");
  expect(answer.status).toBe(426);
});

const UNFIT: [string, object][] = [
  ["without a lane viewer URL", { capabilities: { max_concurrent: 1, lane_novnc_urls: [] } }],
  ["with its disk at 90 %", { load: { cpu_percent: 0, mem_percent: 0, disk_pct: 90 } }],
  ["with max_concurrent 0", { capabilities: { max_concurrent: 0 } }],
];
for (const [what, hello] of UNFIT)
  test(`a worker ${what} gets no job (rules/scheduling#candidates)`, async () => {
    await start();
    await hub.worker(hello);
    expect((await hub.call("POST", "/jobs", { url: TARGET })).status).toBe(503);
  });

test("max_concurrent below the lanes caps what runs (rules/scheduling#candidates)", async () => {
  await start();
  await hub.worker({ lanes: 3, capabilities: { max_concurrent: 2 } as never });
  const answers = await Promise.all(
    [1, 2, 3].map(() => hub.call("POST", "/jobs", { url: TARGET })),
  );
  expect(answers.map((a) => a.status).sort()).toEqual([200, 200, 503]);
});
