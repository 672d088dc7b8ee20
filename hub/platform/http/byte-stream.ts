import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { Socket } from "bun";
import { DeadlineError, withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { tlsTrouble } from "#shared/protocol/tls-trouble.ts";
import { hubTls } from "#shared/protocol/trust.ts";

/** A TCP connection after its opening: bytes in both directions, with backpressure in both. */
export interface ByteStream {
  /** Begins to deliver; what came before is delivered first. */
  start(handlers: { data(chunk: Uint8Array): void; close(): void }): void;
  /** Queued when the other side does not read; the number of bytes waiting afterwards. */
  write(bytes: Uint8Array): number;
  pause(): void;
  resume(): void;
  /** At once; what was not sent yet is lost. Idempotent. */
  close(): void;
}

export interface Place {
  hostname: string;
  port: number;
  /** The place has to prove that it is called so. */
  secure: boolean;
}

/** The place of an `http://host:port` or `https://host:port`. */
export const placeOf = (base: string): Place => {
  const url = new URL(base);
  const secure = url.protocol === "https:";
  const hostname = url.hostname.replace(/^\[|\]$/g, "");
  return { hostname, port: Number(url.port) || (secure ? 443 : 80), secure };
};

/** Why the other side is not who it should be; null when it is. */
function whyNotTrusted(socket: Socket, hostname: string, failed: Error | null): string | null {
  const err =
    failed ?? checkServerIdentity(hostname, socket.getPeerCertificate() as PeerCertificate);
  return err ? (tlsTrouble(err) ?? errorMessage(err)) : null;
}

/** What is sent first, and how to recognise the answer from its start. */
export interface Opening {
  hello: string | null;
  /**
   * Given everything that came so far; `say` sends more before the answer is whole.
   * @returns what belongs to the stream already; null while the answer is not whole.
   * @throws what `openStream` is to reject with.
   */
  accept(bytes: Buffer, say: (bytes: Uint8Array) => void): Buffer | null;
  within_ms: number;
  /** The error of a connection that failed, broke off or took too long. */
  failed(why: string): Error;
}

/** Connects, says hello and waits for the answer. @throws the opening's `failed`, or what its `accept` throws. */
export async function openStream(place: Place, opening: Opening): Promise<ByteStream> {
  const opened = Promise.withResolvers<ByteStream>();
  let head: Buffer | null = Buffer.alloc(0);
  let early: Buffer[] = [];
  let handlers: { data(chunk: Uint8Array): void; close(): void } | null = null;
  let waiting: Buffer[] = opening.hello === null ? [] : [Buffer.from(opening.hello, "latin1")];
  let waitingBytes = waiting[0]?.length ?? 0;
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
    opened.reject(opening.failed(why));
    handlers?.close();
  };
  const streamOf = (socket: Socket): ByteStream => ({
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

  const { hostname, port, secure } = place;
  const connecting = Bun.connect({
    ...{ hostname, port },
    ...(secure ? { tls: { serverName: hostname, ...hubTls().tls } } : {}),
    socket: {
      open: (socket) => {
        socket.setNoDelay(true);
        if (!secure) flush(socket);
      },
      handshake: (socket, _done, failed) => {
        const why = whyNotTrusted(socket, hostname, failed);
        if (why === null) return flush(socket);
        over(why);
        socket.terminate();
      },
      data: (socket, chunk) => {
        if (head === null) {
          if (handlers) handlers.data(chunk);
          else early.push(Buffer.from(chunk));
          return;
        }
        head = Buffer.concat([head, chunk]);
        try {
          const rest = opening.accept(head, (bytes) => {
            waiting.push(Buffer.from(bytes));
            waitingBytes += bytes.length;
            flush(socket);
          });
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
    return await withDeadline("its answer", opening.within_ms, opened.promise);
  } catch (err) {
    gone = true;
    void connecting.then((socket) => socket.terminate()).catch(() => {});
    throw err instanceof DeadlineError ? opening.failed(err.message) : err;
  }
}
