import type { Duplex } from "node:stream";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { RESOLUTION } from "#shared/protocol/limits.ts";
import {
  CLIENT,
  clientMessageLength,
  isVersion,
  RfbError,
  VERSION_BYTES,
} from "#shared/protocol/rfb.ts";
import { createRfbInput } from "./rfb-input.ts";
import {
  clipboardCaps,
  clipboardRequest,
  cursorRectangle,
  ENCODING,
  jpegRectangle,
  MAX_JPEG_BYTES,
  plainSizeRectangle,
  readCutText,
  SECURITY_OK,
  SECURITY_TYPES,
  type Size,
  serverInit,
  sizeRectangle,
  updateHead,
  VERSION,
} from "./rfb-wire.ts";
import type { Picture, Screencast } from "./screencast.ts";

/** Bounds of the page size that a viewer may request. */
const SIZE = { least: 100, most: 7_680 };

const readSize = (message: Buffer): Size => {
  const fit = (n: number) => Math.min(SIZE.most, Math.max(SIZE.least, n));
  return { width: fit(message.readUInt16BE(2)), height: fit(message.readUInt16BE(4)) };
};

/**
 * An RFB server whose screen is a page (for lanes without a display: rules/viewer#viewer-stream): noVNC sees a VNC server
 * like any other. One viewer; it gets the newest frame when it asks, and never sees those it missed.
 */
export function serveRfb(
  socket: Duplex,
  cast: Screencast,
  { clock, log }: { clock: Clock; log: Log },
): void {
  const input = createRfbInput(clock);
  const encodings = new Set<number>();
  let step: "version" | "security" | "init" | "message" = "version";
  let buffer: Buffer = Buffer.alloc(0);
  let told: Size = { ...RESOLUTION };
  /** The viewer is waiting for an update. */
  let asked = false;
  let sent = 0;
  let announced = false;
  let blocked = false;
  let resizing = false;

  const write = (bytes: Buffer) => {
    blocked = !socket.write(bytes) || blocked;
  };
  const sizeRectangleFor = (size: Size, reason: 0 | 1): Buffer | null => {
    if (encodings.has(ENCODING.extended_desktop_size)) return sizeRectangle(size, reason);
    return encodings.has(ENCODING.desktop_size) ? plainSizeRectangle(size) : null;
  };
  const sendPicture = (picture: Picture) => {
    const rectangles: Buffer[] = [];
    const changed = picture.width !== told.width || picture.height !== told.height;
    if (changed || !announced) {
      const rectangle = sizeRectangleFor(picture, 0);
      if (rectangle) rectangles.push(rectangle);
      if (!announced && encodings.has(ENCODING.cursor)) rectangles.push(cursorRectangle());
    }
    announced = true;
    told = { width: picture.width, height: picture.height };
    rectangles.push(jpegRectangle(picture, picture.jpeg.length));
    write(Buffer.concat([updateHead(rectangles.length), ...rectangles]));
    write(picture.jpeg);
  };
  const update = () => {
    const picture = cast.latest();
    if (!asked || blocked || picture === null || picture.no === sent) return;
    cast.taken();
    sent = picture.no;
    if (picture.jpeg.length > MAX_JPEG_BYTES) return;
    asked = false;
    sendPicture(picture);
  };
  const resize = async (size: Size) => {
    if (resizing) return;
    resizing = true;
    try {
      await cast.resize(socket, size);
      const rectangle = sizeRectangleFor(size, 1);
      if (!rectangle || socket.destroyed) return;
      told = size;
      write(Buffer.concat([updateHead(1), rectangle]));
    } catch (err) {
      log.debug({ err: errorMessage(err) }, "page not resized");
    } finally {
      resizing = false;
    }
  };

  const handle = (message: Buffer) => {
    const page = cast.page();
    switch (message[0]) {
      case CLIENT.set_encodings: {
        encodings.clear();
        for (let at = 4; at < message.length; at += 4) encodings.add(message.readInt32BE(at));
        if (!encodings.has(ENCODING.tight))
          throw new RfbError("a viewer of a headless lane must understand Tight encoding");
        if (encodings.has(ENCODING.extended_clipboard)) write(clipboardCaps());
        break;
      }
      case CLIENT.update_request:
        asked = true;
        // Not incremental: the viewer has nothing, so even an old frame is new to it.
        if (message[1] === 0) sent = 0;
        update();
        break;
      case CLIENT.key:
        if (page) input.key(page, message.readUInt32BE(4), message[1] !== 0);
        break;
      case CLIENT.pointer: {
        const scale = cast.latest()?.scale ?? 1;
        const [x, y] = [message.readUInt16BE(2) * scale, message.readUInt16BE(4) * scale];
        if (page) input.pointer(page, (message[1] ?? 0) & 0x7f, x, y);
        break;
      }
      case CLIENT.cut_text: {
        const cut = readCutText(message);
        if (cut === "coming") {
          input.clipboardComing();
          write(clipboardRequest());
        } else if (cut) input.clipboard(page, cut.text);
        break;
      }
      case CLIENT.set_desktop_size:
        void resize(readSize(message));
        break;
    }
  };

  /** The next part of the handshake, or the next message, once it is complete. */
  const next = (): Buffer | null => {
    let length: ReturnType<typeof clientMessageLength> = step === "version" ? VERSION_BYTES : 1;
    if (step === "message") length = clientMessageLength(buffer);
    if (typeof length !== "number" || buffer.length < length) return null;
    const part = buffer.subarray(0, length);
    buffer = buffer.subarray(length);
    return part;
  };
  const take = (part: Buffer) => {
    switch (step) {
      case "version":
        if (!isVersion(part)) throw new RfbError("only RFB 3.7 and 3.8 are spoken here");
        step = "security";
        return write(SECURITY_TYPES);
      case "security":
        step = "init";
        return write(SECURITY_OK);
      case "init": {
        step = "message";
        const picture = cast.latest();
        if (picture) told = { width: picture.width, height: picture.height };
        return write(serverInit(told, "Flotilla"));
      }
      default:
        handle(part);
    }
  };

  socket.on("data", (chunk: Buffer) => {
    try {
      buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk]);
      for (let part = next(); part !== null; part = next()) take(part);
    } catch (err) {
      log.debug({ err: errorMessage(err) }, "viewer closed");
      socket.destroy();
    }
  });
  socket.on("drain", () => {
    blocked = false;
    update();
  });
  const stop = cast.watch(update);
  socket.on("end", () => socket.destroy());
  socket.on("close", () => {
    stop();
    input.release(cast.page());
    cast.resize(socket, null).catch((err) => {
      log.debug({ err: errorMessage(err) }, "page size not restored");
    });
  });
  void cast.closed.then(() => socket.end());
  socket.write(VERSION);
  socket.resume();
}
