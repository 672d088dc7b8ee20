import type { Readable, Writable } from "node:stream";

/** Carries whole CDP messages. `onClose` is called once, after the last message. */
export interface CdpTransport {
  send(message: string): void;
  onMessage: (message: string) => void;
  onClose: () => void;
  close(): void;
}

/**
 * `--remote-debugging-pipe`: NUL-terminated JSON on fd 3 (to the browser) and fd 4 (from it). Preferred over the websocket
 * because long-lived DevTools sockets drop on their own while the browser is healthy.
 */
export function pipeTransport(toBrowser: Writable, fromBrowser: Readable): CdpTransport {
  let parts: Buffer[] = [];
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
    let start = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      const tail = chunk.subarray(start, end);
      start = end + 1;
      const message = parts.length === 0 ? tail : Buffer.concat([...parts, tail]);
      parts = [];
      transport.onMessage(message.toString("utf8"));
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  });
  // A killed browser shows as EPIPE on one side and end of file on the other; both mean the same thing here.
  for (const stream of [toBrowser, fromBrowser]) {
    stream.on("error", () => transport.close());
    stream.on("close", () => transport.close());
  }
  fromBrowser.on("end", () => transport.close());
  return transport;
}
