import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ProxyOption } from "#shared/protocol/proxy.ts";
import { ask, client, GREETING, request } from "#test/support/clients/socks-client.ts";
import { startHttpUpstream, type UpstreamProxy } from "#test/support/servers/upstream-proxies.ts";
import { type Gate, openGate } from "#worker/egress/gate.ts";
import { createJudge } from "#worker/egress/judge.ts";
import { socks5 } from "#worker/egress/socks.ts";
import { upstreamOf } from "#worker/egress/upstream-of.ts";

/** A gate behind a proxy that makes tunnels to port 443 alone, as Squid and Tinyproxy do unless told otherwise (rules/egress#proxies). */

const LOGIN = { username: "anna", password: "s3cret" };

let site: Server;
let port = 0;
let proxy: UpstreamProxy;
let gate: Gate;
const heard: string[] = [];

beforeAll(async () => {
  site = createServer(async (req, res) => {
    const body: Buffer[] = [];
    for await (const chunk of req) body.push(chunk);
    heard.push(`${req.method} ${req.url} ${Buffer.concat(body)}`);
    res.end("from the site");
  });
  await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
  port = (site.address() as AddressInfo).port;
  proxy = await startHttpUpstream({
    ports: [443],
    names: { "far.test": "127.0.0.1" },
    login: LOGIN,
  });
});
beforeEach(() => {
  heard.length = 0;
  proxy.asked.length = 0;
  proxy.carried.length = 0;
  proxy.logins.length = 0;
  gate?.close();
  const server = `http://127.0.0.1:${proxy.port}`;
  gate = openGate({
    speaks: socks5,
    judge: createJudge({ navigation_block: [], own_ports: [9222] }),
    resolve: () => Promise.reject(new Error("ENOTFOUND")),
    upstream: upstreamOf(ProxyOption.parse({ server, ...LOGIN }), { trusted: true }),
  });
});
afterAll(() => {
  gate.close();
  proxy.stop();
  site.close();
});

/** Sends these bytes through the gate, one piece after the other, and reads until the end. */
async function say(pieces: (string | Buffer)[], to = port): Promise<string> {
  const one = client(gate.port);
  one.socket.write(Buffer.concat([GREETING, request("far.test", to)]));
  await one.until(12);
  for (const piece of pieces) {
    one.socket.write(piece);
    await Bun.sleep(1);
  }
  await one.ended;
  return one.received().toString("latin1", 12);
}
const get = (path: string, host = "far.test") =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive\r\nProxy-Connection: x\r\n\r\n`;

test("plain HTTP is carried with its whole address, which is the one that was judged", async () => {
  expect(await say([get("/a?b=c", "169.254.169.254")])).toContain("from the site");
  expect(proxy.carried).toEqual([
    `GET http://far.test:${port}/a?b=c HTTP/1.1, Host: far.test:${port}`,
  ]);
  expect(heard).toEqual(["GET /a?b=c "]);
  expect(new Set(proxy.logins)).toEqual(new Set([`${LOGIN.username}:${LOGIN.password}`]));
  expect(gate.failureOf(`http://far.test:${port}/`)).toBeNull();
});

test("a tunnel is asked for once, not for each connection", async () => {
  for (let i = 0; i < 3; i += 1) expect(await say([get(`/${i}`)])).toContain("from the site");
  expect(proxy.asked).toEqual([`far.test:${port}`]);
  expect(heard).toEqual(["GET /0 ", "GET /1 ", "GET /2 "]);
});

test("a head and a body that come in pieces arrive whole, and nothing behind them does", async () => {
  const head = `POST /form HTTP/1.1\r\nHost: far.test\r\nContent-Length: 10\r\n\r\n`;
  expect(
    await say([head.slice(0, 3), head.slice(3, 30), `${head.slice(30)}01234`, "56789"]),
  ).toContain("from the site");
  expect(heard).toEqual(["POST /form 0123456789"]);
  await say([`${head}0123456789${get("/smuggled", "10.0.0.1")}`]);
  await say([get("/first"), get("/second", "10.0.0.1")]);
  expect(proxy.carried.join("\n")).not.toMatch(/smuggled|second|10\.0\.0\.1/);
});

test.each([
  ["TLS", Buffer.of(0x16, 3, 1, 0, 200, 1)],
  ["a whole address", Buffer.from("GET http://10.0.0.1/ HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n")],
  ["a tunnel", Buffer.from("CONNECT 10.0.0.1:80 HTTP/1.1\r\n\r\n")],
  ["no request", Buffer.from("GET / HTTP/9\r\n\r\n")],
])("%s is not carried, and the proxy's refusal is the cause", async (_what, bytes) => {
  expect(await say([bytes])).toBe("");
  expect(gate.failureOf(`https://far.test:${port}/`)).toMatchObject({
    failure: "tunnel_connection_failed",
    message: expect.stringContaining("it may allow tunnels only to port 443"),
  });
  expect(proxy.carried).toEqual([]);
});

test("a connection that says nothing yet does not hide why the one before it failed", async () => {
  await say([Buffer.of(0x16, 3, 1, 0, 200, 1)]);
  const silent = await ask(gate, "far.test", port);
  expect(silent.code).toBe(0);
  expect(gate.failureOf(`https://far.test:${port}/`)).toMatchObject({
    failure: "tunnel_connection_failed",
  });
  silent.socket.write(get("/"));
  await silent.ended;
  expect(gate.failureOf(`https://far.test:${port}/`)).toBeNull();
});

test("what no tunnel may reach is not asked for in plain HTTP either", async () => {
  const one = client(gate.port);
  one.socket.write(Buffer.concat([GREETING, request("169.254.169.254", 80)]));
  expect((await one.until(12))[3]).toBe(2);
  await one.ended;
  expect([proxy.asked, proxy.carried]).toEqual([[], []]);
});
