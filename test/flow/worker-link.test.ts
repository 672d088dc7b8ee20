import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createLog } from "#shared/kit/log.ts";
import { LINK_CLOSE } from "#shared/protocol/link/close.ts";
import type { HubToWorker } from "#shared/protocol/link/messages.ts";
import { BROWSER_OPTION_NAMES } from "#shared/protocol/schema/browser-options.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { type FakeHub, startFakeHub } from "#test/support/fakes/fake-hub.ts";
import { createFakePool, type FakePool } from "#test/support/fakes/fake-lanes.ts";
import { createQueue } from "#test/support/models/queue.ts";
import { startLink, type WorkerLink } from "#worker/link/client.ts";
import type { LinkSession } from "#worker/link/link-session.ts";
import { createSelfReport, type SelfReport } from "#worker/program/self-report.ts";

const LOAD = { cpu_percent: 12.5, mem_percent: 40, disk_pct: 71.5 };

interface Line {
  level: string;
  message: string;
  [field: string]: unknown;
}

let hub: FakeHub;
let clock: FakeClock;
let pool: FakePool;
let report: SelfReport;
let links: WorkerLink[];
const logLines = () => {
  const lines = createQueue<Line>();
  return { lines, log: createLog("debug", (line) => lines.push(JSON.parse(line) as Line)) };
};
let log: ReturnType<typeof logLines>;

function dial(options: { url?: string; secret?: string; in_flight?: () => number } = {}) {
  const sessions = createQueue<LinkSession>();
  const messages = createQueue<HubToWorker>();
  report = createSelfReport({
    worker_id: "w123",
    instance_id: "instance-1",
    version: "v1",
    secret: options.secret ?? null,
    address: "192.168.1.23",
    hostname: "host-a",
    lane_novnc_urls: ["http://localhost:6080/", "http://localhost:6081/"],
    max_concurrent: 2,
    egress: { mode: "open", allow: [], deny: [], block: [] },
    pool,
    profiles: () => [],
    update: () => null,
    hasCertutil: () => true,
    hasChromedriver: () => false,
    host_id: null,
    in_flight: options.in_flight ?? (() => 0),
    load: { sample: async () => LOAD },
  });
  const link = startLink({
    url: `${options.url ?? hub.url}/workers/w123/link`,
    clock,
    log: log.log,
    random: () => 1,
    registration: report.registration,
    heartbeat: report.heartbeat,
    holds: () => [],
    onResumed: () => {},
    onRegistered: (session) => sessions.push(session),
    onMessage: (_session, message) => messages.push(message),
  });
  links.push(link);
  return { link, sessions, messages };
}

beforeEach(async () => {
  hub = await startFakeHub();
  clock = createFakeClock();
  pool = createFakePool(2);
  log = logLines();
  links = [];
});
afterEach(async () => {
  await Promise.all(links.map((link) => link.stop()));
  await hub.stop();
});

describe("handshake (rules/worker-link#welcome)", () => {
  test("the registration carries capabilities, viewer URLs, version, lanes and load", async () => {
    const { sessions } = dial();
    const peer = await hub.nextPeer();
    expect(await peer.register()).toEqual({
      type: "registration",
      worker_id: "w123",
      instance_id: "instance-1",
      version: "v1",
      address: "192.168.1.23",
      hostname: "host-a",
      host_id: null,
      capabilities: {
        max_concurrent: 2,
        lane_novnc_urls: ["http://localhost:6080/", "http://localhost:6081/"],
        novnc_url: null,
        browser: "Chrome/156.0.1.2",
        capture: "durable",
        egress: { mode: "open", allow: [], deny: [], block: [] },
        replay: true,
        replay_clock: true,
        prove_in_replay: true,
        trace: true,
        viewer_events: true,
        session_bodies: true,
        one_shot: true,
        webdriver: false,
        browser_options: [...BROWSER_OPTION_NAMES],
        run_events: true,
      },
      lanes: pool.lanes(),
      load: LOAD,
      profiles: [],
      resume: null,
      waits_for_order: true,
    });
    expect((await sessions.next()).hub).toEqual(hub.registered);
  });

  test("the secret is sent when one is set (rules/worker-link#bad-worker-secret)", async () => {
    dial({ secret: "s3cret" });
    expect((await (await hub.nextPeer()).register()).secret).toBe("s3cret");
  });

  test("a hub that does not answer the registration within 10 s is dialled again", async () => {
    dial();
    const silent = await hub.nextPeer();
    await silent.next("registration");
    await clock.advance(9_999);
    expect(clock.sleepers()).toEqual([1]);
    await clock.advance(1);
    expect((await silent.closed).reason).toContain("did not answer the registration");
    await clock.sleeperIn(200);
    await clock.advance(200);
    await (await hub.nextPeer()).register();
  });

  test("a message before HubRegistered closes the link with 1008", async () => {
    dial();
    const peer = await hub.nextPeer();
    peer.send({ type: "HubHeartbeatAck" });
    expect((await peer.closed).code).toBe(1008);
  });
});

