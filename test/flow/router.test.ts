import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import http from "node:http";
import { createServer } from "node:net";
import { rawRequest } from "#test/support/clients/raw-request.ts";
import { createQueue } from "#test/support/models/queue.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startHaproxy, startNginx, type TestRouter } from "#test/support/servers/router.ts";

const MB = 1024 * 1024;
const UPLOAD_BYTES = 100 * MB;

/** Stands for a hub: tells its name, echoes WebSockets, and what it was sent as it comes. */
interface Stub {
  name: string;
  address: string;
  received: ReturnType<typeof createQueue<number>>;
  more: ReturnType<typeof createQueue<string>>;
  stop(): Promise<void>;
}

function startStub(name: string): Stub {
  const received = createQueue<number>();
  const more = createQueue<string>();
  // As a hub does: Bun reads it when a server starts.
  Object.assign(http, { maxHeaderSize: 256 * 1024 });
  const server = Bun.serve<undefined>({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: 2 * UPLOAD_BYTES,
    fetch: async (request, self) => {
      if (self.upgrade(request, { headers: { "x-hub": name } })) return;
      const { pathname } = new URL(request.url);
      const headers = { "x-hub": name };
      if (pathname === "/drip") {
        const body = async function* () {
          yield "first";
          yield await more.next();
        };
        return new Response(body, { headers });
      }
      if (request.method === "PUT") {
        let bytes = 0;
        for await (const chunk of request.body ?? []) {
          bytes += chunk.byteLength;
          received.push(bytes);
        }
        return Response.json({ bytes }, { headers });
      }
      const seen = Object.fromEntries(request.headers);
      return Response.json({ url: request.url, headers: seen }, { headers });
    },
    websocket: {
      open: (socket) => void socket.send(name),
      message: (socket, frame) => {
        if (frame === "close 4001") socket.close(4001, "as asked");
        else socket.send(frame);
      },
    },
  });
  const address = `127.0.0.1:${server.port}`;
  return { name, address, received, more, stop: () => server.stop(true) };
}

const STARTS = { nginx: startNginx, haproxy: startHaproxy };

