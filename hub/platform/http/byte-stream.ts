import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { Socket, SocketHandler } from "bun";
import { DeadlineError, withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { tlsTrouble } from "#shared/protocol/tls-trouble.ts";
import { hubTls } from "#shared/protocol/trust.ts";

interface StreamHandlers {
  data(chunk: Uint8Array): void;
  close(): void;
}

/** A TCP connection after its opening: bytes with backpressure in both directions. */
export interface ByteStream {
  /** Starts to deliver; bytes that came before are delivered first. */
  start(handlers: StreamHandlers): void;
  /** Bytes are queued when the other side does not read; returns how many are then waiting. */
  write(bytes: Uint8Array): number;
  pause(): void;
  resume(): void;
  /** Ends at once; bytes that were not sent yet are lost. Idempotent. */
  close(): void;
}

export interface Place {
  hostname: string;
  port: number;
  /** The place must prove that it has this name. */
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

/** The bytes that are sent first, and how to recognise the answer by its start. */
export interface Opening {
  hello: string | null;
  /**
   * Gets everything that came so far; `say` sends more before the answer is whole.
   * @returns bytes that already belong to the stream; null while the answer is not whole.
   * @throws what `openStream` is to reject with.
   */
  accept(bytes: Buffer, say: (bytes: Uint8Array) => void): Buffer | null;
  within_ms: number;
  /** The error of a connection that failed, broke off or took too long. */
  failed(why: string): Error;
}

/** Bytes that the other side has not taken yet. */
function createOutgoing(hello: string | null) {
  let waiting: Buffer[] = hello === null ? [] : [Buffer.from(hello, "latin1")];
  let bytes = waiting[0]?.length ?? 0;
  const add = (chunk: Uint8Array): void => {
    waiting.push(Buffer.from(chunk));
    bytes += chunk.length;
  };
  return {
    add,
    flush: (socket: Socket): void => {
      while (waiting[0]) {
        const chunk = waiting[0];
        const sent = Math.max(0, socket.write(chunk));
        bytes -= sent;
        if (sent < chunk.length) {
          waiting[0] = chunk.subarray(sent);
          return;
        }
        waiting.shift();
      }
    },
    /** Writes at once what it can; returns how many bytes are then waiting. */
    write: (socket: Socket, chunk: Uint8Array): number => {
      const sent = waiting.length === 0 ? Math.max(0, socket.write(chunk)) : 0;
      if (sent < chunk.length) add(chunk.subarray(sent));
      return bytes;
    },
    drop: (): void => {
      waiting = [];
      bytes = 0;
    },
  };
}

/** Keeps bytes that come before the stream is taken, and then passes on each as it comes. */
function createIncoming() {
  let early: Buffer[] = [];
  let handlers: StreamHandlers | null = null;
  return {
    push: (chunk: Uint8Array): void => {
      if (handlers) handlers.data(chunk);
      else early.push(Buffer.from(chunk));
    },
    start: (given: StreamHandlers): void => {
      handlers = given;
      for (const chunk of early) given.data(chunk);
      early = [];
    },
    close: (): void => handlers?.close(),
  };
}

const connect = ({ hostname, port, secure }: Place, socket: SocketHandler<undefined>) =>
  Bun.connect({
    hostname,
    port,
    ...(secure ? { tls: { serverName: hostname, ...hubTls().tls } } : {}),
    socket,
  });

/** Connects, says hello and waits for the answer. @throws the opening's `failed`, or what its `accept` throws. */
export async function openStream(place: Place, opening: Opening): Promise<ByteStream> {
  const opened = Promise.withResolvers<ByteStream>();
  const outgoing = createOutgoing(opening.hello);
  const incoming = createIncoming();
  /** The answer so far; null once it is whole. */
  let head: Buffer | null = Buffer.alloc(0);
  let gone = false;

  const over = (why: string): void => {
    if (gone) return;
    gone = true;
    outgoing.drop();
    opened.reject(opening.failed(why));
    incoming.close();
  };
  const streamOf = (socket: Socket): ByteStream => ({
    start: (handlers) => {
      incoming.start(handlers);
      if (gone) handlers.close();
      else socket.resume();
    },
    write: (bytes) => (gone ? 0 : outgoing.write(socket, bytes)),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close: () => {
      gone = true;
      socket.terminate();
    },
  });
  /** @throws what the opening's `accept` throws */
  const readHead = (socket: Socket, bytes: Buffer): void => {
    head = bytes;
    const rest = opening.accept(head, (said) => {
      outgoing.add(said);
      outgoing.flush(socket);
    });
    if (rest === null) return;
    head = null;
    socket.pause();
    if (rest.length > 0) incoming.push(rest);
    opened.resolve(streamOf(socket));
  };

  const { hostname, secure } = place;
  const connecting = connect(place, {
    open: (socket) => {
      socket.setNoDelay(true);
      if (!secure) outgoing.flush(socket);
    },
    handshake: (socket, _done, failed) => {
      const why = whyNotTrusted(socket, hostname, failed);
      if (why === null) return outgoing.flush(socket);
      over(why);
      socket.terminate();
    },
    data: (socket, chunk) => {
      if (head === null) return incoming.push(chunk);
      try {
        readHead(socket, Buffer.concat([head, chunk]));
      } catch (err) {
        opened.reject(err);
        socket.terminate();
      }
    },
    drain: outgoing.flush,
    close: () => over("it closed the connection"),
    error: (_socket, err) => over(errorMessage(err)),
    connectError: (_socket, err) => over(errorMessage(err)),
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
