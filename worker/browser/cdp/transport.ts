import type { Readable, Writable } from "node:stream";
import { setDeadline } from "#shared/kit/clock.ts";

/** Receives the bytes of one large message piece by piece, and null at its end. */
export type LargeTaker = (bytes: Buffer | null) => void;

/** Carries whole CDP messages. `onClose` is called once, after the last message. */
export interface CdpTransport {
  send(message: string): void;
  onMessage: (message: string) => void;
  onClose: () => void;
  /**
   * Asked with the first bytes of a message that has grown past `LARGE_MESSAGE_BYTES`: a taker receives the message
   * as it arrives, instead of `onMessage` at its end. Bodies of 100 MB cost six times their size when assembled and
   * parsed.
   */
  takeLarge?: (head: Buffer) => LargeTaker | null;
  /** Called with the size of each piece that arrives, before its message is complete. */
  onBytes?: (bytes: number) => void;
  close(): void;
}

const LARGE_MESSAGE_BYTES = 256 * 1024;

const CONNECT_MS = 5_000;

/**
 * Connects to a browser's DevTools socket, for browsers that this worker has not started.
 * @throws Error when nothing answers within 5 s.
 */
export async function socketTransport(url: string): Promise<CdpTransport> {
  const socket = new WebSocket(url);
  const opened = Promise.withResolvers<void>();
  const cancel = setDeadline(CONNECT_MS, () => {
    opened.reject(new Error(`${url} did not answer within ${CONNECT_MS / 1_000} s`));
    socket.close();
  });
  socket.onopen = () => opened.resolve();
  socket.onclose = ({ code }) => opened.reject(new Error(`${url} closed with ${code}`));
  await opened.promise.finally(cancel);
  let closed = false;
  const transport: CdpTransport = {
    send: (message) => {
      if (!closed) socket.send(message);
    },
    onMessage: () => {},
    onClose: () => {},
    close: () => {
      if (closed) return;
      closed = true;
      socket.close();
      transport.onClose();
    },
  };
  socket.onmessage = ({ data }) => {
    const text = String(data);
    transport.onBytes?.(text.length);
    transport.onMessage(text);
  };
  socket.onclose = () => transport.close();
  return transport;
}

/**
 * `--remote-debugging-pipe`: NUL-terminated JSON on fd 3 (to the browser) and fd 4 (from it). Preferred over the websocket
 * because long-lived DevTools sockets drop on their own while the browser is healthy.
 */
export function pipeTransport(toBrowser: Writable, fromBrowser: Readable): CdpTransport {
  let parts: Buffer[] = [];
  let size = 0;
  let asked = false;
  let taker: LargeTaker | null = null;
  let closed = false;
  const transport: CdpTransport = {
    send: (message) => {
      if (closed) return;
      toBrowser.write(`${message}\0`);
    },
    onMessage: () => {},
    onClose: () => {},
    close: () => {
      if (closed) return;
      closed = true;
      toBrowser.destroy();
      fromBrowser.destroy();
      transport.onClose();
    },
  };
  fromBrowser.on("data", (chunk: Buffer) => {
    transport.onBytes?.(chunk.length);
    let start = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      const tail = chunk.subarray(start, end);
      start = end + 1;
      asked = false;
      if (taker) {
        taker(tail);
        taker(null);
        taker = null;
        continue;
      }
      const message = parts.length === 0 ? tail : Buffer.concat([...parts, tail]);
      parts = [];
      size = 0;
      transport.onMessage(message.toString("utf8"));
    }
    if (start < chunk.length) keep(chunk.subarray(start));
  });
  function keep(rest: Buffer): void {
    if (taker) {
      taker(rest);
      return;
    }
    parts.push(rest);
    size += rest.length;
    if (asked || size < LARGE_MESSAGE_BYTES) return;
    asked = true;
    taker = transport.takeLarge?.(parts[0] ?? rest) ?? null;
    if (!taker) return;
    for (const part of parts) taker(part);
    parts = [];
    size = 0;
  }
  // A killed browser appears as EPIPE on one side and end of file on the other; both mean the same here.
  for (const stream of [toBrowser, fromBrowser]) {
    stream.on("error", () => transport.close());
    stream.on("close", () => transport.close());
  }
  fromBrowser.on("end", () => transport.close());
  return transport;
}
