import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#shared/kit/clock.ts";
import { type Log, silentLog } from "#shared/kit/log.ts";
import { SOURCE_ROOT } from "#shared/protocol/version.ts";
import { ask } from "#test/support/clients/socks-client.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import type { Gate } from "#worker/egress/gate.ts";
import { createJudge, type JudgeSettings } from "#worker/egress/judge.ts";
import { createThreadGates } from "#worker/egress/thread/gates.ts";

const WAIT_MS = 20_000;

let server: Server;
let port = 0;
const gates: Gate[] = [];

beforeAll(async () => {
  server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => socket.write(chunk));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
});
afterAll(() => void server.close());

const resolve = async (host: string) => {
  if (host !== "site.test") throw new Error("ENOTFOUND");
  return ["127.0.0.1"];
};

/** Gates whose thread a test can end, and what is logged of them. */
function threadGates(judged: Partial<JudgeSettings> = {}, root = SOURCE_ROOT) {
  const judge: JudgeSettings = { navigation_block: [], own_ports: [], ...judged };
  const threads: Worker[] = [];
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (_fields, text) => void errors.push(String(text)) };
  const all = createThreadGates({
    ...{ judge, own_places: [], resolve, clock: systemClock, log },
    startThread: () => {
      const thread = new Worker(join(root, "worker/egress/thread/gates-thread.ts"), { smol: true });
      threads.push(thread);
      return thread;
    },
  });
  const open = async () => {
    const gate = await all.open({ judge: createJudge(judge, resolve), upstream: null });
    gates.push(gate);
    return gate;
  };
  return { all, open, threads, errors };
}

/** The code of the gate's answer; null while it takes no connection. */
const codeOf = async (gate: Gate, host: string, to = port): Promise<number | null> => {
  const one = await Promise.race([ask(gate, host, to), refusedAt(gate)]);
  if (one === null) return null;
  one.socket.destroy();
  return one.code;
};
const refusedAt = (gate: Gate): Promise<null> =>
  new Promise((done) => {
    Bun.connect({
      ...{ hostname: "127.0.0.1", port: gate.port },
      socket: {
        open: (socket) => void socket.end(),
        data: () => {},
        connectError: () => done(null),
      },
    }).catch(() => done(null));
  });

test("the address of a connection is known as soon as anybody can have heard from its server", async () => {
  const gate = await threadGates().open();
  // Nothing is awaited between the server's first byte and the question, so that no event tells of the connection.
  for (let i = 0; i < 200; i += 1) {
    const known: (string | null)[] = [];
    const { promise, resolve: heard } = Promise.withResolvers<void>();
    const name = Buffer.from("site.test");
    const asked = Buffer.from([
      5,
      1,
      0,
      5,
      1,
      0,
      3,
      name.length,
      ...name,
      port >> 8,
      port & 255,
      42,
    ]);
    let got = 0;
    await gate.reset();
    const socket = await Bun.connect({
      ...{ hostname: "127.0.0.1", port: gate.port },
      socket: {
        open: (one) => void one.write(asked),
        data: (_, chunk) => {
          got += chunk.length;
          if (got < 13) return;
          known.push(gate.addressOf(`http://site.test:${port}/`));
          heard();
        },
      },
    });
    await promise;
    expect(known).toEqual(["127.0.0.1"]);
    socket.terminate();
  }
  await gate.reset();
});

test("what is refused until a run is over is told to it, in order, and nothing after", async () => {
  const gate = await threadGates().open();
  const told: string[] = [];
  const narrowed = await gate.narrow({
    judge: createJudge({ mode: "listed", navigation_block: [], own_ports: [] }),
    onRefused: (place) => told.push(place),
  });
  for (const to of [port, 81, 82]) expect(await codeOf(gate, "site.test", to)).toBe(2);
  narrowed.quiet();
  expect(told).toEqual([`site.test:${port}`, "site.test:81", "site.test:82"]);
  expect(await codeOf(gate, "site.test", 83)).toBe(2);
  narrowed.end();
  await gate.reset();
  expect(await codeOf(gate, "site.test")).toBe(0);
  expect(told).toHaveLength(3);
});

