import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { HubSession } from "#hub/fleet/sessions/hub-session.ts";
import { dropSession } from "#hub/fleet/sessions/registry.ts";
import { fetchDirect } from "#hub/platform/cluster/fetch-direct.ts";
import { relayMark } from "#hub/platform/cluster/relay-mark.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { createFrameReader, encodeFrame, OPCODE } from "#shared/kit/ws-frames.ts";
import { newSessionId } from "#shared/protocol/ids.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { type FakeScreen, startFakeScreen } from "#test/support/fakes/fake-screen.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { addLiveSession } from "#test/support/fakes/live-session.ts";
import { createQueue } from "#test/support/models/queue.ts";
import { type ClusterHub, startCluster, type TestCluster } from "#test/support/rigs/cluster.ts";
import { bytesOf, openSocket, rawViewer } from "#test/support/rigs/relayed-sockets.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/**
 * A hub that is asked for a session it does not own passes the request on (rules/cluster#calls-are-passed-on). How bytes
 * travel.
 */

const MB = 1024 * 1024;
let postgres: TestPostgres;
let cluster: TestCluster;
let asked: ClusterHub;
let owner: ClusterHub;
let screen: FakeScreen;
const ended: (() => void)[] = [];

beforeAll(async () => {
  [postgres, screen] = await Promise.all([startPostgres(), startFakeScreen()]);
  cluster = await startCluster({
    db_url: await postgres.createDatabase(),
    env: { SVC_ALLOWED_HOSTS: "fleet.example" },
  });
  [asked, owner] = cluster.hubs as [ClusterHub, ClusterHub];
}, 180_000);
afterEach(() => {
  for (const end of ended.splice(0)) end();
});
afterAll(async () => {
  await cluster?.close();
  screen?.stop();
  await postgres?.stop();
}, 180_000);

let workers = 0;
/** A session at `hub` whose bridge is `port`. */
async function openAt(hub: ClusterHub, port: number): Promise<HubSession> {
  workers += 1;
  const worker: FakeWorker = await hub.worker({
    worker_id: `w${workers}`,
    instance_id: `instance-${workers}`,
    address: "127.0.0.1",
    secret: "cluster-secret",
    capabilities: { lane_novnc_urls: [`http://localhost:${port}/`], max_concurrent: 1 } as never,
  });
  const link = hub.ctx.links.get(worker.worker_id);
  if (!link) throw new Error("not registered");
  const session = await addLiveSession(hub.ctx, { link, session_id: newSessionId() });
  ended.push(() => void dropSession(hub.ctx, session, "the test is over"));
  return session;
}
const viewer = async (session: HubSession, query = "") => {
  const opened = openSocket(asked, `/sessions/${session.session_id}/novnc/websockify${query}`);
  expect(await opened.opened).toBe(true);
  const stream = await screen.streams.next((s) => s.path.includes(session.session_id));
  return { ...opened, stream };
};
const cdp = async (session: HubSession) => {
  const opened = openSocket(asked, `/sessions/${session.session_id}/cdp`, {}, []);
  expect(await opened.opened).toBe(true);
  const stream = await screen.streams.next((s) => s.path.includes(session.session_id));
  return { ...opened, stream };
};

/** A bridge that answers as the test says. */
function bridge(answer: (request: Request) => Response | Promise<Response>) {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: 1024 * MB,
    fetch: answer,
  });
  ended.push(() => void server.stop(true));
  return server.port ?? 0;
}

test("a large upload arrives in pieces while it is being sent, and whole (rules/cluster#calls-are-passed-on)", async () => {
  const started = createQueue<number>();
  let total = 0;
  const port = bridge(async (request) => {
    if (request.method !== "PUT") return new Response(null, { status: 204 });
    for await (const chunk of request.body ?? []) {
      if (total === 0) started.push(chunk.length);
      total += chunk.length;
    }
    return new Response(null, { status: 204 });
  });
  const session = await openAt(owner, port);
  const gate = Promise.withResolvers<void>();
  const part = Buffer.alloc(MB, 7);
  const count = 60;
  const edge = "edge";
  const body = async function* () {
    yield Buffer.from(
      `--${edge}\r\nContent-Disposition: form-data; name="selector"\r\n\r\n#file\r\n` +
        `--${edge}\r\nContent-Disposition: form-data; name="files"; filename="a.bin"\r\n\r\n`,
    );
    for (let n = 0; n < count; n += 1) {
      if (n === 2) await gate.promise;
      yield part;
    }
    yield Buffer.from(`\r\n--${edge}--\r\n`);
  };
  const answer = fetch(`${asked.url}/sessions/${session.session_id}/set_input_files`, {
    method: "POST",
    headers: { "content-type": `multipart/form-data; boundary=${edge}` },
    body: body() as never,
  });
  expect(await started.next()).toBeGreaterThan(0);
  gate.resolve();
  expect({ status: (await answer).status, total }).toEqual({ status: 200, total: count * MB });
});

