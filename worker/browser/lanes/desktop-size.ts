import type { Socket } from "node:net";
import { CLIENT, EXTENDED_DESKTOP_SIZE } from "#shared/protocol/rfb.ts";
import { dialVnc } from "./dial-vnc.ts";
import type { Size } from "./x11.ts";

/** What the server may send before it reports its size: a screen of one pixel, a bell, a clipboard. */
const MAX_TALK_BYTES = 1024 * 1024;
const SERVER = { update: 0, bell: 2, cut_text: 3 } as const;
const RAW = 0;
const PIXEL_BYTES = 4;

const setEncodings = (): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes[0] = CLIENT.set_encodings;
  bytes.writeUInt16BE(1, 2);
  bytes.writeInt32BE(EXTENDED_DESKTOP_SIZE, 4);
  return bytes;
};
/** Requests the first pixel as it is now. The screen size comes before it. */
const askForPixel = (): Buffer => Buffer.from([CLIENT.update_request, 0, 0, 0, 0, 0, 0, 1, 0, 1]);

/** A screen with one monitor, which has the id of the server's first. */
function setDesktopSize({ width, height }: Size, monitor: Buffer): Buffer {
  const bytes = Buffer.alloc(24);
  bytes[0] = CLIENT.set_desktop_size;
  bytes.writeUInt16BE(width, 2);
  bytes.writeUInt16BE(height, 4);
  bytes[6] = 1;
  monitor.copy(bytes, 8);
  bytes.writeUInt32BE(0, 12);
  bytes.writeUInt16BE(width, 16);
  bytes.writeUInt16BE(height, 18);
  return bytes;
}

/** Reads the server's bytes, as many at a time as the caller wants. */
function reader(socket: Socket) {
  let buffer: Buffer = Buffer.alloc(0);
  let taken = 0;
  let arrived = Promise.withResolvers<void>();
  arrived.promise.catch(() => {});
  const fail = (err: Error) => arrived.reject(err);
  socket.on("data", (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk]);
    arrived.resolve();
  });
  socket.on("error", fail);
  socket.resume();
  socket.on("close", () => fail(new Error("the VNC server closed the connection")));
  return async (count: number): Promise<Buffer> => {
    taken += count;
    if (taken > MAX_TALK_BYTES) throw new Error("the VNC server does not report its size");
    while (buffer.length < count) {
      await arrived.promise;
      if (buffer.length >= count || socket.destroyed) continue;
      arrived = Promise.withResolvers();
      arrived.promise.catch(() => {});
    }
    const part = buffer.subarray(0, count);
    buffer = buffer.subarray(count);
    return part;
  };
}

/** Reads the id of the first monitor from the first update that reports the screen size. */
async function readMonitor(take: ReturnType<typeof reader>): Promise<Buffer> {
  for (;;) {
    const type = (await take(1))[0];
    if (type === SERVER.bell) continue;
    if (type === SERVER.cut_text) await take((await take(7)).readUInt32BE(3));
    else if (type === SERVER.update) {
      for (let left = (await take(3)).readUInt16BE(1); left > 0; left -= 1) {
        const head = await take(12);
        const encoding = head.readInt32BE(8);
        if (encoding === EXTENDED_DESKTOP_SIZE) {
          await take(4);
          return take(16);
        }
        if (encoding !== RAW) throw new Error(`the VNC server sent encoding ${encoding}`);
        await take(head.readUInt16BE(4) * head.readUInt16BE(6) * PIXEL_BYTES);
      }
    } else throw new Error(`the VNC server sent message ${type}`);
  }
}

/**
 * Asks the VNC server on `port` of this machine for another screen size, as a viewer does. Does not wait for the
 * answer: anyone who watches the screen sees it change. The connection stays until `done` settles.
 * @throws when the server cannot be reached or does not support resizing.
 */
export async function askDesktopSize(
  port: number,
  secret: string,
  size: Size,
  done: Promise<unknown>,
): Promise<void> {
  const socket = await dialVnc(port, secret);
  const close = () => void socket.destroy();
  done.then(close, close);
  const take = reader(socket);
  const shared = 1;
  socket.write(Buffer.from([shared]));
  await take((await take(24)).readUInt32BE(20));
  socket.write(Buffer.concat([setEncodings(), askForPixel()]));
  const monitor = (await readMonitor(take)).subarray(0, 4);
  socket.write(setDesktopSize(size, monitor));
  await done;
}
