import { constants, inflateSync } from "node:zlib";
import { EXTENDED_DESKTOP_SIZE } from "#shared/protocol/rfb.ts";

/** Messages of an RFB server, as bytes (RFC 6143, sections 7.6 and 7.7). */

export const VERSION = Buffer.from("RFB 003.008\n", "latin1");
/** One security type: None. The bridge's token guards access. */
export const SECURITY_TYPES = Buffer.from([1, 1]);
export const SECURITY_OK = Buffer.alloc(4);

export const ENCODING = {
  tight: 7,
  cursor: -239,
  extended_desktop_size: EXTENDED_DESKTOP_SIZE,
  desktop_size: -223,
  extended_clipboard: 0xc0a1e5ce | 0,
} as const;

export interface Size {
  width: number;
  height: number;
}

/** 32 bits per pixel, red in the lowest byte: the format that noVNC requests anyway. */
const PIXEL_FORMAT = Buffer.from([32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 0, 8, 16, 0, 0, 0]);

export function serverInit({ width, height }: Size, name: string): Buffer {
  const text = Buffer.from(name);
  const head = Buffer.alloc(4);
  head.writeUInt16BE(width, 0);
  head.writeUInt16BE(height, 2);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length, 0);
  return Buffer.concat([head, PIXEL_FORMAT, length, text]);
}

export const updateHead = (rectangles: number): Buffer =>
  Buffer.from([0, 0, rectangles >> 8, rectangles & 255]);

function rectangle(x: number, y: number, { width, height }: Size, encoding: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt16BE(x, 0);
  bytes.writeUInt16BE(y, 2);
  bytes.writeUInt16BE(width, 4);
  bytes.writeUInt16BE(height, 6);
  bytes.writeInt32BE(encoding, 8);
  return bytes;
}

/** Tight's lengths have three bytes of 7, 7 and 8 bits. */
export const MAX_JPEG_BYTES = 2 ** 22 - 1;
const JPEG = 0x90;

/** The whole screen as one JPEG in Tight encoding; the image itself follows. */
export function jpegRectangle(size: Size, bytes: number): Buffer {
  const control = Buffer.from([
    JPEG,
    (bytes & 0x7f) | 0x80,
    ((bytes >> 7) & 0x7f) | 0x80,
    bytes >> 14,
  ]);
  return Buffer.concat([rectangle(0, 0, size, ENCODING.tight), control]);
}

/** `reason`: 0 the screen changed by itself, 1 this client asked for it. */
export function sizeRectangle(size: Size, reason: 0 | 1): Buffer {
  const screen = Buffer.alloc(20);
  screen[0] = 1;
  screen.writeUInt16BE(size.width, 12);
  screen.writeUInt16BE(size.height, 14);
  return Buffer.concat([rectangle(reason, 0, size, ENCODING.extended_desktop_size), screen]);
}

export const plainSizeRectangle = (size: Size): Buffer =>
  rectangle(0, 0, size, ENCODING.desktop_size);

/** A screencast shows no pointer, and noVNC hides its own until it receives one. `#` black, `.` white. */
const ARROW = [
  "#           ",
  "##          ",
  "#.#         ",
  "#..#        ",
  "#...#       ",
  "#....#      ",
  "#.....#     ",
  "#......#    ",
  "#.......#   ",
  "#........#  ",
  "#.....##### ",
  "#..#..#     ",
  "#.# #..#    ",
  "##  #..#    ",
  "#    #..#   ",
  "     #..#   ",
  "      ##    ",
];

/** Black and white are the same in every true-colour format. */
export function cursorRectangle(): Buffer {
  const size = { width: ARROW[0]?.length ?? 0, height: ARROW.length };
  const row = Math.ceil(size.width / 8);
  const pixels = Buffer.alloc(size.width * size.height * 4);
  const mask = Buffer.alloc(row * size.height);
  for (const [y, line] of ARROW.entries())
    for (const [x, dot] of [...line].entries()) {
      if (dot === " ") continue;
      const at = y * row + (x >> 3);
      mask[at] = (mask[at] as number) | (0x80 >> (x & 7));
      if (dot === ".") pixels.fill(255, (y * size.width + x) * 4, (y * size.width + x) * 4 + 4);
    }
  return Buffer.concat([rectangle(0, 0, size, ENCODING.cursor), pixels, mask]);
}

/** The extended clipboard: UTF-8 text, offered, requested and sent. */
const CLIPBOARD = { text: 1, caps: 1 << 24, request: 1 << 25, notify: 1 << 27, provide: 1 << 28 };

function cutText(flags: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head[0] = 3;
  head.writeInt32BE(-(4 + data.length), 4);
  head.writeInt32BE(flags, 8);
  return Buffer.concat([head, data]);
}

/** Announces support for text notifications and transfers. */
export const clipboardCaps = (): Buffer =>
  cutText(
    CLIPBOARD.text | CLIPBOARD.caps | CLIPBOARD.request | CLIPBOARD.notify | CLIPBOARD.provide,
    Buffer.alloc(4),
  );
export const clipboardRequest = (): Buffer =>
  cutText(CLIPBOARD.text | CLIPBOARD.request, Buffer.alloc(0));

/** Limit of text that a page gets at once. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;

/**
 * A ClientCutText: its text; `coming` when the viewer says that it has some; null for anything else.
 * @throws when the compressed text is broken or too long.
 */
export function readCutText(message: Buffer): { text: string } | "coming" | null {
  const length = message.readInt32BE(4);
  if (length >= 0) return { text: message.toString("latin1", 8) };
  if (message.length < 12) return null;
  const flags = message.readInt32BE(8);
  if ((flags & CLIPBOARD.text) === 0) return null;
  if (flags & CLIPBOARD.notify) return "coming";
  if ((flags & CLIPBOARD.provide) === 0) return null;
  const data = inflateSync(message.subarray(12), {
    maxOutputLength: MAX_TEXT_BYTES,
    // Viewers flush their stream but do not end it.
    finishFlush: constants.Z_SYNC_FLUSH,
  });
  const text = data.toString("utf8", 4, 4 + data.readUInt32BE(0)).replace(/\0$/, "");
  return { text: text.replaceAll("\r\n", "\n") };
}