test("a large download is read in pieces while it is being made; the client's leaving ends it there (rules/cluster#calls-are-passed-on)", async () => {
  const more = createQueue<number>();
  const left = Promise.withResolvers<void>();
  const port = bridge(
    () =>
      new Response(
        new ReadableStream({
          pull: async (to) => {
            to.enqueue(new Uint8Array(MB));
            await more.next();
          },
          cancel: () => left.resolve(),
        }),
      ),
  );
  const session = await openAt(owner, port);
  const stop = new AbortController();
  const answer = await fetch(`${asked.url}/sessions/${session.session_id}/files/a.bin`, {
    signal: stop.signal,
  });
  expect(answer.headers.get("content-disposition")).toContain("attachment");
  const reader = answer.body?.getReader();
  let read = 0;
  while (read < MB) read += (await reader?.read())?.value?.length ?? 0;
  for (let n = 0; n < 20; n += 1) more.push(n);
  while (read < 21 * MB) read += (await reader?.read())?.value?.length ?? 0;
  stop.abort();
  await reader?.read().catch(() => {});
  for (let n = 0; n < 20; n += 1) more.push(n);
  await left.promise;
});

test("a viewer at the other hub: bytes both ways, view_only, and the reason of the end (rules/viewer#view-only)", async () => {
  const session = await openAt(owner, screen.port);
  const { socket, messages, closed, stream } = await viewer(session);
  expect(socket.protocol).toBe("binary");
  stream.socket.write("RFB 003.008\n");
  expect(String(await messages.next())).toBe("RFB 003.008\n");
  const handshake = Buffer.from("RFB 003.008\n\u0001\u0001");
  socket.send(handshake);
  expect(await bytesOf(stream.received, handshake.length)).toEqual(handshake);
  const picture = Buffer.alloc(3 * MB);
  for (let i = 0; i < picture.length; i += 1) picture[i] = i % 251;
  stream.socket.write(picture);
  let got = Buffer.alloc(0);
  while (got.length < picture.length) got = Buffer.concat([got, (await messages.next()) as Buffer]);
  expect(got.equals(picture)).toBe(true);
  await dropSession(owner.ctx, session, "it was deleted");
  expect(await closed).toEqual({ code: 4404, reason: "session ended: it was deleted" });
});

test("what the owner says of a viewer's mistake comes through: code and reason (rules/viewer#end-of-a-viewer)", async () => {
  const session = await openAt(owner, screen.port);
  const { socket, closed } = await viewer(session);
  socket.send("text");
  expect(await closed).toEqual({ code: 1003, reason: "VNC is spoken in binary frames" });
});

test("what the owner has not is told through the other hub with 4404 and the reason (rules/viewer#end-of-a-viewer)", async () => {
  const { session_id } = await openAt(owner, screen.port);
  const { closed } = openSocket(asked, `/sessions/${session_id}/cdp/devtools/nothing/A`, {}, []);
  expect(await closed).toEqual({ code: 4404, reason: "target not found" });
});

test("a bridge that cannot be reached is 502 of the page and 4502 of the stream, as at the owner (rules/viewer#end-of-a-viewer)", async () => {
  const session = await openAt(owner, 9);
  const path = `/sessions/${session.session_id}/novnc/`;
  expect((await asked.call("GET", path)).status).toBe(502);
  const { closed } = openSocket(asked, `${path}websockify`);
  expect((await closed).code).toBe(4502);
  const socket = openSocket(asked, `/sessions/${session.session_id}/cdp`, {}, []);
  expect(await socket.opened).toBe(false);
  const shake = {
    headers: { connection: "upgrade", upgrade: "websocket", origin: "http://x.test" },
  };
  expect(
    await asked.call("GET", `/sessions/${session.session_id}/cdp`, undefined, {
      headers: {
        ...shake.headers,
        "sec-websocket-version": "13",
        "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
      },
    }),
  ).toMatchObject({ status: 403, body: { detail: "a page of http://x.test may not call this" } });
});

