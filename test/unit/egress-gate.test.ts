import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { ask, client, GREETING, request } from "#test/support/clients/socks-client.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { type Gate, openGate } from "#worker/egress/gate.ts";
import { createJudge, type JudgeSettings, type Resolve } from "#worker/egress/judge.ts";
import { socks5 } from "#worker/egress/socks.ts";

/** How many bytes the kernel may hold of two connections, one behind the other, where it gives both all it has. */
const mostHeld = (): number =>
  ["tcp_rmem", "tcp_wmem"]
    .map((name) => readFileSync(`/proc/sys/net/ipv4/${name}`, "utf8").trim().split(/\s+/))
    .reduce((sum, sizes) => sum + 2 * Number(sizes.at(-1)), 0);

describe("an egress gate", () => {
  let server: Server;
  let port = 0;
  let serve: (socket: Socket) => void = () => {};
  const gates: Gate[] = [];
  const gateOf = (settings: Partial<JudgeSettings> = {}, names: Record<string, string[]> = {}) => {
    const resolve: Resolve = async (host) => {
      const found = names[host];
      if (!found) throw new Error("ENOTFOUND");
      return found;
    };
    const judge = createJudge({ navigation_block: [], own_ports: [], ...settings }, resolve);
    const gate = openGate({ speaks: socks5, judge, resolve });
    gates.push(gate);
    return gate;
  };
  beforeAll(async () => {
    server = createServer((socket) => {
      socket.on("error", () => {});
      serve(socket);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const at = server.address();
    port = at && typeof at === "object" ? at.port : 0;
  });
  afterAll(() => {
    for (const gate of gates) gate.close();
    server.close();
  });

  test("carries bytes both ways and tells the address that was connected to", async () => {
    serve = (socket) => socket.on("data", (chunk) => socket.write(chunk));
    const gate = gateOf({}, { "site.test": ["127.0.0.1"] });
    const { code, socket, until } = await ask(gate, "site.test", port);
    expect(code).toBe(0);
    socket.write("hello");
    expect((await until(12 + 5)).subarray(12).toString()).toBe("hello");
    expect(gate.addressOf(`http://site.test:${port}/x`)).toBe("127.0.0.1");
    expect(gate.failureOf(`http://site.test:${port}/x`)).toBeNull();
    expect(gate.bytes).toEqual({ received: 5, sent: 5 });
    socket.destroy();
  });

  test("holds a server back while its client does not read, and loses nothing", async () => {
    const body = Buffer.alloc(mostHeld() + 16 * 1024 * 1024);
    for (let i = 0; i < body.length; i += 4) body.writeUInt32LE(i, i);
    let sent_all = false;
    serve = (socket) => void socket.end(body, () => (sent_all = true));
    const gate = gateOf();
    const one = client(gate.port);
    one.socket.write(Buffer.concat([GREETING, request("127.0.0.1", port)]));
    await one.until(12);
    one.socket.pause();
    await Bun.sleep(300);
    // The rest does not fit into the megabyte of the gate.
    expect(sent_all).toBe(false);
    one.socket.resume();
    expect(await one.ended).toBe("end");
    const got = one.received().subarray(12);
    expect(got.length).toBe(body.length);
    expect(Bun.hash(got)).toBe(Bun.hash(body));
  }, 180_000);

  test("ends a connection as its server did: in order, or by a reset behind the last byte", async () => {
    const gate = gateOf();
    serve = (socket) => void socket.end("whole");
    const whole = await ask(gate, "127.0.0.1", port);
    expect(await whole.ended).toBe("end");
    expect(whole.received().subarray(12).toString()).toBe("whole");
    serve = (socket) => void socket.write(Buffer.alloc(300_000, 1), () => socket.resetAndDestroy());
    const cut = await ask(gate, "127.0.0.1", port);
    expect(await cut.ended).toBe("reset");
  }, 180_000);

  test("ends the server's side when its client goes", async () => {
    const gone = Promise.withResolvers<void>();
    serve = (socket) => {
      socket.resume();
      socket.on("close", () => gone.resolve());
    };
    const gate = gateOf();
    const { socket } = await ask(gate, "127.0.0.1", port);
    expect(gate.open).toBe(1);
    socket.end();
    await gone.promise;
    await until("the connection to be over", 60_000, () => gate.open === 0);
  });

  test("tells why a connection was not made", async () => {
    const closed_port = freePort();
    const gate = gateOf(
      {},
      { "meta.test": ["169.254.169.254"], "both.test": ["::1", "127.0.0.1"] },
    );
    const why = async (host: string, to: number) => {
      const { code } = await ask(gate, host, to);
      const shown = host.includes(":") ? `[${host}]` : host;
      return [code, gate.failureOf(`http://${shown}:${to}/`)?.failure];
    };
    expect(await why("127.0.0.1", closed_port)).toEqual([5, "connection_refused"]);
    expect(await why("nowhere.test", 80)).toEqual([4, "name_not_resolved"]);
    expect(await why("169.254.1.1", 80)).toEqual([2, "refused_by_gate"]);
    expect(await why("meta.test", 80)).toEqual([2, "refused_by_gate"]);
    expect(gate.failureOf("http://meta.test/")?.message).toBe(
      "meta.test: 169.254.169.254 is a cloud metadata address",
    );
    serve = (socket) => socket.end();
    // The address that nothing listens at is passed over.
    expect(await why("both.test", port)).toEqual([0, undefined]);
  });

  test("refuses by every spelling of an address, and by the address of every name", async () => {
    const gate = gateOf({ own_ports: [port] }, { "vm.test": ["127.0.0.1"], "six.test": ["::1"] });
    for (const host of [
      ...["127.0.0.1", "2130706433", "0x7f000001", "0177.1", "127.1", "localhost", "LOCALHOST."],
      ...["a.localhost", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "64:ff9b::7f00:1"],
      ...["vm.test", "six.test", "0.0.0.0", "0.1.2.3", "::"],
    ])
      expect([host, (await ask(gate, host, port)).code]).toEqual([host, 2]);
  });

  test("answers nobody who does not speak SOCKS5 without a password, and no other command", async () => {
    const gate = gateOf();
    const last = async (bytes: Buffer) => {
      const one = client(gate.port);
      one.socket.write(bytes);
      await one.ended;
      return [...one.received()];
    };
    expect(await last(Buffer.from("GET / HTTP/1.1\r\n\r\n"))).toEqual([5, 0]);
    expect(await last(Buffer.of(5, 1, 2))).toEqual([5, 0]);
    const bind = Buffer.from(request("127.0.0.1", port));
    bind[1] = 2;
    expect((await last(Buffer.concat([GREETING, bind])))[3]).toBe(7);
    const named = request("a b", port);
    expect((await last(Buffer.concat([GREETING, named])))[3]).toBe(8);
  });

  test("cuts every connection when it is reset or closed", async () => {
    serve = (socket) => socket.resume();
    const gate = gateOf();
    const one = await ask(gate, "127.0.0.1", port);
    gate.reset();
    expect(await one.ended).toBe("reset");
    expect(gate.addressOf(`http://127.0.0.1:${port}/`)).toBeNull();
    const two = await ask(gate, "127.0.0.1", port);
    gate.close();
    expect(await two.ended).toBe("reset");
    expect(gate.open).toBe(0);
  });

  test("is narrowed for a run, and never widened", async () => {
    serve = (socket) => socket.end();
    const gate = gateOf({ deny: [] });
    const told: string[] = [];
    const narrowed = gate.narrow({
      judge: createJudge({ navigation_block: ["loopback"], own_ports: [] }),
      onRefused: (place, reason) => told.push(`${place}: ${reason}`),
    });
    expect((await ask(gate, "127.0.0.1", port)).code).toBe(2);
    expect(told).toEqual([
      `127.0.0.1:${port}: 127.0.0.1 is a loopback address, refused by SVC_NAVIGATION_BLOCK`,
    ]);
    narrowed.end();
    expect((await ask(gate, "127.0.0.1", port)).code).toBe(0);
  });

  test("stays as narrow as its user made it when the browser is started again, and not for the next user", async () => {
    serve = (socket) => socket.end();
    const gate = gateOf();
    const judge = createJudge({ mode: "public", navigation_block: [], own_ports: [] });
    const told: string[] = [];
    const narrowed = gate.narrow({ judge, onRefused: (place) => told.push(place) });
    gate.reset({ same_user: true });
    expect((await ask(gate, "127.0.0.1", port)).code).toBe(2);
    narrowed.quiet();
    expect(told).toHaveLength(1);
    expect((await ask(gate, "127.0.0.1", port)).code).toBe(2);
    expect(told).toHaveLength(1);
    gate.reset();
    expect((await ask(gate, "127.0.0.1", port)).code).toBe(0);
  });
});

test("an egress gate goes on with the address of the connection before, while it answers", async () => {
  const [first, second] = [0, 1].map(() => createServer((socket) => socket.end())) as [
    Server,
    Server,
  ];
  await new Promise<void>((done) => first.listen(0, "127.0.0.1", done));
  const { port } = first.address() as AddressInfo;
  await new Promise<void>((done) => second.listen(port, "127.0.0.2", done));
  const names = { "two.test": ["127.0.0.1", "127.0.0.2"] };
  const resolve: Resolve = async () => names["two.test"];
  const gate = openGate({
    speaks: socks5,
    judge: createJudge({ navigation_block: [], own_ports: [] }),
    resolve,
  });
  const at = async () => {
    await ask(gate, "two.test", port);
    return gate.addressOf(`http://two.test:${port}/`);
  };
  expect(await at()).toBe("127.0.0.1");
  names["two.test"].reverse();
  expect(await at()).toBe("127.0.0.1");
  gate.reset();
  expect(await at()).toBe("127.0.0.2");
  await new Promise((done) => second.close(done));
  expect(await at()).toBe("127.0.0.1");
  gate.close();
  first.close();
});
