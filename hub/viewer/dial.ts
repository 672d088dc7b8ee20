import type { Socket } from "bun";
import { withDeadline } from "#shared/clock.ts";
import { AppError, errorMessage } from "#shared/errors.ts";
import { HOST_ID_HEADER, hostId } from "#shared/host-id.ts";
import { createTurns } from "#shared/turns.ts";

/** A connection to a worker's bridge after its 101: bytes in both directions, with backpressure in both. */
export interface BridgeStream {
  /** Begins to deliver; what came before is delivered first. */
  start(handlers: { data(chunk: Uint8Array): void; close(): void }): void;
  /** Queued when the worker does not read; the number of bytes waiting afterwards. */
  write(bytes: Uint8Array): number;
  pause(): void;
  resume(): void;
  /** Idempotent. */
  close(): void;
}

export interface BridgeTarget {
  /** `http://host:port` */
  base: string;
  token: string;
}

/** Ours: a bridge on the LAN answers in milliseconds; it may wait 3 s itself for the VNC server's greeting. */
const DIAL_MS = 5_000;
const GREETING_MS = 3_000;
const PROBE_MS = 2_000;
const MAX_HEAD_BYTES = 16 * 1024;
const HEAD_END = "\r\n\r\n";

const relayFailed = (why: string) =>
  new AppError("relay_failed", `the worker's viewer bridge did not answer: ${why}`);

interface Place {
  hostname: string;
  port: number;
}

const placeOf = (base: string): Place => {
  const url = new URL(base);
  return { hostname: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port) || 80 };
};

/** What is said first, and how the answer is told from its start; `null` while it is not whole. */
interface Opening {
  hello: string | null;
  /** @returns what belongs to the stream already. @throws AppError relay_failed, Elsewhere */
  accept(bytes: Buffer): Buffer | null;
  within_ms: number;
}

/** The bridge names a port of this very machine that has the stream. */
class Elsewhere extends Error {
  readonly port: number;
  constructor(port: number) {
    super(`on port ${port}`);
    this.port = port;
  }
}

function acceptUpgrade(bytes: Buffer): Buffer | null {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) {
    if (bytes.length > MAX_HEAD_BYTES) throw relayFailed("its answer has no end");
    return null;
  }
  const head = bytes.toString("latin1", 0, end);
  const status = Number(/^HTTP\/1\.1 ([0-9]{3})/.exec(head)?.[1]);
  const elsewhere = /^Location: rfb:\/\/127\.0\.0\.1:([0-9]{1,5})$/im.exec(head)?.[1];
  if (status === 303 && elsewhere !== undefined) throw new Elsewhere(Number(elsewhere));
  if (status !== 101) throw relayFailed(`it said ${status}`);
  return bytes.subarray(end + HEAD_END.length);
}

/** The greeting stays part of the stream. */
function acceptGreeting(bytes: Buffer): Buffer | null {
  if (bytes.length < 4) return null;
  if (bytes.toString("latin1", 0, 4) !== "RFB ") throw relayFailed("it is no VNC server");
  return bytes;
}

/**
 * Opens `path` of the bridge as a byte stream; `upgrade` names its protocol.
 * @throws AppError relay_failed (502) when it does not answer in time, or answers anything but 101.
 */
export function dialBridge(
  target: BridgeTarget,
  path: string,
  upgrade: string,
  headers: Record<string, string> = {},
): Promise<BridgeStream> {
  const place = placeOf(target.base);
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: ${place.hostname}:${place.port}`,
    "Connection: Upgrade",
    `Upgrade: ${upgrade}`,
    `Authorization: Bearer ${target.token}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const hello = lines.join("\r\n") + HEAD_END;
  return openStream(place, { hello, accept: acceptUpgrade, within_ms: DIAL_MS });
}

/** One connection at a time: Xvnc's queue of new ones is short, and what does not fit is tried again seconds later. */
const inTurn = createTurns<number>();
const dialVnc = (port: number): Promise<BridgeStream> =>
  inTurn(port, () =>
    openStream(
      { hostname: "127.0.0.1", port },
      { hello: null, accept: acceptGreeting, within_ms: GREETING_MS },
    ),
  );

