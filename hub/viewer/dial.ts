import type { Socket } from "bun";
import { withDeadline } from "#shared/clock.ts";
import { AppError, errorMessage } from "#shared/errors.ts";

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
const PROBE_MS = 2_000;
const MAX_HEAD_BYTES = 16 * 1024;
const HEAD_END = "\r\n\r\n";

const relayFailed = (why: string) =>
  new AppError("relay_failed", `the worker's viewer bridge did not answer: ${why}`);

const placeOf = (base: string): { hostname: string; port: number } => {
  const url = new URL(base);
  return { hostname: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port) || 80 };
};

/** The status of a head, or null while its end has not come. */
function parseHead(bytes: Buffer): { status: number; rest: Buffer } | null {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) {
    if (bytes.length > MAX_HEAD_BYTES) throw relayFailed("its answer has no end");
    return null;
  }
  const status = Number(/^HTTP\/1\.1 ([0-9]{3})/.exec(bytes.toString("latin1", 0, 64))?.[1]);
  return { status, rest: bytes.subarray(end + HEAD_END.length) };
}

/**
 * Opens `path` of the bridge as a byte stream; `upgrade` names its protocol.
 * @throws AppError relay_failed (502) when it does not answer in time, or answers anything but 101.
 */
export async function dialBridge(
  target: BridgeTarget,
  path: string,
  upgrade: string,
): Promise<BridgeStream> {
  const opened = Promise.withResolvers<BridgeStream>();
  const place = placeOf(target.base);
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
        const lines = [
          `GET ${path} HTTP/1.1`,
          `Host: ${place.hostname}:${place.port}`,
          "Connection: Upgrade",
          `Upgrade: ${upgrade}`,
          `Authorization: Bearer ${target.token}`,
        ];
        socket.write(lines.join("\r\n") + HEAD_END);
      },
      data: (socket, chunk) => {
        if (head === null) {
          if (handlers) handlers.data(chunk);
          else early.push(Buffer.from(chunk));
          return;
        }
        head = Buffer.concat([head, chunk]);
        try {
          const answer = parseHead(head);
          if (answer === null) return;
          head = null;
          if (answer.status !== 101) throw relayFailed(`it said ${answer.status}`);
          socket.pause();
          if (answer.rest.length > 0) early.push(answer.rest);
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
    return await withDeadline("the worker's viewer bridge", DIAL_MS, opened.promise);
  } catch (err) {
    gone = true;
    void connecting.then((socket) => socket.terminate()).catch(() => {});
    throw err instanceof AppError ? err : relayFailed(errorMessage(err));
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