describe.each(["nginx", "haproxy"] as const)("%s", (program) => {
  let hubs: Stub[];
  let router: TestRouter;
  const addresses = () => hubs.map((hub) => hub.address);

  beforeAll(async () => {
    hubs = ["a", "b", "c"].map(startStub);
    router = await STARTS[program](addresses());
  });
  afterAll(async () => {
    await router?.stop();
    await Promise.all(hubs.map((hub) => hub.stop()));
  });

  // A reload of nginx closes idle connections of clients, so each call has one of its own.
  const hubOf = async (path: string, init?: RequestInit): Promise<string> => {
    const answer = await fetch(router.url + path, { ...init, keepalive: false });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return answer.headers.get("x-hub") ?? "";
  };
  const dial = (path: string) => {
    const socket = new WebSocket(router.url.replace("http", "ws") + path);
    socket.binaryType = "arraybuffer";
    const frames = createQueue<string | ArrayBuffer>();
    socket.onmessage = ({ data }) => frames.push(data);
    const closed = new Promise<number>((resolve) => {
      socket.onclose = ({ code }) => resolve(code);
    });
    return { socket, frames, closed };
  };
  const hubOfLink = async (worker_id: string): Promise<string> => {
    const { socket, frames, closed } = dial(`/workers/${worker_id}/link`);
    const name = String(await frames.next());
    socket.close();
    await closed;
    return name;
  };
  const ids = Array.from({ length: 24 }, (_, i) => `w${i}`);
  const linksOf = async () =>
    Object.fromEntries(await Promise.all(ids.map(async (id) => [id, await hubOfLink(id)])));

  test("the link of one worker_id and its other calls always reach the same hub; the workers are spread over all (rules/cluster#router)", async () => {
    const first = await linksOf();
    expect(await linksOf()).toEqual(first);
    expect(new Set(Object.values(first))).toEqual(new Set(["a", "b", "c"]));
    for (const id of ids.slice(0, 8)) {
      const init = { method: "PUT", body: "x" };
      expect(await hubOf(`/workers/${id}/jobs/j1/assets/a.png`, init)).toBe(first[id]);
      expect(await hubOf(`/workers/${id}/profiles/p/0a`)).toBe(first[id]);
    }
  });

  test("all other calls go round the hubs (rules/cluster#router)", async () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 30; i += 1) {
      const hub = await hubOf(["/workers", "/workers/w1", "/sessions/s/state"][i % 3] ?? "");
      counts.set(hub, (counts.get(hub) ?? 0) + 1);
    }
    expect([...counts.values()].sort()).toEqual([10, 10, 10]);
  });

  test("WebSockets are passed on both ways with long frames and close codes", async () => {
    const { socket, frames, closed } = dial("/sessions/s/cdp");
    await frames.next();
    socket.send("hello");
    expect(await frames.next()).toBe("hello");
    socket.send(new Uint8Array(MB).fill(7));
    expect(new Uint8Array((await frames.next()) as ArrayBuffer)).toEqual(
      new Uint8Array(MB).fill(7),
    );
    socket.send("close 4001");
    expect(await closed).toBe(4001);
  });

  test(`an upload of ${UPLOAD_BYTES / MB} MB reaches the hub while it is being sent, a download the client while it is made`, async () => {
    const chunk = new Uint8Array(MB);
    const arrived = Promise.withResolvers<void>();
    const body = async function* () {
      yield chunk;
      await arrived.promise;
      for (let sent = MB; sent < UPLOAD_BYTES; sent += MB) yield chunk;
    };
    const upload = fetch(`${router.url}/workers/w1/jobs/j1/assets/big.bin`, {
      method: "PUT",
      body: new Response(body).body,
    });
    await Promise.race(hubs.map((hub) => hub.received.next((bytes) => bytes === MB)));
    arrived.resolve();
    expect(await (await upload).json()).toEqual({ bytes: UPLOAD_BYTES });

    const answer = await fetch(`${router.url}/drip`);
    const text: string[] = [];
    const decoder = new TextDecoder();
    for await (const part of answer.body ?? []) {
      if (text.push(decoder.decode(part)) > 1) continue;
      hubs.find((hub) => hub.name === answer.headers.get("x-hub"))?.more.push("second");
    }
    expect(text.join("|")).toBe("first|second");
  });

  test("paths come as they were sent, with long URLs and headers; the hub is told who asked (rules/cluster#router)", async () => {
    const ask = async (path: string) => {
      const raw = await rawRequest(
        router.url,
        `GET ${path} HTTP/1.1\r\nHost: hub.test:8000\r\nX-Asset-Meta: ${"m".repeat(40_000)}\r\nX_under: 1\r\nConnection: close\r\n\r\n`,
      );
      return JSON.parse(raw.slice(raw.indexOf("{"), raw.lastIndexOf("}") + 1));
    };
    for (const path of [
      "/https://site.test//a?b=http://c//d",
      "/https%3A%2F%2Fsite.test%2F",
      `/a//${"u".repeat(16_000)}`,
    ])
      expect((await ask(path)).url).toBe(`http://hub.test:8000${path}`);
    expect((await ask("/jobs")).headers).toMatchObject({
      host: "hub.test:8000",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-host": "hub.test:8000",
      "x-forwarded-proto": "http",
      "x-asset-meta": "m".repeat(40_000),
      x_under: "1",
    });
  });

  test("a hub is added and removed live while calls go on, and none fails; only a removed hub's workers move", async () => {
    const before = await linksOf();
    const extra = startStub("d");
    const seen = new Set<string>();
    let going = true;
    const failed: string[] = [];
    let calls = 0;
    const client = async (n: number) => {
      while (going) {
        const [path, method] = [`/workers/w${n}/jobs/j/assets/a`, "PUT"] as const;
        const call =
          calls % 2
            ? hubOf(path, { method, body: "x" })
            : hubOf("/jobs", { method: "POST", body: "{}" });
        calls += 1;
        await call.then(
          (hub) => seen.add(hub),
          (err) => failed.push(String(err)),
        );
      }
    };
    const clients = Array.from({ length: 8 }, (_, n) => client(n));
    try {
      await router.setHubs([...addresses(), extra.address]);
      await until("a call at the new hub", 60_000, () => seen.has("d"));
      const grown = await linksOf();
      for (const id of ids) expect([before[id], "d"]).toContain(grown[id]);
      await router.setHubs(addresses());
      const calls_then = calls;
      await until("calls after the removal", 60_000, () => calls > calls_then + 100);
      await extra.stop();
      const calls_after = calls;
      await until("calls after the end of the hub", 60_000, () => calls > calls_after + 100);
      expect(await linksOf()).toEqual(before);
    } finally {
      going = false;
      await Promise.all(clients);
      await extra.stop();
    }
    expect(failed).toEqual([]);
  });

  test("a hub that refuses connections is left out and no call fails; a call that was sent is not sent again", async () => {
    const dead = startStub("dead");
    await dead.stop();
    let taken = 0;
    // Well, but it breaks the connection of every call without an answer.
    const breaking = createServer((socket) => {
      socket.on("data", (request) => {
        if (String(request).startsWith("GET /health"))
          return socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        taken += 1;
        socket.destroy();
      });
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => breaking.listen(0, "127.0.0.1", resolve));
    const { port } = breaking.address() as { port: number };
    const alive = hubs[0] as Stub;
    const own = await STARTS[program]([dead.address, alive.address]);
    const single = await STARTS[program]([`127.0.0.1:${port}`]);
    try {
      const post = () => fetch(`${own.url}/jobs`, { method: "POST", body: "{}" });
      const statuses = await Promise.all(
        Array.from({ length: 20 }, () => post().then((a) => a.status)),
      );
      expect(new Set(statuses)).toEqual(new Set([200]));

      const answer = await fetch(`${single.url}/jobs`, { method: "POST", body: "{}" });
      expect({ status: answer.status, taken }).toEqual({ status: 502, taken: 1 });
      expect(await answer.json()).toEqual({ detail: expect.any(String) });
      // A client library would ask again by itself.
      const get = "GET /https://site.test/ HTTP/1.1\r\nHost: hub.test\r\nConnection: close\r\n\r\n";
      expect(await rawRequest(single.url, get)).toStartWith("HTTP/1.1 502");
      expect(taken).toBe(2);
    } finally {
      await Promise.all([own.stop(), single.stop()]);
      breaking.close();
    }
  });
});
