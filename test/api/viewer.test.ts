import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { HubSession } from "#hub/fleet/sessions/hub-session.ts";
import { dropSession, viewerPath } from "#hub/fleet/sessions/registry.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { type FakeScreen, startFakeScreen } from "#test/support/fakes/fake-screen.ts";
import { openSessionAt, openSocketAt } from "#test/support/fakes/live-session.ts";
import type { Queue } from "#test/support/models/queue.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { startBridges } from "#worker/browser/bridge/bridge.ts";

/** The hub's side of the viewer against a bridge that does what the test says. */

const HELLO = Buffer.from("RFB 003.008\n");
/** A viewer's handshake and one message of each kind that matters here. */
const HANDSHAKE = Buffer.concat([HELLO, Buffer.from([1, 0])]);
const UPDATE = Buffer.from([3, 1, 0, 0, 0, 0, 0, 1, 0, 1]);
const KEY = Buffer.from([4, 1, 0, 0, 0, 0, 0, 0x61]);

let hub: TestHub;
let bridge: FakeScreen;

beforeAll(async () => {
  // Sessions are put straight into the maps of one hub here.
  hub = await startTestHub({ alone: true });
  bridge = await startFakeScreen();
});
afterAll(async () => {
  bridge.stop();
  await hub.close();
});

const openSession = (port = bridge.port) => openSessionAt(hub, port);
const openSocket = (path: string, protocols = ["binary"], headers = {}) =>
  openSocketAt(hub, path, protocols, headers);
const streamPath = (s: HubSession, query = "") =>
  `/sessions/${s.session_id}/novnc/websockify${query}`;

async function watch(session: HubSession, query = "") {
  const viewer = openSocket(streamPath(session, query));
  expect(await viewer.opened).toBe(true);
  const stream = await bridge.streams.next((s) => s.path.includes(session.session_id));
  return { ...viewer, stream };
}
/** Everything the bridge got so far, once it is `length` bytes. */
async function received(queue: Queue<Buffer>, length: number): Promise<Buffer> {
  while (Buffer.concat(queue.all).length < length) await queue.next();
  return Buffer.concat(queue.all);
}

