import { EXTENDED_DESKTOP_SIZE, RfbError } from "#shared/protocol/rfb.ts";

/** What a recorder asks of an RFB server, and where the messages of its answers end (RFC 6143 and Tight). */

export interface ScreenSize {
  width: number;
  height: number;
}

/** One FramebufferUpdate, as it came. */
export interface ScreenUpdate {
  bytes: Buffer;
  /** The size that the screen has from now on, where the update names one. */
  size: ScreenSize | null;
  /** Whether it draws anything: a server may answer with its size alone. */
  draws: boolean;
}

const RAW = 0;
const COPY = 1;
const TIGHT = 7;
const DESKTOP_SIZE = -223;
/**
 * The highest level of JPEG, which TigerVNC takes for one without loss: below it, it sends everything once more without
 * loss, for a minute and a half and as much again. The fine quality, which it honours before the level, is a medium one.
 */
const JPEG_LEVEL = -32 + 9;
const JPEG_QUALITY = -512 + 70;
const JPEG_SUBSAMPLING = -766;
/** Little work for the rest. */
const COMPRESSION = -256 + 2;
const ENCODINGS = [
  TIGHT,
  COPY,
  RAW,
  EXTENDED_DESKTOP_SIZE,
  DESKTOP_SIZE,
  JPEG_LEVEL,
  JPEG_QUALITY,
  JPEG_SUBSAMPLING,
  COMPRESSION,
];
/** A whole screen of raw pixels, four bytes each, and more. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** Says what the recorder understands, with the pixels that `shared/recording` promises. No cursor: the server draws it. */
export function setUp(): Buffer {
  const format = Buffer.from([0, 0, 0, 0, 32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 0, 8, 16, 0, 0, 0]);
  const encodings = Buffer.alloc(4 + 4 * ENCODINGS.length);
  encodings[0] = 2;
  encodings.writeUInt16BE(ENCODINGS.length, 2);
  for (const [i, encoding] of ENCODINGS.entries()) encodings.writeInt32BE(encoding, 4 + 4 * i);
  return Buffer.concat([format, encodings]);
}