describe("refusal", () => {
  test("`bad worker secret` tells to set WORKER_SECRET and is retried after 30 s, not sooner (rules/worker-link#bad-worker-secret)", async () => {
    dial();
    const peer = await hub.nextPeer();
    await peer.next("registration");
    peer.close(LINK_CLOSE.bad_secret, "bad worker secret");
    const line = await log.lines.next((l) => l.level === "error");
    expect(line.message).toContain("bad worker secret");
    expect(line.message).toContain("WORKER_SECRET");
    await clock.sleeperIn(30_000);
    await clock.advance(30_000);
    await (await hub.nextPeer()).register();
  });

  test("`duplicate worker_id` tells to set SVC_WORKER_ID and is retried slowly (rules/workers#two-workers-with-one-id)", async () => {
    dial();
    const peer = await hub.nextPeer();
    await peer.next("registration");
    peer.close(LINK_CLOSE.duplicate_worker, "duplicate worker_id");
    const line = await log.lines.next((l) => l.level === "error");
    expect(line.message).toContain("SVC_WORKER_ID");
    await clock.sleeperIn(30_000);
  });
});

describe("reconnect", () => {
  test("an unreachable hub is dialled after 0.2, 0.4, 0.8 … 10 s", async () => {
    dial({ url: "ws://127.0.0.1:1" });
    for (const wait of [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]) {
      await clock.sleeperIn(wait);
      expect(
        (await log.lines.next((l) => l.message === "could not reach the hub")).retry_in_ms,
      ).toBe(wait);
      await clock.advance(wait);
    }
  });

  test("a link that stood for 10 s starts the backoff anew", async () => {
    dial();
    for (const wait of [200, 400]) {
      const peer = await hub.nextPeer();
      peer.terminate();
      await clock.sleeperIn(wait);
      await clock.advance(wait);
    }
    const peer = await hub.nextPeer();
    await peer.register();
    await peer.next("WorkerHeartbeat");
    await clock.advance(10_000);
    peer.terminate();
    await clock.sleeperIn(200);
  });

  test("a lost link aborts its session, and what is sent on it later is dropped", async () => {
    const { sessions } = dial();
    const first = await hub.nextPeer();
    await first.register();
    const session = await sessions.next();
    first.terminate();
    await clock.sleeperIn(200);
    expect(session.signal.aborted).toBe(true);
    await clock.advance(200);
    const second = await hub.nextPeer();
    await second.register();
    await sessions.next();
    expect(session.send({ type: "JobAccepted", job_id: "j1", lease_token: 1 })).toBe(false);
    await second.next("WorkerHeartbeat");
    expect(second.frames.map((f) => f.type)).toEqual(["registration", "WorkerHeartbeat"]);
  });

  test("a hub that acknowledges heartbeats and misses eight in a row is dialled again", async () => {
    dial();
    const peer = await hub.nextPeer();
    await peer.register();
    await peer.next("WorkerHeartbeat");
    peer.send({ type: "HubHeartbeatAck" });
    for (let i = 0; i < 8; i += 1) {
      await clock.sleeperIn(15_000);
      await clock.advance(15_000);
      await peer.next("WorkerHeartbeat");
    }
    await clock.sleeperIn(15_000);
    await clock.advance(15_000);
    expect((await peer.closed).reason).toBe("8 heartbeats unanswered");
  });

  test("stop closes the link with 1001 and dials no more", async () => {
    const { link } = dial();
    const peer = await hub.nextPeer();
    await peer.register();
    await peer.next("WorkerHeartbeat");
    await Promise.all([link.stop(), link.stop()]);
    expect((await peer.closed).code).toBe(1001);
    expect(link.session()).toBeNull();
    expect(clock.sleepers()).toEqual([]);
  });

  test("stop while the hub cannot be reached ends the wait", async () => {
    const { link } = dial({ url: "ws://127.0.0.1:1" });
    await clock.sleeperIn(200);
    await link.stop();
    expect(clock.sleepers()).toEqual([]);
  });
});

