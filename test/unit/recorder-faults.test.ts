import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeFrame, FRAME, type Frame, framesOf, jsonOf } from "#shared/recording/frames.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { createQueue, type Queue } from "#test/support/models/queue.ts";
import { serverInit } from "#worker/browser/bridge/rfb-wire.ts";
import { askForUpdate } from "#worker/browser/recording/rfb-updates.ts";
import { createRunFile } from "#worker/browser/recording/run-file.ts";
import { createScreenSink } from "#worker/browser/recording/screen-sink.ts";
import { recordVnc } from "#worker/browser/recording/vnc-source.ts";

/** A recorder before screens and disks that fail (rules/recordings#what-is-recorded). */

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface MadeServer {
  clients: Queue<{ socket: Socket; said: Queue<Buffer> }>;
  dial(): Promise<Socket>;
}

/** A VNC server that has accepted everybody, and says what the test says. */
async function startServer(): Promise<MadeServer> {
  const clients: MadeServer["clients"] = createQueue();
  const server: Server = createServer((socket) => {
    const said = createQueue<Buffer>();
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => said.push(chunk));
    closing.push(() => socket.destroy());
    clients.push({ socket, said });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  closing.push(() => server.close());
  const { port } = server.address() as { port: number };
  const dial = () =>
    new Promise<Socket>((done, fail) => {
      const socket = connect({ host: "127.0.0.1", port });
      socket.once("error", fail);
      socket.once("connect", () => {
        socket.off("error", fail);
        done(socket.pause());
      });
    });
  return { clients, dial };
}

/** A whole update of one small rectangle in one colour. */
const fill = (width: number, height: number): Buffer => {
  const bytes = Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0x80, 1, 2, 3]);
  bytes.writeUInt16BE(width, 8);
  bytes.writeUInt16BE(height, 10);
  return bytes;
};
const resized = (width: number, height: number): Buffer => {
  const bytes = Buffer.alloc(16);
  bytes[3] = 1;
  bytes.writeUInt16BE(width, 8);
  bytes.writeUInt16BE(height, 10);
  bytes.writeInt32BE(-223, 12);
  return bytes;
};
const INIT = Buffer.from(serverInit({ width: 64, height: 48 }, "lane"));

async function startScreen() {
  const { clients, dial } = await startServer();
  const clock = createFakeClock();
  const began = clock.monotonic();
  const frames = createQueue<Frame>();
  const sink = createScreenSink({
    ms: () => clock.monotonic() - began,
    write: (bytes) => {
      for (const frame of framesOf(bytes)) frames.push(frame);
    },
  });
  const over = new AbortController();
  const done = recordVnc({ dial, sink, clock, signal: over.signal });
  closing.push(() => over.abort());
  const written = (kind: number) => frames.next((frame) => frame.kind === kind);
  return { clients, clock, frames, written, over, done };
}

test("a screen is recorded from its description on, and asked again after a rest", async () => {
  const { clients, clock, written, over, done } = await startScreen();
  const { socket, said } = await clients.next();
  expect([...(await said.next())]).toEqual([1]);
  for (const byte of INIT) socket.write(Buffer.from([byte]));
  const rests = clock.sleeperIn(333);
  socket.write(fill(64, 48));
  const chunk = await written(FRAME.chunk);
  expect(jsonOf(chunk)).toEqual({ width: 64, height: 48, name: "lane", why: "start" });
  expect([...(await written(FRAME.rfb)).payload]).toEqual([...fill(64, 48)]);
  await rests;
  over.abort();
  await done;
});

// rules/recordings#the-file
test("a server that answers with its size alone is asked for the picture at once, and the chunk begins with it", async () => {
  const { clients, frames, clock, over, done } = await startScreen();
  const { socket, said } = await clients.next();
  const asked: Buffer[] = [];
  const nextAsked = async (whole: boolean) => {
    const ask = askForUpdate({ width: 64, height: 48 }, whole);
    while (!Buffer.concat(asked).includes(ask)) asked.push(await said.next());
    asked.length = 0;
  };
  socket.write(INIT);
  await nextAsked(true);
  socket.write(resized(64, 48));
  await nextAsked(false);
  // One that goes on like this is asked as seldom as any other.
  const rests = clock.sleeperIn(333);
  socket.write(resized(64, 48));
  await rests;
  await clock.advance(333);
  await nextAsked(false);
  socket.write(fill(64, 48));
  expect((await frames.next()).kind).toBe(FRAME.chunk);
  expect([...(await frames.next()).payload]).toEqual([...fill(64, 48)]);
  over.abort();
  await done;
});

