import { afterEach, beforeEach, expect, test } from "bun:test";
import { reapSessionsOnce } from "#hub/fleet/sessions/reap.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { rawRequest, rawUntil } from "#test/support/clients/raw-request.ts";
import { type FakeScreen, startFakeScreen } from "#test/support/fakes/fake-screen.ts";
import {
  type FakeWorker,
  type FakeWorkerOptions,
  resumeOf,
} from "#test/support/fakes/fake-worker.ts";
import { openSocketAt } from "#test/support/fakes/live-session.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** `GET /cdp`: a session for the length of a connection, at a worker whose browser is the test. */

let hub: TestHub;
let worker: FakeWorker;
let bridge: FakeScreen;
beforeEach(async () => {
  bridge = await startFakeScreen();
});
afterEach(async () => {
  await hub?.close();
  bridge.stop();
});

/** A worker whose lanes are the test's. */
const ofBridge = (lanes: number): FakeWorkerOptions => ({
  lanes,
  address: "127.0.0.1",
  capabilities: {
    lane_novnc_urls: Array.from({ length: lanes }, () => `http://127.0.0.1:${bridge.port}/`),
    max_concurrent: lanes,
  } as never,
});
/** One hub, because its sessions are made older by hand. */
async function start(env: TestHubOptions["env"] = {}, lanes = 1, options: FakeWorkerOptions = {}) {
  hub = await startTestHub({ alone: true, env });
  worker = await hub.worker({ ...ofBridge(lanes), ...options });
}

const dial = (path: string, headers = {}) => openSocketAt(hub, path, [], headers);
const sessions = async (): Promise<Session[]> => (await hub.call("GET", "/sessions")).body.sessions;
async function connect(path: string, headers = {}) {
  const socket = dial(path, headers);
  expect(await socket.opened).toBe(true);
  const stream = await bridge.streams.next();
  const [session] = await sessions();
  if (session === undefined) throw new Error("no session is open");
  return { ...socket, stream, session };
}
const ended = async () => {
  while ((await sessions()).length > 0) await hub.signals.next("session ended");
};
/** As if its last client had been gone for so long. */
async function later(session: Session, ms: number) {
  const known = hub.ctx.sessions.get(session.session_id);
  if (known) known.cdp.left_at -= ms;
  await reapSessionsOnce(hub.ctx);
}
const isOpen = async ({ session_id }: Session) =>
  (await hub.call("GET", `/sessions/${session_id}`)).status === 200;

const handshakeOf = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${new URL(hub.url).host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n";

/** A handshake whose connection is cut by calling what is returned: no close is said. */
async function send(path: string, answered = () => {}): Promise<() => void> {
  const { hostname, port } = new URL(hub.url);
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data: answered } });
  socket.write(handshakeOf(path));
  return () => socket.terminate();
}
/** The same, once the socket is open. */
async function lose(path: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cut = await send(path, resolve);
  await promise;
  return cut;
}
const turn = () => new Promise((resolve) => setImmediate(resolve));
/** Until the hub knows of no client. */
async function alone({ session_id }: Session) {
  const known = hub.ctx.sessions.get(session_id);
  while (known && known.cdp.clients > 0) await turn();
}

test("a connection is a session with the options of its query, and ends it by closing (rules/sessions#sessions-of-a-connection)", async () => {
  await start({}, 3);
  for (const path of ["/cdp", "/cdp/", "/"]) {
    const query = `?headless&ttl_s=600&viewport=800x600&url=${encodeURIComponent(TARGET)}`;
    const { socket, stream, session } = await connect(path + query);
    expect(session).toMatchObject({ headless: true, reconnect_s: 15, url: TARGET });
    const asked = await worker.opening.next();
    expect(asked).toMatchObject({ headless: true, viewport: { width: 800, height: 600 } });
    expect(stream.path).toBe(`/sessions/${session.session_id}/cdp`);
    expect(bridge.headers.at(-1)?.authorization).toMatch(/^Bearer /);
    socket.close();
    await ended();
    const closing = await worker.closing.next();
    expect(closing.reason).toBe("its last CDP client closed the connection");
  }
});

test("a client whose connection was lost comes back to its session in time (rules/sessions#sessions-of-a-connection)", async () => {
  await start();
  const cut = await lose("/cdp?reconnect_s=20");
  const [session] = (await sessions()) as [Session];
  await later(session, 3_600_000);
  expect(await isOpen(session)).toBe(true);
  cut();
  await alone(session);
  await later(session, 19_000);
  expect(await isOpen(session)).toBe(true);
  const again = await connect(`/cdp?session=${session.session_id}`);
  expect(again.session.session_id).toBe(session.session_id);
  await later(session, 3_600_000);
  expect(await isOpen(session)).toBe(true);
  again.socket.terminate();
  await alone(session);
  await later(session, 20_000);
  expect(await isOpen(session)).toBe(false);
  expect((await worker.closing.next()).reason).toBe("no CDP client came back within 20 s");
});

