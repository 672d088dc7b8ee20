import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { attempting } from "#test/support/rigs/attempts.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type OwnListener, startOwnListener } from "#test/support/servers/own-listener.ts";
import { BAD_FRAMES, FRAMES, SLOW, SLOW_CLIENTS, type SlowClient } from "./lists/slow-clients.ts";

/**
 * Clients that take the listener's connections and never end. It is the hub's own, with a shorter patience: judged is that
 * others are answered meanwhile, that every attacker is ended by its deadline, and what they make the process hold.
 */

setDefaultTimeout(400_000);

const EACH = 40;
const MB = 1024 * 1024;
/** 40 deaf clients of 8 MB each, times 100 for those who ask so often, would hold gigabytes. */
const MOST_HELD = 200 * MB;

let server: OwnListener;
beforeAll(async () => {
  server = await startOwnListener();
});
afterAll(() => server?.stop());

interface Attacker {
  readonly socket: Socket;
  /** Whether the server has ended it. */
  ended: boolean;
  readonly answer: () => string;
}

function dial({ first, deaf = false }: SlowClient): Attacker {
  const socket = connect(Number(server.url.port), server.url.hostname);
  let answer = "";
  const attacker: Attacker = { socket, ended: false, answer: () => answer };
  const end = () => {
    attacker.ended = true;
  };
  socket.on("close", end);
  socket.on("end", end);
  socket.on("error", end);
  if (deaf) socket.pause();
  else
    socket.on("data", (chunk: Buffer) => {
      answer = (answer + chunk.toString("latin1")).slice(0, 10_000);
    });
  if (first !== "") socket.write(Buffer.from(first, "latin1"));
  return attacker;
}

const health = async () =>
  (await fetch(new URL("/health", server.url), { signal: AbortSignal.timeout(120_000) })).status;

test("slow, deaf and gone clients keep nobody from an answer, hold little, and are ended", async () => {
  const tried = attempting(SLOW);
  const before = server.rss();
  const attackers = Object.entries(SLOW_CLIENTS).flatMap(([name, client]) =>
    Array.from({ length: EACH }, () => ({ name, client, at: dial(client) })),
  );
  expect(attackers.length).toBeGreaterThan(600);
  let most = 0;
  let answers = 0;
  /** Resolves when these were ended; they go on as they do, and others are answered meanwhile. */
  const ended = async (these: typeof attackers) => {
    const left = () => these.filter(({ at }) => !at.ended);
    const pass = async () => {
      for (const { client, at } of left()) if (client.again) at.socket.write(client.again);
      expect(await health()).toBe(200);
      answers += 1;
      most = Math.max(most, server.rss() - before);
      return left().length === 0;
    };
    await until("the end of attackers", 180_000, pass, 300).catch((err) => {
      const names = Map.groupBy(left(), ({ name }) => name);
      const told = [...names].map(([name, of]) => `${name} (${of.length})`);
      throw new Error(`${err.message}: ${told.join("; ")}`);
    });
  };
  try {
    await ended(attackers.filter(({ client }) => !client.deaf));
    // That they were ended deaf clients see when they listen at last.
    for (const { client, at } of attackers) if (client.deaf) at.socket.resume();
    await ended(attackers);
  } finally {
    for (const { at } of attackers) at.socket.destroy();
  }
  expect(answers).toBeGreaterThan(3);
  expect(most).toBeLessThan(MOST_HELD);
  // Nothing is made for those who do not read it, but what lies in the buffers on the way.
  expect((await server.tally()).made).toBeLessThan(3 * EACH * 16 * MB);
  await until("the end of their sockets", 60_000, async () => (await server.tally()).open === 0);
  for (const name of Object.keys(SLOW_CLIENTS)) tried.refused(name);
  expect(tried.left()).toEqual([]);
});

const HANDSHAKE =
  "GET /socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";

async function onSocket(bytes: string, deaf = false): Promise<Attacker> {
  const attacker = dial({ first: HANDSHAKE });
  await until("the handshake", 60_000, () => attacker.answer().includes("\r\n\r\n"));
  if (deaf) attacker.socket.pause();
  attacker.socket.write(Buffer.from(bytes, "latin1"));
  return attacker;
}

/**
 * Resolves when the system has taken the bytes, or the socket is closed, and other events have had their turn: a loop that
 * goes on as long as the system takes everything at once never hears that the other side has ended the socket.
 */
const written = (socket: Socket, bytes: Buffer) =>
  new Promise<void>((resolve) => {
    const done = () => {
      socket.off("close", done);
      resolve();
    };
    socket.on("close", done);
    socket.write(bytes, () => setImmediate(done));
  });

const frames = attempting(FRAMES);

test.each(Object.keys(BAD_FRAMES))(
  "a socket is closed on %s, and nothing of it is heard",
  async (name) => {
    const before = await server.tally();
    const attacker = await onSocket(BAD_FRAMES[name] ?? "");
    await until("the end of the socket", 60_000, () => attacker.ended);
    expect((await server.tally()).heard).toBe(before.heard);
    expect(await health()).toBe(200);
    frames.refused(name);
  },
);

test("a flood of pings, and a message without end, hold little and keep nobody waiting", async () => {
  const before = server.rss();
  const ping = Buffer.concat(
    Array.from({ length: 1_000 }, () => Buffer.from([0x89, 0x80 | 4, 0, 0, 0, 0, 1, 2, 3, 4])),
  );
  const flood = await onSocket("", true);
  for (let i = 0; i < 500 && !flood.ended; i += 1) {
    await written(flood.socket, ping);
    if (i % 100 === 0) expect(await health()).toBe(200);
  }
  flood.socket.destroy();
  frames.refused("500,000 pings, no pong read");

  const { heard } = await server.tally();
  const piece = Buffer.alloc(64 * 1024 + 14, 0x61);
  const begin = (first: boolean) => {
    piece[0] = first ? 0x01 : 0x00;
    piece[1] = 0x80 | 127;
    piece.writeBigUInt64BE(65_536n, 2);
    piece.fill(0, 10, 14);
    return Buffer.from(piece);
  };
  const endless = await onSocket("");
  let sent = 0;
  while (!endless.ended && sent < 400 * MB) {
    await written(endless.socket, begin(sent === 0));
    sent += 65_536;
  }
  await until("the end of the socket", 60_000, () => endless.ended);
  expect((await server.tally()).heard).toBe(heard);
  expect(sent).toBeLessThan(300 * MB);
  expect(await health()).toBe(200);
  expect(server.rss() - before).toBeLessThan(2 * MOST_HELD);
  frames.refused("a message without end, in pieces");
  expect(frames.left()).toEqual([]);
});
