import type { Duplex } from "node:stream";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { CLIENT, RfbError } from "#shared/protocol/rfb.ts";
import { createRfbInput, type RfbInput } from "./rfb-input.ts";
import { createRfbReader } from "./rfb-reader.ts";
import { createRfbScreen, type RfbScreen } from "./rfb-screen.ts";
import {
  clipboardCaps,
  clipboardRequest,
  ENCODING,
  readCutText,
  type Size,
  serverInit,
  VERSION,
} from "./rfb-wire.ts";
import type { Screencast } from "./screencast.ts";

/** Bounds of the page size that a viewer may request. */
const SIZE = { least: 100, most: 7_680 };

const readSize = (message: Buffer): Size => {
  const fit = (n: number) => Math.min(SIZE.most, Math.max(SIZE.least, n));
  return { width: fit(message.readUInt16BE(2)), height: fit(message.readUInt16BE(4)) };
};

/**
 * An RFB server whose screen is a page (for lanes without a display: rules/viewer#viewer-stream): noVNC sees a VNC server
 * like any other. One viewer.
 */
export function serveRfb(
  socket: Duplex,
  cast: Screencast,
  { clock, log }: { clock: Clock; log: Log },
): void {
  const input = createRfbInput(clock);
  const screen = createRfbScreen(socket, cast, log);
  const read = createRfbReader({
    write: screen.write,
    onInit: () => screen.write(serverInit(screen.begin(), "Flotilla")),
    onMessage: (message) => handle(message, { cast, input, screen }),
  });
  socket.on("data", (chunk: Buffer) => {
    try {
      read(chunk);
    } catch (err) {
      log.debug({ err: errorMessage(err) }, "viewer closed");
      socket.destroy();
    }
  });
  socket.on("drain", screen.drained);
  const stop = cast.watch(screen.update);
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

interface Viewer {
  cast: Screencast;
  input: RfbInput;
  screen: RfbScreen;
}

function handle(message: Buffer, { cast, input, screen }: Viewer): void {
  const page = cast.page();
  switch (message[0]) {
    case CLIENT.set_encodings:
      setEncodings(message, screen);
      break;
    case CLIENT.update_request:
      screen.asked(message[1] === 0);
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
        screen.write(clipboardRequest());
      } else if (cut) input.clipboard(page, cut.text);
      break;
    }
    case CLIENT.set_desktop_size:
      void screen.resize(readSize(message));
      break;
  }
}

/** @throws RfbError for a viewer that could not show anything */
function setEncodings(message: Buffer, { encodings, write }: RfbScreen): void {
  encodings.clear();
  for (let at = 4; at < message.length; at += 4) encodings.add(message.readInt32BE(at));
  if (!encodings.has(ENCODING.tight))
    throw new RfbError("a viewer of a headless lane must understand Tight encoding");
  if (encodings.has(ENCODING.extended_clipboard)) write(clipboardCaps());
}
