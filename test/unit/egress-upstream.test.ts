import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, connect as dial, type Server } from "node:net";
import { ProxyOption } from "#shared/protocol/proxy.ts";
import { freePort } from "#test/support/servers/ports.ts";
import {
  startHttpUpstream,
  startSocksUpstream,
  type UpstreamOptions,
  type UpstreamProxy,
} from "#test/support/servers/upstream-proxies.ts";
import { parseRules } from "#worker/egress/egress.ts";
import { type Gate, openGate } from "#worker/egress/gate.ts";
import { createJudge, type JudgeSettings } from "#worker/egress/judge.ts";
import { socks5 } from "#worker/egress/socks.ts";
import { upstreamOf } from "#worker/egress/upstream-of.ts";

const LOGIN = { username: "anna", password: "s3cret: with a colon" };
const NAMES = { "far.test": "127.0.0.1" };

let site: Server;
let port = 0;
const closed_port = freePort();
const gates: Gate[] = [];
const proxies: UpstreamProxy[] = [];

beforeAll(async () => {
  site = createServer((socket) => {
    socket.on("error", () => {});
    // It speaks first, so that what comes right behind a proxy's answer is seen not to be lost.
    socket.write("hello ");
    socket.on("data", (chunk) => socket.write(chunk));
  });
  await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
  const at = site.address();
  port = at && typeof at === "object" ? at.port : 0;
});
afterAll(async () => {
  for (const gate of gates) gate.close();
  for (const proxy of proxies) proxy.stop();
  site.close();
});

const KINDS = { http: startHttpUpstream, socks5: startSocksUpstream } as const;
type Kind = keyof typeof KINDS;
async function start(kind: Kind, options: UpstreamOptions = {}): Promise<UpstreamProxy> {
  const proxy = await KINDS[kind]({ names: NAMES, ...options });
  proxies.push(proxy);
  return proxy;
}

interface Through {
  proxy: unknown;
  trusted?: boolean;
  judge?: Partial<JudgeSettings>;
  /** What this machine resolves. */
  here?: Record<string, string[]>;
}
function gateThrough({ proxy, trusted = true, judge = {}, here = {} }: Through): Gate {
  const resolve = async (host: string) => {
    const found = here[host];
    if (!found) throw new Error("ENOTFOUND");
    return found;
  };
  const gate = openGate({
    speaks: socks5,
    judge: createJudge({ navigation_block: [], own_ports: [], ...judge }, resolve),
    resolve,
    upstream: upstreamOf(ProxyOption.parse(proxy), { trusted }),
  });
  gates.push(gate);
  return gate;
}

/** What the gate answers a client, what came behind it, and why not. */
async function ask(gate: Gate, host: string, to: number) {
  const socket = dial(gate.port, "127.0.0.1");
  let got: Buffer = Buffer.alloc(0);
  const name = Buffer.from(host);
  socket.write(
    Buffer.concat([
      Buffer.of(5, 1, 0, 5, 1, 0, 3, name.length),
      name,
      Buffer.of(to >> 8, to & 255),
    ]),
  );
  const whole = "hello echo";
  await new Promise<void>((done) => {
    socket.on("error", () => done());
    socket.on("close", () => done());
    socket.on("data", (chunk: Buffer) => {
      const before = got.length;
      got = Buffer.concat([got, chunk]);
      if (before < 12 && got.length >= 12 && got[3] === 0) socket.write("echo");
      if (got.length >= 12 + whole.length) socket.destroy();
    });
  });
  const failed = gate.failureOf(`http://${host.includes(":") ? `[${host}]` : host}:${to}/`);
  return { code: got[3], said: got.toString("utf8", 12), failed };
}