describe("GET /sessions/{sid}/novnc/ (rules/viewer#viewer-page)", () => {
  test("is a page that anyone may embed, and that tells its address to nobody", async () => {
    const session = await openSession();
    const { status, headers, text } = await hub.call("GET", viewerPath(session.session_id));
    expect(status).toBe(200);
    expect(headers.get("content-type")).toContain("text/html");
    expect(headers.get("x-frame-options")).toBeNull();
    expect(headers.get("content-security-policy")).toBeNull();
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    // Nothing is asked for outside of the hub.
    expect(text).not.toMatch(/https?:\/\//);
    const script = await hub.call("GET", `/sessions/${session.session_id}/novnc/viewer.js`);
    expect(script.headers.get("content-type")).toContain("text/javascript");
    expect(script.text.includes("sendCredentials")).toBe(true);
    const etag = script.headers.get("etag") ?? "";
    const path = `/sessions/${session.session_id}/novnc/viewer.js`;
    for (const held of [etag, `W/${etag}`]) {
      const headers = { "If-None-Match": held };
      expect((await hub.call("GET", path, undefined, { headers })).status, held).toBe(304);
    }
  });

  test("leads to itself without the slash", async () => {
    const session = await openSession();
    const answer = await hub.call("GET", `/sessions/${session.session_id}/novnc?resize=scale`);
    expect([answer.status, answer.headers.get("location")]).toEqual([308, "novnc/?resize=scale"]);
  });

  test("is 404 in plain JSON for a session that never was or has ended (rules/viewer#end-of-a-viewer)", async () => {
    const session = await openSession();
    await dropSession(hub.ctx, session, "over");
    for (const sid of [session.session_id, "k3v9x0a1b2c3d4"])
      for (const file of ["", "viewer.js"]) {
        const answer = await hub.call("GET", `/sessions/${sid}/novnc/${file}`);
        expect([answer.status, answer.body]).toEqual([404, { detail: "session not found" }]);
      }
  });

  test("its WebSocket closes with 4404 and the reason, which a browser's page can read (rules/viewer#end-of-a-viewer)", async () => {
    const session = await openSession();
    await dropSession(hub.ctx, session, "over");
    const paths = [streamPath(session), "/sessions/nope/cdp", "/sessions/nope/cdp/devtools/page/A"];
    for (const path of paths)
      for (const protocols of [["binary"], ["other", "binary"], []]) {
        const { socket, closed } = openSocket(path, protocols);
        expect(await closed).toEqual({ code: 4404, reason: "session not found" });
        // A browser refuses an answer without one of the protocols that it offered.
        expect(socket.protocol).toBe(protocols[0] ?? "");
      }
    const live = await openSession();
    const target = openSocket(`/sessions/${live.session_id}/cdp/devtools/nothing/A`, []);
    expect(await target.closed).toEqual({ code: 4404, reason: "target not found" });
    const nowhere = openSocket("/nowhere", []);
    expect(await nowhere.closed).toEqual({ code: 4404, reason: "no such path" });
  });

  test("is 502 when the worker's bridge cannot be reached; the socket closes with the reason (rules/viewer#end-of-a-viewer)", async () => {
    const session = await openSession(freePort());
    const { status, body } = await hub.call("GET", viewerPath(session.session_id));
    expect(status).toBe(502);
    expect(body.detail).toContain("bridge did not answer");
    const { code, reason } = await openSocket(streamPath(session)).closed;
    expect(code).toBe(4502);
    expect(reason).toContain("bridge did not answer");
  });
});

describe("WS /sessions/{sid}/novnc/websockify (rules/viewer#viewer-stream)", () => {
  test("carries bytes both ways from any origin, with the token of the link towards the worker", async () => {
    const session = await openSession();
    const viewer = openSocket(streamPath(session), ["binary"], { Origin: "http://evil.test" });
    expect(await viewer.opened).toBe(true);
    expect(viewer.socket.protocol).toBe("binary");
    const stream = await bridge.streams.next((s) => s.path.includes(session.session_id));
    expect(bridge.headers.at(-1)?.authorization).toBe(`Bearer ${session.link.upload_token}`);
    stream.socket.write(HELLO);
    expect(await viewer.messages.next()).toEqual(HELLO);
    viewer.socket.send(Buffer.concat([HANDSHAKE, KEY]));
    expect((await received(stream.received, HANDSHAKE.length + KEY.length)).subarray(-8)).toEqual(
      KEY,
    );
    viewer.socket.close();
    await new Promise((resolve) => stream.socket.once("close", resolve));
  });

  test("view_only drops input in the hub, and only input counts as activity", async () => {
    const session = await openSession();
    // Not long ago, or the hub would end the session as forgotten.
    session.last_active_at -= 1;
    const before = session.last_active_at;
    const { socket, stream } = await watch(session, "?view_only=true");
    socket.send(Buffer.concat([HANDSHAKE, KEY, UPDATE, KEY]));
    const seen = await received(stream.received, HANDSHAKE.length + UPDATE.length);
    expect(seen.subarray(HANDSHAKE.length)).toEqual(UPDATE);
    expect(session.last_active_at).toBe(before);
    const full = await watch(session);
    full.socket.send(Buffer.concat([HANDSHAKE, UPDATE]));
    await received(full.stream.received, HANDSHAKE.length + UPDATE.length);
    expect(session.last_active_at).toBe(before);
    full.socket.send(KEY);
    await received(full.stream.received, HANDSHAKE.length + UPDATE.length + KEY.length);
    expect(session.last_active_at).toBeGreaterThan(before);
    socket.close();
    full.socket.close();
  });

  test("what a viewer does is told to a worker that records it, and to no other (rules/recordings#viewers-in-a-recording)", async () => {
    for (const viewer_events of [true, undefined]) {
      const session = await openSession();
      const sent: unknown[] = [];
      Object.assign(session.link.capabilities, { viewer_events });
      session.link.send = (message) => sent.push(message) > 0;
      const viewer = await watch(session);
      viewer.socket.send(Buffer.concat([HANDSHAKE, KEY]));
      await received(viewer.stream.received, HANDSHAKE.length + KEY.length);
      viewer.socket.close();
      await new Promise((resolve) => viewer.stream.socket.once("close", resolve));
      const { session_id } = session;
      const events = (...told: object[]) => ({ type: "HubViewerEvents", session_id, events: told });
      const state = (name: string) =>
        events({
          type: "viewer",
          state: name,
          mode: "control",
          by: expect.stringContaining("127.0.0.1"),
          from: expect.any(String),
        });
      const keys = { type: "input", kind: "keys", count: 1, ms: expect.any(Number) };
      expect(sent).toEqual(
        viewer_events !== true
          ? []
          : [
              ...[state("connected"), state("took_over")],
              events({ ...keys, by: expect.stringContaining("127.0.0.1") }),
              state("disconnected"),
            ],
      );
    }
  });

  test("closes with the reason what is not RFB, and what comes as text", async () => {
    const session = await openSession();
    const wrong = await watch(session);
    wrong.socket.send(Buffer.concat([HANDSHAKE, Buffer.from([99])]));
    expect(await wrong.closed).toEqual({ code: 1003, reason: "unknown message 99" });
    const text = await watch(session);
    text.socket.send("RFB 003.008\n");
    expect((await text.closed).code).toBe(1003);
  });

  test("closes every viewer with 4404 and the reason when the session ends", async () => {
    const session = await openSession();
    const viewers = [await watch(session), await watch(session, "?view_only=1")];
    await dropSession(hub.ctx, session, "idle for 300 s");
    for (const { closed } of viewers)
      expect(await closed).toEqual({ code: 4404, reason: "session ended: idle for 300 s" });
  });

  test("a viewer that does not read holds up its own stream and costs the hub no memory", async () => {
    const session = await openSession();
    // A raw client, because every WebSocket client reads.
    const url = new URL(hub.url);
    const lazy = await Bun.connect({
      hostname: url.hostname,
      port: Number(url.port),
      socket: {
        open: (socket) => {
          socket.write(
            `GET ${streamPath(session)} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: Upgrade\r\n` +
              "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n",
          );
          socket.pause();
        },
        data: () => {},
      },
    });
    const stream = await bridge.streams.next((s) => s.path.includes(session.session_id));
    const chunk = Buffer.alloc(1024 * 1024);
    let sent = 0;
    // Until nobody takes any more: what then waits is in the sockets, not in the hub.
    while (sent < 256 && stream.socket.write(chunk)) sent += 1;
    const held = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(true), 300);
      stream.socket.once("drain", () => {
        clearTimeout(timer);
        resolve(false);
      });
    });
    let drained = !held;
    while (drained && sent < 256) {
      sent += 1;
      drained =
        stream.socket.write(chunk) ||
        (await Promise.race([
          new Promise<boolean>((resolve) => stream.socket.once("drain", () => resolve(true))),
          systemClock.sleep(300).then(() => false),
        ]));
    }
    expect(sent).toBeLessThan(64);
    const other = await watch(session);
    other.stream.socket.write(HELLO);
    expect(await other.messages.next()).toEqual(HELLO);
    lazy.terminate();
    other.socket.close();
  });
});