test("another size begins a chunk on a connection of its own", async () => {
  const { clients, written, over, done } = await startScreen();
  const first = await clients.next();
  first.socket.write(Buffer.concat([INIT, fill(64, 48), resized(32, 24)]));
  await written(FRAME.chunk);
  const second = await clients.next();
  const init = Buffer.from(serverInit({ width: 32, height: 24 }, "x".repeat(3_000)));
  second.socket.write(Buffer.concat([init, fill(32, 24)]));
  const chunk = jsonOf(await written(FRAME.chunk)) as { name: string };
  expect(chunk).toMatchObject({ width: 32, height: 24, why: "size" });
  expect(chunk.name).toHaveLength(200);
  over.abort();
  await done;
});

test("a server that dies at any point ends the screen, and never the run", async () => {
  const whole = Buffer.concat([INIT, fill(64, 48)]);
  for (const cut of [0, 1, 23, INIT.length - 1, INIT.length, INIT.length + 9, whole.length]) {
    const { clients, done } = await startScreen();
    const { socket } = await clients.next();
    socket.end(whole.subarray(0, cut));
    await done;
  }
});

test("a server that says what no server says is left", async () => {
  const endless = Buffer.from(INIT);
  endless.writeUInt32BE(0xffffffff, 20);
  const encoding = fill(64, 48);
  encoding.writeInt32BE(1_234, 12);
  const wrong = [
    endless,
    Buffer.concat([INIT, Buffer.from([99])]),
    Buffer.concat([INIT, encoding]),
    Buffer.concat([INIT, Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")]),
  ];
  for (const bytes of wrong) {
    const { clients, done } = await startScreen();
    const { socket, said } = await clients.next();
    await said.next();
    socket.write(bytes);
    await done;
  }
});

test("a server that describes its screen and never draws it is left after a minute", async () => {
  const { clients, clock, done } = await startScreen();
  const { socket, said } = await clients.next();
  socket.write(INIT);
  const asked: Buffer[] = [];
  const ask = askForUpdate({ width: 64, height: 48 }, true);
  while (!Buffer.concat(asked).includes(ask)) asked.push(await said.next());
  await clock.advance(59_000);
  socket.write(resized(64, 48));
  asked.length = 0;
  const again = askForUpdate({ width: 64, height: 48 }, false);
  while (!Buffer.concat(asked).includes(again)) asked.push(await said.next());
  await clock.advance(1_000);
  await done;
});

test("a recorder that is stopped leaves a server that says nothing", async () => {
  const { clients, over, done } = await startScreen();
  const { socket } = await clients.next();
  const left = new Promise((gone) => socket.once("close", gone));
  over.abort();
  await done;
  await left;
});

const dirOf = () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-run-file-"));
  closing.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

test("a run's file gives whole frames from any frame on, 4 MiB at most (rules/recordings#on-the-way-to-the-hub)", async () => {
  const dir = dirOf();
  const file = createRunFile(join(dir, "run"));
  expect(await file.read(0)).toHaveLength(0);
  const frame = encodeFrame(FRAME.rfb, 1, new Uint8Array(1_500_000));
  for (let i = 0; i < 4; i += 1) file.write(frame);
  expect(file.bytes).toBe(4 * frame.length);
  expect(await file.read(0)).toHaveLength(2 * frame.length);
  expect(await file.read(3 * frame.length)).toHaveLength(frame.length);
  expect(await file.read(file.bytes)).toHaveLength(0);
  expect(await file.read(file.bytes + 5)).toHaveLength(0);
  expect(file.read(1)).rejects.toThrow("no frame begins");
  await file.read(0).then(() => file.remove());
  expect(readdirSync(dir)).toEqual([]);
  await file.remove();
});

test("a disk that fails is told to whoever reads the file", async () => {
  const dir = dirOf();
  writeFileSync(join(dir, "taken"), "");
  const file = createRunFile(join(dir, "taken", "run"));
  file.write(encodeFrame(FRAME.rfb, 1, new Uint8Array(10)));
  expect(file.read(0)).rejects.toThrow();
  await file.remove();
});
