import type { Socket } from "bun";

/**
 * One kept-alive HTTP/1.1 connection, one call at a time. `fetch` costs the client as much as the control plane spends on
 * the call, and both share the machine: with it the benchmark would measure its own client.
 */
export interface Wire {
  /** @throws when the answer is not 2xx, or the connection breaks. */
  post(path: string, body: string): Promise<string>;
  close(): void;
}

const encoder = new TextEncoder();
const HEAD_END = Buffer.from("\r\n\r\n");

interface Waiting {
  resolve(text: string): void;
  reject(err: Error): void;
}

export async function openWire(base: string): Promise<Wire> {
  const url = new URL(base);
  let parts: Buffer[] = [];
  let size = 0;
  /** Bytes of the whole answer, once its head was read. */
  let whole = 0;
  let body_at = 0;
  let status = 0;
  let waiting: Waiting | null = null;
  /** Bytes that did not fit the socket yet. */
  let unsent: Uint8Array | null = null;

  const fail = (err: Error) => {
    const { reject } = waiting ?? {};
    waiting = null;
    reject?.(err);
  };
  const readHead = (bytes: Buffer): void => {
    const end = bytes.indexOf(HEAD_END);
    if (end < 0) return;
    const head = bytes.toString("latin1", 0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) {
      fail(new Error(`an answer without a length: ${head}`));
      return;
    }
    status = Number(head.slice(9, 12));
    body_at = end + HEAD_END.length;
    whole = body_at + Number(length);
  };
  const read = (chunk: Buffer): void => {
    parts.push(chunk);
    size += chunk.length;
    if (whole === 0) {
      const first = parts.length === 1 ? chunk : Buffer.concat(parts);
      parts = [first];
      readHead(first);
    }
    if (whole === 0 || size < whole) return;
    const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    const text = bytes.toString("utf8", body_at, whole);
    parts = [];
    size = whole = 0;
    const { resolve, reject } = waiting ?? {};
    waiting = null;
    if (status < 300) resolve?.(text);
    else reject?.(new Error(`${status} ${text}`));
  };
  const write = (socket: Socket, bytes: Uint8Array): void => {
    const sent = socket.write(bytes);
    unsent = sent < bytes.length ? bytes.subarray(Math.max(0, sent)) : null;
  };
  const socket = await Bun.connect({
    hostname: url.hostname,
    port: Number(url.port),
    socket: {
      data: (_socket, chunk) => read(Buffer.from(chunk)),
      drain: (on) => {
        if (unsent) write(on, unsent);
      },
      close: () => fail(new Error("the connection was closed")),
      error: (_socket, err) => fail(err),
    },
  });
  socket.setNoDelay(true);
  return {
    post: (path, body) =>
      new Promise((resolve, reject) => {
        if (waiting) return reject(new Error("one call at a time"));
        waiting = { resolve, reject };
        const bytes = encoder.encode(body);
        const head = `POST ${path} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\nContent-Length: ${bytes.length}\r\n\r\n`;
        const all = new Uint8Array(head.length + bytes.length);
        encoder.encodeInto(head, all);
        all.set(bytes, head.length);
        write(socket, all);
      }),
    close: () => void socket.end(),
  };
}
