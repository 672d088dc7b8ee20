import type { Socket } from "node:net";
import type { Clock } from "#shared/kit/clock.ts";
import type { ChunkStart } from "#shared/recording/frames.ts";
import {
  askForUpdate,
  createUpdateReader,
  readServerInit,
  type ScreenSize,
  type ScreenUpdate,
  setUp,
} from "./rfb-updates.ts";
import type { ScreenSink } from "./screen-sink.ts";

export interface VncSourceDeps {
  /** A connection that the lane's VNC server has accepted. */
  dial(): Promise<Socket>;
  sink: ScreenSink;
  clock: Clock;
  signal: AbortSignal;
}

/** A server that has accepted the connection describes its screen within this time, and draws it. */
const GREETING_MS = 15_000;
const PICTURE_MS = 60_000;

/** Why a connection ended. */
type End = "length" | "size" | "lost";

/**
 * Records a lane's screen as its VNC server sends it, one connection for each chunk: the server's compression begins anew
 * with a connection, so each chunk can be decoded alone. The server draws and compresses only what changed, and only when
 * asked. Resolves when the connection is lost, or the signal aborts. @throws when the server cannot be reached.
 */
export async function recordVnc(deps: VncSourceDeps): Promise<void> {
  for (let why: string = "start"; !deps.signal.aborted; ) {
    const end = await recordChunk(deps, why);
    if (end === "lost") return;
    why = end;
  }
}

async function recordChunk(deps: VncSourceDeps, why: string): Promise<End> {
  const { sink, clock, signal } = deps;
  const socket = await deps.dial();
  const over = new AbortController();
  const { promise, resolve } = Promise.withResolvers<End>();
  const read = createUpdateReader();
  let head: Buffer = Buffer.alloc(0);
  let size: ScreenSize | null = null;
  /** Of this chunk, until its first picture: a chunk without one would show nothing. */
  let start: ChunkStart | null = null;
  let answers = 0;

  const greet = (chunk: Buffer): Buffer | null => {
    head = Buffer.concat([head, chunk]);
    const init = readServerInit(head);
    if (init === null) return null;
    size = init.size;
    start = { ...init.size, name: init.name.slice(0, 200), why };
    socket.write(setUp());
    socket.write(askForUpdate(init.size, true));
    return init.rest;
  };
  const askAgain = async (screen: ScreenSize) => {
    // The answer to the first question is the size alone: what has changed, which is everything, is asked for once more.
    if (start === null || answers > 1) await clock.sleep(sink.restMs(), over.signal);
    if (!over.signal.aborted) socket.write(askForUpdate(screen, false));
  };
  const write = ({ draws, bytes }: ScreenUpdate) => {
    answers += 1;
    if (start !== null && draws) sink.begin(start);
    if (draws) start = null;
    if (start === null) sink.update(bytes);
  };
  const take = (chunk: Buffer) => {
    for (const update of read(chunk)) {
      write(update);
      const now = update.size ?? size;
      if (now === null) continue;
      const resized = now.width !== size?.width || now.height !== size.height;
      if (resized) return resolve("size");
      if (start === null && sink.isDue()) return resolve("length");
      void askAgain(now);
    }
  };
  socket.on("data", (chunk: Buffer) => {
    try {
      const rest = size === null ? greet(chunk) : chunk;
      if (rest !== null && rest.length > 0) take(rest);
    } catch {
      resolve("lost");
    }
  });
  socket.on("error", () => resolve("lost"));
  socket.on("close", () => resolve("lost"));
  const stop = () => resolve("lost");
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  // Others watch the same screen.
  socket.write(Buffer.from([1]));
  socket.resume();
  void clock.sleep(GREETING_MS, over.signal).then(() => size === null && resolve("lost"));
  void clock.sleep(PICTURE_MS, over.signal).then(() => start !== null && resolve("lost"));
  try {
    return await promise;
  } finally {
    over.abort();
    signal.removeEventListener("abort", stop);
    socket.removeAllListeners("data");
    socket.destroy();
  }
}