test("a thread that broke is said and started again: same port, same rules, nobody goes around it", async () => {
  const { open, threads, errors } = threadGates();
  const [narrow, wide] = [await open(), await open()];
  let broken = 0;
  await narrow.narrow({
    judge: createJudge({ mode: "public", navigation_block: [], own_ports: [] }),
    onRefused: () => {},
    onBroken: () => {
      broken += 1;
    },
  });
  const standing = await ask(wide, "site.test", port);
  const before = wide.bytes;
  threads[0]?.terminate();
  // What stood ends, and until there is a thread again there is nothing to connect to.
  await standing.ended;
  await until("the break to be told", WAIT_MS, () => errors.length === 1 && broken === 1);
  expect(errors[0]).toContain("the egress gates broke");
  expect(wide.open).toBe(0);
  const codes = new Set<number | null>();
  await until("the gates to be open again", WAIT_MS, async () => {
    const code = await codeOf(narrow, "site.test");
    codes.add(code);
    return code !== null && (await codeOf(wide, "site.test")) === 0;
  });
  // The gate that was narrowed never let anybody out.
  expect([...codes].filter((code) => code !== null)).toEqual([2]);
  expect(threads).toHaveLength(2);
  expect(wide.bytes).toEqual(before);
}, 60_000);

test("what is asked of a gate while its thread is away holds once it is back", async () => {
  const { open, threads } = threadGates();
  const gate = await open();
  threads[0]?.terminate();
  await gate.narrow({
    judge: createJudge({ mode: "public", navigation_block: [], own_ports: [] }),
    onRefused: () => {},
  });
  expect(await codeOf(gate, "site.test")).toBe(2);
}, 60_000);

test("no lane goes out by another one's gate, and none to what the hub told of the fleet", async () => {
  const { all, open } = threadGates();
  const [one, other] = [await open(), await open()];
  expect(await codeOf(one, "127.0.0.1", other.port)).toBe(2);
  expect(await codeOf(one, "site.test", other.port)).toBe(2);
  expect(await codeOf(one, "site.test")).toBe(0);
  all.tell([{ host: "site.test", from: port, to: port, is: "hub" }]);
  await one.reset();
  expect(await codeOf(one, "site.test")).toBe(2);
  expect(one.failureOf(`http://site.test:${port}/`)?.message).toContain("is a hub of this fleet");
});

test("there is a thread while there is a gate, and not before or after", async () => {
  const { open, threads } = threadGates();
  expect(threads).toHaveLength(0);
  const [one, other] = [await open(), await open()];
  const ended = new Promise<void>((done) => threads[0]?.addEventListener("close", () => done()));
  await one.close();
  expect(await codeOf(other, "site.test")).toBe(0);
  await Promise.all([other.close(), ended]);
  expect(await refusedAt(other)).toBeNull();
  const again = await open();
  expect(await codeOf(again, "site.test")).toBe(0);
  expect(threads).toHaveLength(2);
});

test("the thread of an updated version finds its modules where no package.json says where they are (rules/updates#worker-source)", async () => {
  const root = mkdtempSync(join(tmpdir(), "flotilla-thread-"));
  try {
    for (const dir of ["shared", "worker/egress"])
      cpSync(join(SOURCE_ROOT, dir), join(root, dir), { recursive: true });
    const gate = await threadGates({}, root).open();
    expect(await codeOf(gate, "site.test")).toBe(0);
  } finally {
    rmSync(root, { recursive: true });
  }
});

test("a thread that does not start is told at once", async () => {
  const { open, errors } = threadGates({}, "/nowhere");
  await expect(open()).rejects.toThrow("no egress gate could be opened");
  expect(errors).toEqual([]);
});