test("a viewer that does not read holds up its own stream, over both hubs, and costs them no memory", async () => {
  const session = await openAt(owner, screen.port);
  const { socket, stream } = await viewer(session);
  // Bun's client cannot stop reading; a raw one is opened beside it.
  socket.close();
  const raw = await rawViewer(asked, session);
  const slow = await screen.streams.next(
    (s) => s.path.includes(session.session_id) && s.socket !== stream.socket,
  );
  raw.pause();
  let written = 0;
  const block = Buffer.alloc(MB, 1);
  while (written < 200 * MB && slow.socket.writableLength < 8 * MB) {
    slow.socket.write(block);
    written += MB;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(written).toBeLessThan(100 * MB);
  raw.destroy();
}, 180_000);

test("a CDP message of 50 MB travels whole, both ways (rules/cdp#cdp-endpoint)", async () => {
  const session = await openAt(owner, screen.port);
  const { socket, messages, stream, closed } = await cdp(session);
  const frames = createQueue<{ opcode: number; payload: Buffer }>();
  const reader = createFrameReader(128 * MB, (frame) =>
    frames.push({ opcode: frame.opcode, payload: Buffer.from(frame.payload) }),
  );
  stream.socket.on("data", (chunk: Buffer) => reader.push(chunk));
  for (const chunk of stream.received.all) reader.push(chunk);
  const large = `{"id":1,"text":"${"a".repeat(50 * MB)}"}`;
  socket.send(large);
  const arrived = await frames.next((f) => f.opcode === OPCODE.text);
  expect(arrived.payload.length).toBe(Buffer.byteLength(large));
  expect(arrived.payload.equals(Buffer.from(large))).toBe(true);
  stream.socket.write(encodeFrame(OPCODE.text, Buffer.from(large), false));
  const answer = String(await messages.next());
  expect(answer === large).toBe(true);
  const gone = new Promise<void>((resolve) => stream.socket.once("close", () => resolve()));
  socket.close(1000, "done");
  await Promise.all([closed, gone]);
}, 180_000);

test("never two hops, and a forged mark is 403 (rules/cluster#calls-are-passed-on)", async () => {
  const session = await openAt(owner, screen.port);
  const path = `/sessions/${session.session_id}/state`;
  expect((await asked.call("GET", path)).status).toBe(200);
  const passed = { headers: relayMark({ ...asked.ctx, hub_id: "third" }) };
  expect(await asked.call("GET", path, undefined, passed)).toMatchObject({
    status: 404,
    body: { detail: "session not found" },
  });
  const forged = { headers: { "flotilla-relay": "third", "flotilla-relay-proof": "x" } };
  for (const hub of [asked, owner])
    expect(await hub.call("GET", path, undefined, forged)).toMatchObject({
      status: 403,
      body: { detail: "bad relay mark" },
    });
  expect((await owner.call("GET", "/health", undefined, forged)).status).toBe(403);
});

test("addresses in answers are those the client asked at (rules/cluster#sessions-across-hubs)", async () => {
  const target = { webSocketDebuggerUrl: "ws://10.0.0.1:9223/devtools/browser/x", Browser: "C/1" };
  const session = await openAt(
    owner,
    bridge(() => Response.json(target)),
  );
  const { body } = await asked.call(
    "GET",
    `/sessions/${session.session_id}/cdp/json/version`,
    undefined,
    { headers: { host: "fleet.example", "x-forwarded-proto": "https" } },
  );
  expect(body.webSocketDebuggerUrl).toBe(`wss://fleet.example/sessions/${session.session_id}/cdp`);
  const moved = await asked.call("GET", `/sessions/${session.session_id}/novnc?a=1`);
  expect([moved.status, moved.headers.get("location")]).toEqual([308, "novnc/?a=1"]);
});

test("a proxy to the world outside is not asked for a hub, nor for a worker's bridge", async () => {
  const session = await openAt(
    owner,
    bridge(() => Response.json({ Browser: "C/1" })),
  );
  const names = ["HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"];
  const before = names.map((name) => [name, process.env[name]] as const);
  const asking = `${asked.url}/sessions/${session.session_id}`;
  try {
    for (const name of names) process.env[name] = /^h/i.test(name) ? "http://127.0.0.1:9" : "";
    for (const below of ["cdp/json/version", "novnc/"])
      expect((await fetchDirect(`${asking}/${below}`, {})).status).toBe(200);
  } finally {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
});

test("the owner is cut off in the middle: 502 of calls, a broken download, 4502 of viewers and CDP clients (rules/cluster#calls-are-passed-on)", async () => {
  const own = await startCluster({ db_url: await postgres.createDatabase() });
  try {
    const [near, far] = own.hubs as [ClusterHub, ClusterHub];
    const waiting = Promise.withResolvers<Response>();
    const port = bridge((request) =>
      request.url.includes("/files/")
        ? new Response(
            new ReadableStream({
              pull: async (to) => {
                to.enqueue(new Uint8Array(MB));
                await new Promise((resolve) => setTimeout(resolve, 5));
              },
            }),
          )
        : waiting.promise,
    );
    const streaming = await openAt(far, screen.port);
    const asking = await openAt(far, port);
    const calls = far.ctx.links.get(asking.link.worker_id);
    expect(calls).toBeDefined();
    const path = `/sessions/${streaming.session_id}`;
    const view = openSocket(near, `${path}/novnc/websockify`);
    const debug = openSocket(near, `${path}/cdp`, {}, []);
    expect([await view.opened, await debug.opened]).toEqual([true, true]);
    const download = await fetch(`${near.url}/sessions/${asking.session_id}/files/a`);
    const discover = near.call("GET", `/sessions/${asking.session_id}/cdp/json/version`);
    const body = download.arrayBuffer().then(
      () => "whole",
      () => "broken",
    );
    while (near.ctx.relays.calls < 2) await systemClock.sleep(1);
    far.front.cut();
    expect(await discover).toMatchObject({ status: 502 });
    expect(await body).toBe("broken");
    const reason = `hub ${far.ctx.hub_id} went away`;
    expect(await view.closed).toEqual({ code: 4502, reason });
    expect(await debug.closed).toEqual({ code: 4502, reason });
    // Registered still, so it may come back.
    expect(await near.call("GET", `${path}/state`)).toMatchObject({
      status: 502,
      body: { detail: `hub ${far.ctx.hub_id} cannot be reached` },
    });
    expect((await openSocket(near, `${path}/novnc/websockify`).closed).code).toBe(4502);
    expect(near.ctx.relays.calls).toBe(0);
    await own.shared.kv.delete(`hub:${far.ctx.hub_id}`);
    expect((await near.call("GET", `${path}/state`)).status).toBe(404);
    expect(await own.shared.kv.get(`session:${streaming.session_id}`)).toBeNull();
    waiting.resolve(new Response());
  } finally {
    await own.close();
  }
}, 180_000);

test("a hub that is reached and silent: 504 of calls after their deadline, 4502 of viewers after three pings (rules/cluster#calls-are-passed-on)", async () => {
  const clock = createFakeClock();
  const own = await startCluster({ db_url: await postgres.createDatabase(), clock });
  try {
    const [near, far] = own.hubs as [ClusterHub, ClusterHub];
    const session = await openAt(far, screen.port);
    const path = `/sessions/${session.session_id}`;
    const view = openSocket(near, `${path}/novnc/websockify`);
    expect(await view.opened).toBe(true);
    await screen.streams.next((s) => s.path.includes(session.session_id));
    far.front.freeze();
    const call = near.call("GET", `${path}/cookies`);
    while (near.ctx.relays.calls === 0) await systemClock.sleep(1);
    await clock.advance(41_000);
    expect(await view.closed).toEqual({
      code: 4502,
      reason: `hub ${far.ctx.hub_id} went away`,
    });
    await clock.advance(80_000);
    expect(await call).toMatchObject({
      status: 504,
      body: { detail: `hub ${far.ctx.hub_id} did not answer within 120 s` },
    });
    expect(near.ctx.relays.calls).toBe(0);
  } finally {
    await own.close();
  }
}, 180_000);
