import type { Duplex } from "node:stream";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { RESOLUTION } from "#shared/protocol/limits.ts";
import {
  cursorRectangle,
  ENCODING,
  jpegRectangle,
  MAX_JPEG_BYTES,
  plainSizeRectangle,
  type Size,
  sizeRectangle,
  updateHead,
} from "./rfb-wire.ts";
import type { Screencast } from "./screencast.ts";
import type { Picture } from "./screencast-frames.ts";

/** The screen as one viewer has it. It gets the newest frame when it asks, and never sees those it missed. */
export interface RfbScreen {
  /** Its size when the viewer begins. */
  begin(): Size;
  /** What the viewer understands. */
  encodings: Set<number>;
  /** The viewer waits for an update. `whole`: it has nothing, so even an old frame is new to it. */
  asked(whole: boolean): void;
  /** Sends the newest frame to a viewer that waits for one. */
  update(): void;
  /** Gives the page another size on behalf of the viewer. */
  resize(size: Size): Promise<void>;
  write(bytes: Buffer): void;
  /** The socket takes bytes again. */
  drained(): void;
}

export function createRfbScreen(socket: Duplex, cast: Screencast, log: Log): RfbScreen {
  const encodings = new Set<number>();
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
  const send = (picture: Picture) => {
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
    send(picture);
  };
  const tellResized = (size: Size) => {
    const rectangle = sizeRectangleFor(size, 1);
    if (!rectangle || socket.destroyed) return;
    told = size;
    write(Buffer.concat([updateHead(1), rectangle]));
  };
  return {
    encodings,
    write,
    update,
    begin: () => {
      const picture = cast.latest();
      if (picture) told = { width: picture.width, height: picture.height };
      return told;
    },
    asked: (whole) => {
      asked = true;
      if (whole) sent = 0;
      update();
    },
    drained: () => {
      blocked = false;
      update();
    },
    resize: async (size) => {
      if (resizing) return;
      resizing = true;
      try {
        await cast.resize(socket, size);
        tellResized(size);
      } catch (err) {
        log.debug({ err: errorMessage(err) }, "page not resized");
      } finally {
        resizing = false;
      }
    },
  };
}