describe("heartbeat (rules/workers#heartbeats)", () => {
  test("one is sent at once and then at the interval the hub asked for", async () => {
    let in_flight = 0;
    dial({ in_flight: () => in_flight });
    const peer = await hub.nextPeer();
    await peer.register();
    expect(await peer.next("WorkerHeartbeat")).toEqual({
      type: "WorkerHeartbeat",
      in_flight: 0,
      received: 0,
      load: LOAD,
      lanes: pool.lanes(),
      profiles: [],
    });
    in_flight = 1;
    pool.hold(1, { job_id: "j1", session_id: "s1" });
    await clock.sleeperIn(15_000);
    await clock.advance(15_000);
    const second = await peer.next("WorkerHeartbeat");
    expect(second.in_flight).toBe(1);
    expect(second.lanes[1]).toMatchObject({ state: "running", job_id: "j1", session_id: "s1" });
  });

  test("lanes that changed during the handshake are reported after it", async () => {
    const { sessions } = dial();
    const peer = await hub.nextPeer();
    await peer.next("registration");
    pool.hold(0, { job_id: "j1", session_id: "s1" });
    peer.send(hub.registered);
    await sessions.next();
    expect(report.changedLanes().map((l) => [l.lane_idx, l.state])).toEqual([[0, "running"]]);
    expect(report.changedLanes()).toEqual([]);
  });

  test("a draining worker shows its free lanes as gone, the busy ones as they are", async () => {
    dial();
    const peer = await hub.nextPeer();
    await peer.register();
    pool.hold(0, { job_id: "j1", session_id: "s1" });
    report.drain("worker is stopping");
    expect(report.changedLanes().map((l) => [l.state, l.reason])).toEqual([
      ["running", null],
      ["dead", "worker is stopping"],
    ]);
  });
});

describe("frames", () => {
  test("a message of an unknown type is skipped with a debug line (rules/worker-link#unknown-and-broken-frames)", async () => {
    const { messages } = dial();
    const peer = await hub.nextPeer();
    await peer.register();
    peer.send({ type: "HubDoesSomethingNew" });
    peer.send({ type: "HubHeartbeatAck" });
    expect((await messages.next()).type).toBe("HubHeartbeatAck");
    const line = await log.lines.next((l) => l.type === "HubDoesSomethingNew");
    expect(line.level).toBe("debug");
  });

  for (const [what, frame] of [
    ["not JSON", "{"],
    ["without a type", "{}"],
    ["of a known type that does not validate", '{"type":"HubCancelJob","job_id":7}'],
    ["binary", new Uint8Array([1, 2])],
  ] as const)
    test(`a frame ${what} closes the link with 1008`, async () => {
      dial();
      const peer = await hub.nextPeer();
      await peer.register();
      peer.sendRaw(frame);
      expect((await peer.closed).code).toBe(1008);
    });

  test("a frame above the limit closes the link with 1009", async () => {
    dial();
    const peer = await hub.nextPeer();
    await peer.register();
    peer.sendRaw(JSON.stringify({ type: "HubHeartbeatAck", fill: "x".repeat(4 * 1024 * 1024) }));
    expect((await peer.closed).code).toBe(1009);
  });
});

describe("a hub that is down", () => {
  const graced = { link_grace_ms: 10_000 };

  test("the link outlasts its grace while the hub's address refuses the dial, and ten minutes at most", async () => {
    Object.assign(hub.registered, graced);
    const { sessions } = dial();
    const peer = await hub.nextPeer();
    await peer.register();
    const session = await sessions.next();
    await hub.stop();
    await peer.closed;
    // 200 and 400 ms, then every half second: 15 s in all.
    for (const wait_ms of [200, 400, ...Array<number>(29).fill(500)]) {
      await clock.sleeperIn(wait_ms);
      await clock.advance(wait_ms);
    }
    expect([session.signal.aborted, session.is_cut]).toEqual([false, true]);
    await clock.sleeperIn(500);
    await clock.advance(600_000);
    expect(session.signal.aborted).toBe(true);
  });

  test("it is told what runs, and how much of what was said is confirmed", async () => {
    Object.assign(hub.registered, graced);
    dial();
    const peer = await hub.nextPeer();
    await peer.register();
    peer.close(LINK_CLOSE.restarting, "hub is restarting");
    await peer.closed;
    await clock.sleeperIn(200);
    await clock.advance(200);
    const { resume } = await (await hub.nextPeer()).next("registration");
    expect(resume).toMatchObject({ acknowledged: 0, holds: [], received: 0 });
  });
});