/** Asks for what has changed, or for all of the screen. */
export function askForUpdate({ width, height }: ScreenSize, whole: boolean): Buffer {
  const ask = Buffer.from([3, whole ? 0 : 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  ask.writeUInt16BE(width, 6);
  ask.writeUInt16BE(height, 8);
  return ask;
}

/** A ServerInit, with what follows it; null while it is incomplete. */
export function readServerInit(
  all: Buffer,
): { size: ScreenSize; name: string; rest: Buffer } | null {
  if (all.length < 24) return null;
  const end = 24 + all.readUInt32BE(20);
  if (end > 4_096) throw new RfbError("the server's name is too long");
  if (all.length < end) return null;
  const size = { width: all.readUInt16BE(0), height: all.readUInt16BE(2) };
  return { size, name: all.toString("utf8", 24, end), rest: all.subarray(end) };
}

/**
 * Returns the function that takes what a server sends after its ServerInit, cut anywhere, and gives the updates that became
 * complete. Everything else is dropped: the clipboard of a lane is nobody's to keep. @throws RfbError
 */
export function createUpdateReader(): (chunk: Buffer) => ScreenUpdate[] {
  /** Begins with a message. */
  let kept: Buffer = Buffer.alloc(0);
  /** Of an update that has begun: rectangles to come, and where the next one begins. */
  let open: (Pick<ScreenUpdate, "size" | "draws"> & { left: number; at: number }) | null = null;

  /** Reads on; null when the rest of the message is still to come. */
  const next = (): ScreenUpdate | "other" | null => {
    if (open === null && kept[0] !== 0) {
      const length = otherLength(kept);
      if (length === null || kept.length < length) return null;
      kept = kept.subarray(length);
      return "other";
    }
    if (open === null && kept.length < 4) return null;
    open ??= { left: kept.readUInt16BE(2), at: 4, size: null, draws: false };
    for (; open.left > 0; open.left -= 1) {
      const length = rectangleLength(kept, open.at);
      if (length === null || kept.length < open.at + length) return null;
      const size = sizeOf(kept, open.at);
      open.size = size ?? open.size;
      open.draws ||= size === null;
      open.at += length;
    }
    const update = { bytes: kept.subarray(0, open.at), size: open.size, draws: open.draws };
    kept = kept.subarray(open.at);
    open = null;
    return update;
  };
  return (chunk) => {
    kept = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
    if (kept.length > MAX_MESSAGE_BYTES) throw new RfbError("the server's message is too long");
    const updates: ScreenUpdate[] = [];
    for (let part = next(); part !== null; part = next()) if (part !== "other") updates.push(part);
    return updates;
  };
}

/** Length of a message that is no update; null while it is unknown. */
function otherLength(head: Buffer): number | null {
  const [type] = head;
  if (type === undefined) return null;
  // Colours, a bell, and the clipboard, whose length is negative in its extended form.
  if (type === 1) return head.length < 6 ? null : 6 + 6 * head.readUInt16BE(4);
  if (type === 2) return 1;
  if (type === 3) return head.length < 8 ? null : 8 + Math.abs(head.readInt32BE(4));
  throw new RfbError(`unknown message ${type} of the server`);
}

/** The size that a rectangle tells, where it is one that tells a size; it is there as a whole. */
function sizeOf(bytes: Buffer, at: number): ScreenSize | null {
  const encoding = bytes.readInt32BE(at + 8);
  if (encoding !== EXTENDED_DESKTOP_SIZE && encoding !== DESKTOP_SIZE) return null;
  return { width: bytes.readUInt16BE(at + 4), height: bytes.readUInt16BE(at + 6) };
}

/** Length of the rectangle that begins at `at`; null while it is unknown. */
function rectangleLength(bytes: Buffer, at: number): number | null {
  if (bytes.length < at + 12) return null;
  const width = bytes.readUInt16BE(at + 4);
  const height = bytes.readUInt16BE(at + 6);
  const encoding = bytes.readInt32BE(at + 8);
  if (encoding === RAW) return 12 + 4 * width * height;
  if (encoding === COPY) return 16;
  if (encoding === DESKTOP_SIZE) return 12;
  if (encoding === EXTENDED_DESKTOP_SIZE) {
    const screens = bytes[at + 12];
    return screens === undefined ? null : 16 + 16 * screens;
  }
  if (encoding !== TIGHT) throw new RfbError(`unknown encoding ${encoding}`);
  const length = tightLength(bytes, at + 12, width, height);
  return length === null ? null : 12 + length;
}

const FILL = 8;
const JPEG = 9;
const WITH_FILTER = 0x40;
const PALETTE = 1;
/** What is smaller is not compressed, and has no length. */
const SMALLEST_COMPRESSED = 12;

function tightLength(bytes: Buffer, at: number, width: number, height: number): number | null {
  const control = bytes[at];
  if (control === undefined) return null;
  const kind = control >> 4;
  if (kind === FILL) return 4;
  if (kind === JPEG) return compactLength(bytes, at, at + 1);
  if (kind > JPEG) throw new RfbError(`unknown compression ${kind}`);
  let data = at + 1;
  let row = 3 * width;
  if (control & WITH_FILTER) {
    const filter = bytes[data];
    data += 1;
    const last_colour = bytes[data];
    if (filter === undefined || last_colour === undefined) return null;
    if (filter === PALETTE) {
      data += 1 + 3 * (last_colour + 1);
      row = last_colour === 1 ? Math.ceil(width / 8) : width;
    }
  }
  const plain = row * height;
  return plain < SMALLEST_COMPRESSED ? data - at + plain : compactLength(bytes, at, data);
}

/** From `from` to the end of the data, whose length of one to three bytes stands at `at`. */
function compactLength(bytes: Buffer, from: number, at: number): number | null {
  let length = 0;
  for (let i = 0; i < 3; i += 1) {
    const byte = bytes[at + i];
    if (byte === undefined) return null;
    length |= (i === 2 ? byte : byte & 0x7f) << (7 * i);
    if (i === 2 || byte < 0x80) return at + i + 1 - from + length;
  }
  return null;
}