test("a session that waits for a connection ends without one, and one that was opened without reconnect_s does not (rules/sessions#sessions-of-a-connection)", async () => {
  await start({}, 2);
  const { body: waits } = await hub.call("POST", "/sessions", { reconnect_s: 0 });
  const { body: stays } = await hub.call("POST", "/sessions", {});
  expect([waits.reconnect_s, stays.reconnect_s]).toEqual([0, null]);
  await later(waits, 29_000);
  expect(await isOpen(waits)).toBe(true);
  await later(waits, 1_000);
  expect(await isOpen(waits)).toBe(false);
  const client = dial(`/sessions/${stays.session_id}/cdp`);
  expect(await client.opened).toBe(true);
  client.socket.close();
  await client.closed;
  await alone(stays);
  await later(stays, 3_600_000);
  expect(await isOpen(stays)).toBe(true);
});

test("one of two clients that closes does not end the session for the other", async () => {
  await start();
  const first = await connect("/cdp");
  const second = await connect(`/?session=${first.session.session_id}`);
  first.socket.close();
  await first.closed;
  expect(await isOpen(first.session)).toBe(true);
  second.socket.close();
  await ended();
});

test("the answer to the handshake names the session, and one of a link does not (rules/sessions#sessions-of-a-connection)", async () => {
  await start();
  const { session } = await connect("/cdp");
  const { session_id } = session;
  const link = await hub.call("POST", "/links", { kind: "cdp", id: session_id, mode: "take-over" });
  const answerAt = (path: string) => rawUntil(hub.url, handshakeOf(path), /\r\n\r\n/);
  expect(await answerAt(`/sessions/${session_id}`)).toMatch(
    new RegExp(`^flotilla-session: ${session_id}\r$`, "im"),
  );
  const linked = await answerAt(new URL(link.body.url).pathname);
  expect(linked).toStartWith("HTTP/1.1 101");
  expect(linked).not.toContain(session_id);
});

test("options that break a rule take no lane, and the socket says which (rules/http#refused-websockets)", async () => {
  await start();
  for (const [query, said] of [
    ["ttl_s=1", "query.ttl_s"],
    ["ttl_s=60&ttl_s=61", "query.ttl_s"],
    ["reconnect_s=601", "query.reconnect_s"],
    ["url=file:///etc/passwd", "query.url"],
    ["stealth", "query.stealth"],
    ["session=unknown", "query.session"],
    ["use_profile=missing", "query.use_profile"],
    ["capture&record=off", "query.capture"],
  ]) {
    const { code, reason } = await dial(`/cdp?${query}`).closed;
    expect([query, code, reason]).toEqual([query, 4422, expect.stringContaining(said as string)]);
  }
  const gone = await dial("/cdp?session=V1StGXR8Z5jdHi6BmyT3KA").closed;
  expect(gone).toEqual({ code: 4404, reason: "session not found" });
  expect(worker.opening.all).toEqual([]);
  expect(await sessions()).toEqual([]);
});

test("what is no whole handshake takes no lane: 426 and 400", async () => {
  await start();
  expect((await hub.call("GET", "/cdp")).status).toBe(426);
  const half = await rawRequest(
    hub.url,
    "GET /cdp HTTP/1.1\r\nHost: hub.localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n",
  );
  expect(half).toStartWith("HTTP/1.1 400");
  expect(worker.opening.all).toEqual([]);
});

test("without a free lane the handshake is 503 with Retry-After, as POST /sessions (rules/sessions#no-lane-for-a-session)", async () => {
  await start();
  await connect("/cdp");
  const answer = await rawRequest(hub.url, handshakeOf("/cdp"));
  expect(answer).toStartWith("HTTP/1.1 503");
  expect(answer.toLowerCase()).toContain("retry-after: 10");
  expect(answer).toContain("fleet at capacity");
});

test("a client that leaves while its session opens leaves nothing behind", async () => {
  await start({}, 1, { on_open: "never" });
  const cut = await send("/cdp");
  const opening = await worker.opening.next();
  cut();
  expect(await worker.closing.next()).toMatchObject({ session_id: opening.session_id });
  worker.opened(opening);
  await worker.closing.next();
  await hub.signals.next("lane freed");
  expect(hub.ctx.sessions.size).toBe(0);
});

test("a worker that cannot be reached is 502, and its lane is not kept for the client", async () => {
  await start();
  bridge.stop();
  expect(await dial("/cdp").opened).toBe(false);
  expect(await sessions()).toEqual([]);
  expect((await worker.closing.next()).reason).toBe("its client could not be connected");
});

