import { withDeadline } from "#shared/kit/clock.ts";
import { SECURITY } from "#shared/protocol/rfb.ts";
import { answerTo } from "#shared/protocol/vnc-auth.ts";

/** Everything measured here takes milliseconds. */
const UPDATE_MS = 10_000;

/** How pixels are sent: as they are, or compressed by the VNC server. */
export const PIXELS = { raw: 0, zrle: 16 } as const;

/** A viewer that counts: RFB by hand over a WebSocket, nothing decoded. */
export interface RfbClient {
  /** Asks for a part of the screen and resolves when an update has come whole. */
  update(part: { width: number; height: number; incremental?: boolean }): Promise<void>;
  key(keysym: number): void;
  /** Payload bytes so far. */
  bytes(): number;
  close(): void;
}

const HEAD_BYTES = 4;
/** With ZRLE's length. */
const RECTANGLE_BYTES = { [PIXELS.raw]: 12, [PIXELS.zrle]: 16 };
const VERSION = Buffer.from("RFB 003.008\n");

type Encoding = (typeof PIXELS)[keyof typeof PIXELS];

/** Walks over updates, whose headers may be cut anywhere, and calls `whole` after each. */
function createWalk(encoding: Encoding, whole: () => void): (chunk: Buffer) => void {
  let head: Buffer = Buffer.alloc(0);
  let rectangles = 0;
  let pixels = 0;
  let inUpdate = false;
  const readHead = () => {
    if (inUpdate) {
      rectangles -= 1;
      pixels =
        encoding === PIXELS.raw
          ? head.readUInt16BE(4) * head.readUInt16BE(6) * 4
          : head.readUInt32BE(12);
    } else {
      if (head[0] !== 0) throw new Error(`unexpected message ${head[0]}`);
      rectangles = head.readUInt16BE(2);
      inUpdate = true;
    }
    head = Buffer.alloc(0);
  };
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (pixels > 0) {
        const step = Math.min(pixels, chunk.length - at);
        pixels -= step;
        at += step;
      } else {
        const size = inUpdate ? RECTANGLE_BYTES[encoding] : HEAD_BYTES;
        const piece = chunk.subarray(at, at + size - head.length);
        head = Buffer.concat([head, piece]);
        at += piece.length;
        if (head.length < size) return;
        readHead();
      }
      if (inUpdate && rectangles === 0 && pixels === 0) {
        inUpdate = false;
        whole();
      }
    }
  };
}

export async function connectRfb(
  url: string,
  encoding: Encoding = PIXELS.raw,
  /** Of a VNC server that is reached without the hub. */
  secret: string | null = null,
): Promise<RfbClient> {
  const socket = new WebSocket(url, ["binary"]);
  socket.binaryType = "nodebuffer";
  const opened = Promise.withResolvers<void>();
  const replies: ((said: Buffer) => Buffer)[] = [
    () => VERSION,
    ...(secret === null
      ? [() => Buffer.from([SECURITY.none])]
      : [() => Buffer.from([SECURITY.vnc]), (said: Buffer) => answerTo(said, secret)]),
    () => Buffer.from([1]),
  ];
  let ready = false;
  let total = 0;
  let waiting: PromiseWithResolvers<void> | null = null;

  const read = createWalk(encoding, () => waiting?.resolve());
  socket.onmessage = ({ data }) => {
    const chunk = data as unknown as Buffer;
    total += chunk.length;
    if (ready) return read(chunk);
    const reply = replies.shift();
    // The last part of the handshake is ServerInit, in one piece everywhere.
    if (reply && chunk.length < 24) return socket.send(reply(chunk));
    ready = true;
    socket.send(Buffer.from([2, 0, 0, 1, 0, 0, 0, encoding]));
    opened.resolve();
  };
  socket.onclose = ({ code, reason }) => {
    const err = new Error(`closed with ${code} ${reason}`);
    opened.reject(err);
    waiting?.reject(err);
  };
  await opened.promise;
  return {
    update: ({ width, height, incremental = false }) => {
      waiting = Promise.withResolvers();
      // Whoever waited may have given up.
      waiting.promise.catch(() => {});
      const request = Buffer.alloc(10);
      request.set([3, incremental ? 1 : 0]);
      request.writeUInt16BE(width, 6);
      request.writeUInt16BE(height, 8);
      socket.send(request);
      return withDeadline(`an update after ${total} bytes`, UPDATE_MS, waiting.promise);
    },
    key: (keysym) => {
      for (const down of [1, 0]) {
        const message = Buffer.alloc(8);
        message.set([4, down]);
        message.writeUInt32BE(keysym, 4);
        socket.send(message);
      }
    },
    bytes: () => total,
    close: () => socket.close(),
  };
}