/**
 * The lane's screen as RFB. The bridge of a worker on this machine names the VNC server itself: without the second hop a
 * raw screen came 1.4 times as fast.
 * @throws AppError relay_failed (502)
 */
export async function dialScreen(target: BridgeTarget, path: string): Promise<BridgeStream> {
  const host_id = hostId();
  if (host_id !== null)
    try {
      return await dialBridge(target, path, "rfb", { [HOST_ID_HEADER]: host_id });
    } catch (err) {
      if (!(err instanceof Elsewhere)) throw err;
      const direct = await dialVnc(err.port).catch(() => null);
      if (direct) return direct;
    }
  return dialBridge(target, path, "rfb");
}

async function openStream(place: Place, opening: Opening): Promise<BridgeStream> {
  const opened = Promise.withResolvers<BridgeStream>();
  let head: Buffer | null = Buffer.alloc(0);
  let early: Buffer[] = [];
  let handlers: { data(chunk: Uint8Array): void; close(): void } | null = null;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let gone = false;

  const flush = (socket: Socket): void => {
    while (waiting[0]) {
      const chunk = waiting[0];
      const sent = Math.max(0, socket.write(chunk));
      waitingBytes -= sent;
      if (sent < chunk.length) {
        waiting[0] = chunk.subarray(sent);
        return;
      }
      waiting.shift();
    }
  };
  const over = (why: string): void => {
    if (gone) return;
    gone = true;
    waiting = [];
    waitingBytes = 0;
    opened.reject(relayFailed(why));
    handlers?.close();
  };
  const streamOf = (socket: Socket): BridgeStream => ({
    start: (given) => {
      handlers = given;
      for (const chunk of early) given.data(chunk);
      early = [];
      if (gone) given.close();
      else socket.resume();
    },
    write: (bytes) => {
      if (gone) return 0;
      let sent = 0;
      if (waiting.length === 0) sent = Math.max(0, socket.write(bytes));
      if (sent < bytes.length) {
        waiting.push(Buffer.from(bytes.subarray(sent)));
        waitingBytes += bytes.length - sent;
      }
      return waitingBytes;
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close: () => {
      gone = true;
      socket.terminate();
    },
  });

  const connecting = Bun.connect({
    ...place,
    socket: {
      open: (socket) => {
        socket.setNoDelay(true);
        if (opening.hello !== null) socket.write(opening.hello);
      },
      data: (socket, chunk) => {
        if (head === null) {
          if (handlers) handlers.data(chunk);
          else early.push(Buffer.from(chunk));
          return;
        }
        head = Buffer.concat([head, chunk]);
        try {
          const rest = opening.accept(head);
          if (rest === null) return;
          head = null;
          socket.pause();
          if (rest.length > 0) early.push(rest);
          opened.resolve(streamOf(socket));
        } catch (err) {
          opened.reject(err);
          socket.terminate();
        }
      },
      drain: flush,
      close: () => over("it closed the connection"),
      error: (_socket, err) => over(errorMessage(err)),
      connectError: (_socket, err) => over(errorMessage(err)),
    },
  });
  connecting.catch((err) => over(errorMessage(err)));
  try {
    return await withDeadline("the worker's viewer bridge", opening.within_ms, opened.promise);
  } catch (err) {
    gone = true;
    void connecting.then((socket) => socket.terminate()).catch(() => {});
    throw err instanceof AppError || err instanceof Elsewhere
      ? err
      : relayFailed(errorMessage(err));
  }
}

/** Whether the worker's bridge answers at all. @throws AppError relay_failed (502) */
export async function probeBridge(target: BridgeTarget): Promise<void> {
  try {
    const answer = await fetch(`${target.base}/health`, {
      signal: AbortSignal.timeout(PROBE_MS),
    });
    await answer.arrayBuffer();
  } catch (err) {
    throw relayFailed(errorMessage(err));
  }
}
