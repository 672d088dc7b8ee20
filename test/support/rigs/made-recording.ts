import type { RecordingEvent } from "#shared/recording/events.ts";
import { encodeFrame, encodeJsonFrame, FRAME, framesOf } from "#shared/recording/frames.ts";
import { addToIndex, emptyIndex, type RecordingIndex } from "#shared/recording/index-of.ts";

/** A colour as a test reads it from a canvas. */
export type Colour = readonly [red: number, green: number, blue: number];

interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
  colour: Colour;
}

const RAW = 0;

/** A FramebufferUpdate of plain rectangles in raw encoding, as an RFB server sends it. */
export function plainUpdate(rectangles: readonly Rectangle[]): Uint8Array {
  const parts = rectangles.map(({ x, y, width, height, colour: [red, green, blue] }) => {
    const part = new Uint8Array(12 + width * height * 4);
    const view = new DataView(part.buffer);
    for (const [i, value] of [x, y, width, height].entries()) view.setUint16(i * 2, value);
    view.setInt32(8, RAW);
    for (let at = 12; at < part.length; at += 4) part.set([red, green, blue, 0], at);
    return part;
  });
  const head = new Uint8Array([0, 0, 0, rectangles.length]);
  return new Uint8Array(Buffer.concat([head, ...parts]));
}

const TIGHT = 7;
const TIGHT_JPEG = 0x90;

/** A FramebufferUpdate that is one JPEG picture in Tight encoding, which browsers decode by and by. */
export function jpegUpdate(width: number, height: number, jpeg: Uint8Array): Uint8Array {
  const head = new Uint8Array(16);
  const view = new DataView(head.buffer);
  view.setUint16(2, 1);
  view.setUint16(8, width);
  view.setUint16(10, height);
  view.setInt32(12, TIGHT);
  const { length: n } = jpeg;
  const length = n < 1 << 7 ? [n] : [(n & 127) | 128, n >> 7];
  if (n >= 1 << 14) length.splice(1, 1, ((n >> 7) & 127) | 128, n >> 14);
  return new Uint8Array(Buffer.concat([head, Uint8Array.of(TIGHT_JPEG, ...length), jpeg]));
}

/** A request as a worker notes it. */
export const madeEntry = (url: string, more: object = {}) => ({
  startedDateTime: "2026-11-20T10:00:00.000Z",
  time: 1,
  cache: {},
  pageref: "tab-1",
  request: {
    method: "GET",
    url,
    httpVersion: "HTTP/1.1",
    headers: [],
    cookies: [],
    queryString: [],
    headersSize: -1,
    bodySize: -1,
  },
  response: {
    status: 200,
    statusText: "OK",
    httpVersion: "HTTP/1.1",
    headers: [],
    cookies: [],
    content: { size: 1, mimeType: "text/html" },
    redirectURL: "",
    headersSize: -1,
    bodySize: 1,
  },
  timings: { blocked: -1, dns: -1, connect: -1, ssl: -1, send: 0, wait: 1, receive: 0 },
  ...more,
});

export interface MadeRecording {
  bytes: Uint8Array;
  index: RecordingIndex;
}

/** Writes a recording frame by frame, as a worker does. */
export function makeRecording(width: number, height: number) {
  const frames: Uint8Array[] = [];
  const made = {
    event: (ms: number, event: RecordingEvent) => {
      frames.push(encodeJsonFrame(FRAME.event, ms, event));
      return made;
    },
    request: (ms: number, note: object) => {
      frames.push(encodeJsonFrame(FRAME.request, ms, note));
      return made;
    },
    chunk: (ms: number, why = "length") => {
      frames.push(encodeJsonFrame(FRAME.chunk, ms, { width, height, name: "made", why }));
      return made;
    },
    /** What the screen's server said, in pieces that are cut anywhere. */
    screen: (ms: number, said: Uint8Array, pieces = 1) => {
      const size = Math.ceil(said.length / pieces);
      for (let at = 0; at < said.length; at += size)
        frames.push(encodeFrame(FRAME.rfb, ms, said.subarray(at, at + size)));
      return made;
    },
    /** The whole screen in one colour. */
    plain: (ms: number, colour: Colour) =>
      made.screen(ms, plainUpdate([{ x: 0, y: 0, width, height, colour }]), 3),
    end: (ms: number, why = "ended") => {
      frames.push(encodeJsonFrame(FRAME.end, ms, { why }));
      return made;
    },
    done: (): MadeRecording => {
      const bytes = new Uint8Array(Buffer.concat(frames));
      const index = emptyIndex();
      for (const frame of framesOf(bytes)) addToIndex(index, frame);
      return { bytes, index };
    },
  };
  return made;
}