describe("WS /sessions/{sid}/cdp (rules/cdp#cdp-endpoint)", () => {
  test("refuses a web page of another origin, as Chromium's own port does", async () => {
    const session = await openSession();
    const path = `/sessions/${session.session_id}/cdp`;
    expect(await openSocket(path, [], { Origin: "http://evil.test" }).opened).toBe(false);
    const own = openSocket(path, [], { Origin: hub.url });
    expect(await own.opened).toBe(true);
    own.socket.close();
    const plain = await hub.call("GET", path);
    expect(plain.status).toBe(426);
  });

  test("is 404 for a call that is not a complete handshake, and 502 without a bridge, in the answer", async () => {
    const upgrade = {
      headers: { Upgrade: "websocket", Connection: "Upgrade", "Sec-WebSocket-Version": "13" },
    };
    const gone = await hub.call("GET", "/sessions/nope/cdp", undefined, upgrade);
    expect([gone.status, gone.body]).toEqual([404, { detail: "session not found" }]);
    const session = await openSession(freePort());
    const path = `/sessions/${session.session_id}/cdp`;
    expect((await hub.call("GET", path, undefined, upgrade)).status).toBe(502);
    expect((await hub.call("GET", `${path}/json/version`)).status).toBe(502);
  });
});

test("the worker's bridge answers nobody without the token of its link, and no other session (rules/lanes#bridge)", async () => {
  const port = freePort();
  let token: string | null = null;
  const bridges = await startBridges({
    host: "127.0.0.1",
    base_port: port,
    vnc_port_base: 1,
    cdp_port_base: 1,
    lanes: 1,
    headless: false,
    sessions: { get: () => undefined },
    clock: systemClock,
    refusalOfUrl: () => null,
    resizeScreen: async () => {},
    vncSecret: () => "",
    token: () => token,
    log: silentLog,
  });
  const status = async (authorization: string) =>
    (await fetch(`http://127.0.0.1:${port}/sessions/s/blobs/b`, { headers: { authorization } }))
      .status;
  expect(await status("Bearer null")).toBe(401);
  token = "right";
  expect(await status("Bearer wrong")).toBe(401);
  expect(await status("")).toBe(401);
  expect(await status("Bearer right")).toBe(404);
  expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
  await bridges.close();
});