test("no page of another origin, and no name that is not the hub's, opens a session (rules/cdp#no-page-of-another-origin)", async () => {
  await start({ SVC_CORS_ORIGINS: "http://evil.test" });
  for (const path of ["/cdp", "/", "/?headless"])
    for (const headers of [{ Origin: "http://evil.test" }, { Host: "rebound.test" }])
      expect(await dial(path, headers).opened).toBe(false);
  expect(worker.opening.all).toEqual([]);
  const found = await hub.call("GET", "/json/version", undefined, {
    headers: { host: "rebound.test" },
  });
  expect(found.status).toBe(421);
});

test("the discovery of the hub itself leads to a connection with the same query, and opens nothing (rules/cdp#addresses)", async () => {
  await start();
  const ws = hub.url.replace("http", "ws");
  for (const path of ["/json/version", "/json/version/", "/cdp/json/version"]) {
    const { body } = await hub.call("GET", `${path}?headless&ttl_s=60`);
    expect(body.webSocketDebuggerUrl).toBe(`${ws}/cdp?headless&ttl_s=60`);
    expect(body).toMatchObject({ "Protocol-Version": "1.3" });
  }
  expect((await hub.call("GET", "/json/version?ttl_s=1")).status).toBe(422);
  expect(await sessions()).toEqual([]);
});

test("a token in the query opens what one in the header does, by its role, and is in no log (rules/cdp#tokens)", async () => {
  await start({ SVC_API_TOKEN: "token-of-the-installation" });
  const admin = { headers: { authorization: "Bearer token-of-the-installation" } };
  const tokenOf = async (role: string) =>
    (await hub.call("POST", "/tokens", { name: role, role }, admin)).body.token as string;
  const made = await hub.call("POST", "/tokens", { name: "admin", role: "admin" }, admin);
  const [viewer, operator] = [await tokenOf("viewer"), await tokenOf("operator")];
  expect([made.status, viewer, operator]).not.toContain(undefined);
  for (const path of ["/cdp", "/"]) {
    expect(await dial(path).opened).toBe(false);
    expect(await dial(`${path}?token=wrong`).opened).toBe(false);
    expect(await dial(`${path}?token=${viewer}`).opened).toBe(false);
  }
  expect(worker.opening.all).toEqual([]);
  const client = dial(`/?token=${operator}&headless`);
  expect(await client.opened).toBe(true);
  const { body } = await hub.call("GET", "/sessions", undefined, admin);
  const sid = body.sessions[0].session_id;
  for (const [path, status] of [
    [`/sessions/${sid}/cdp/json/version?token=${viewer}`, 200],
    [`/json/version?session=${sid}&token=${viewer}`, 200],
    [`/sessions/${sid}/cdp/json/version`, 401],
    // The query is for CDP alone.
    [`/sessions/${sid}?token=${operator}`, 401],
    [`/jobs?token=${operator}`, 401],
  ] as const)
    expect([path, (await hub.call("GET", path)).status]).toEqual([path, status]);
  const opening = await hub.call("PUT", `/sessions/${sid}/json/new?token=${viewer}`);
  expect(opening.status).toBe(403);
  const found = await hub.call("GET", `/json/version?token=${operator}`);
  expect(found.body.webSocketDebuggerUrl).toEndWith(`/cdp?token=${operator}`);
  client.socket.close();
  await client.closed;
  const audit = await hub.call("GET", "/audit", undefined, admin);
  for (const token of [viewer, operator]) {
    expect(JSON.stringify(hub.log)).not.toContain(token);
    expect(audit.text).not.toContain(token);
  }
});

test("a hub that starts anew takes the session up, and ends it if its client does not come back (rules/sessions#sessions-of-a-connection)", async () => {
  await start({ SVC_LINK_GRACE_S: "60" }, 1, { resume: null });
  const client = await connect("/cdp?reconnect_s=60");
  const { lease_token, lane_idx, session_id } = await worker.opening.next();
  await worker.settle();
  const hold = { lane_idx, session_id, lease_token, job_id: null };
  const resume = { ...(await resumeOf(worker)), acknowledged: 0, holds: [hold] };
  await hub.restart();
  expect((await client.closed).code).toBe(1012);
  worker = await hub.worker({ ...ofBridge(1), resume });
  await hub.signals.next("link taken up");
  expect(await sessions()).toMatchObject([{ session_id, reconnect_s: 60 }]);
  await later(client.session, 59_000);
  expect(await isOpen(client.session)).toBe(true);
  await later(client.session, 1_000);
  expect(await isOpen(client.session)).toBe(false);
});