describe.each(["http", "socks5"] as const)("a gate behind a proxy that speaks %s", (kind) => {
  test("goes out through it, which resolves the names and is told the login", async () => {
    const proxy = await start(kind, { login: LOGIN });
    const gate = gateThrough({
      proxy: { server: `${kind}://127.0.0.1:${proxy.port}`, ...LOGIN },
    });
    expect(await ask(gate, "far.test", port)).toEqual({
      code: 0,
      said: "hello echo",
      failed: null,
    });
    expect(proxy.asked).toEqual([`far.test:${port}`]);
    expect(proxy.logins).toEqual([`${LOGIN.username}:${LOGIN.password}`]);
    // The proxy's own address is not that of the site.
    expect(gate.addressOf(`http://far.test:${port}/`)).toBeNull();
    expect(gate.bytes).toEqual({ received: 10, sent: 4 });
  });

  test("tells that the login is wrong, or missing, and never which it was", async () => {
    const proxy = await start(kind, { login: LOGIN });
    const server = `${kind}://127.0.0.1:${proxy.port}`;
    const wrong = await ask(
      gateThrough({ proxy: { server, username: "anna", password: "wrong-one" } }),
      "far.test",
      port,
    );
    expect(wrong.failed).toMatchObject({ failure: "proxy_auth_requested" });
    expect(wrong.failed?.message).toContain("does not accept the given user name and password");
    expect(wrong.failed?.message).not.toMatch(/anna|wrong-one/);
    const none = await ask(gateThrough({ proxy: server }), "far.test", port);
    expect(none.failed?.message).toBe(`the proxy ${server} requires a user name and a password`);
    expect(proxy.asked).toEqual([]);
  });

  test("tells a proxy that is not there, and what is none", async () => {
    const away = await ask(
      gateThrough({ proxy: `${kind}://127.0.0.1:${closed_port}` }),
      "far.test",
      port,
    );
    expect(away.failed).toMatchObject({ failure: "proxy_connection_failed" });
    expect(away.failed?.message).toContain("ECONNREFUSED");
    const other = await ask(
      gateThrough({ proxy: `${kind}://127.0.0.1:${port}` }),
      "far.test",
      port,
    );
    expect(other.failed?.message).toContain("what answers at");
  });

  test("tells what the proxy says of a server", async () => {
    const proxy = await start(kind, { ports: [port, closed_port] });
    const gate = gateThrough({ proxy: `${kind}://127.0.0.1:${proxy.port}` });
    const unknown = await ask(gate, "nowhere.test", port);
    expect(unknown.failed?.failure).toBe(
      kind === "http" ? "name_not_resolved" : "address_unreachable",
    );
    expect(unknown.failed?.message).toContain("nowhere.test");
    expect((await ask(gate, "far.test", closed_port)).failed?.failure).toBe("connection_refused");
    const barred = await ask(gate, "far.test", 25);
    expect(barred.failed?.failure).toBe("tunnel_connection_failed");
    expect(barred.failed?.message).toContain(
      kind === "http" ? "403 Forbidden" : "does not allow it",
    );
  });

  test("asks it for nothing that the fleet's own places are called or resolve to here", async () => {
    const proxy = await start(kind);
    const gate = gateThrough({
      proxy: `${kind}://127.0.0.1:${proxy.port}`,
      judge: {
        own_ports: [9222],
        mode: "public",
        deny: parseRules(["*.denied.test"]),
        protected: {
          at: (address, at) => (address === "192.0.2.7" && at === 8000 ? "is a hub" : null),
          named: (host, at) => (host === "hub.test" && at === 8000 ? "is a hub" : null),
        },
      },
      here: { "alias.test": ["192.0.2.7"], "inside.test": ["10.1.2.3"] },
    });
    const places: [string, number][] = [
      ["hub.test", 8000],
      ["HUB.test.", 8000],
      ["alias.test", 8000],
      ["192.0.2.7", 8000],
      ["0xc0000207", 8000],
      ["inside.test", 80],
      ["10.0.0.1", 80],
      ["a.denied.test", 80],
      ["169.254.169.254", 80],
      ["metadata.google.internal", 80],
      ["fd00:ec2::254", 80],
      // At the proxy these would be its own machine.
      ["localhost", 80],
      ["127.0.0.1", port],
      ["::1", 80],
      ["2130706433", 80],
      // What a proxy might read as another place.
      ["hub.test:8000#", 80],
      ["far.test/x", 80],
      ["anna@far.test", 80],
    ];
    for (const [host, to] of places)
      expect([host, (await ask(gate, host, to)).code]).toEqual([host, 2]);
    expect(proxy.asked).toEqual([]);
    expect(proxy.logins).toEqual([]);
  });

  test("with a list of what is allowed asks it for names of the list alone", async () => {
    const proxy = await start(kind);
    const gate = gateThrough({
      proxy: `${kind}://127.0.0.1:${proxy.port}`,
      judge: { mode: "listed", allow: parseRules(["*.test", "10.0.0.0/8"]) },
    });
    expect((await ask(gate, "far.test", port)).code).toBe(0);
    expect((await ask(gate, "elsewhere.example", port)).failed?.message).toBe(
      "elsewhere.example is not on a list of allowed places",
    );
    expect(proxy.asked).toEqual([`far.test:${port}`]);
  });

  test("connects to what the bypass list names by itself, and judges that", async () => {
    const proxy = await start(kind);
    const gate = gateThrough({
      proxy: { server: `${kind}://127.0.0.1:${proxy.port}`, bypass: ".near.test, 127.0.0.0/8" },
      judge: { own_ports: [9222] },
      here: { "a.near.test": ["127.0.0.1"], "b.near.test": ["169.254.169.254"] },
    });
    expect((await ask(gate, "a.near.test", port)).code).toBe(0);
    expect(gate.addressOf(`http://a.near.test:${port}/`)).toBe("127.0.0.1");
    expect((await ask(gate, "127.0.0.1", port)).code).toBe(0);
    expect((await ask(gate, "127.0.0.1", 9222)).code).toBe(2);
    expect((await ask(gate, "b.near.test", 80)).code).toBe(2);
    expect(proxy.asked).toEqual([]);
  });

  test("judges where a job's own proxy is, and not where the fleet's is", async () => {
    const proxy = await start(kind);
    const server = `${kind}://127.0.0.1:${proxy.port}`;
    const judge = { mode: "public" } as const;
    const own = await ask(gateThrough({ proxy: server, trusted: false, judge }), "far.test", port);
    expect(own.failed).toMatchObject({ failure: "refused_by_gate" });
    expect(own.failed?.message).toStartWith(`the proxy ${server}: 127.0.0.1 is a loopback address`);
    const lanes = { own_ports: [proxy.port] };
    const hub = await ask(
      gateThrough({ proxy: server, trusted: false, judge: lanes }),
      "far.test",
      port,
    );
    expect(hub.failed?.message).toContain("is a port of this worker's own lanes");
    expect(proxy.asked).toEqual([]);
    expect((await ask(gateThrough({ proxy: server, judge }), "far.test", port)).code).toBe(0);
  });
});

test("a run's own proxy takes the place of the worker's, for as long as it lasts", async () => {
  const [workers, jobs] = await Promise.all([start("http"), start("socks5")]);
  const gate = gateThrough({ proxy: `http://127.0.0.1:${workers.port}` });
  const standing = dial(gate.port, "127.0.0.1");
  const cut = new Promise<void>((done) => {
    standing.on("error", () => {});
    standing.on("close", () => done());
  });
  await new Promise<void>((done) => standing.on("connect", done));
  await ask(gate, "far.test", port);
  const narrowed = gate.narrow({
    judge: gate.wayOut().judge,
    onRefused: () => {},
    upstream: upstreamOf(ProxyOption.parse(`socks5://127.0.0.1:${jobs.port}`), { trusted: true }),
  });
  // What was connected before would go on by the other proxy.
  await cut;
  await ask(gate, "far.test", port);
  expect(narrowed.bytes).toEqual({ received: 10, sent: 4 });
  narrowed.end();
  await ask(gate, "far.test", port);
  expect([workers.asked.length, jobs.asked.length]).toEqual([2, 1]);
});
