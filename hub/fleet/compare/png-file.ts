import type { Chunks } from "#shared/archive/streams.ts";
import { COMPARISON_LIMITS } from "#shared/protocol/limits.ts";

/** Why a picture cannot be compared. */
export class PictureError extends Error {
  override readonly name = "PictureError";
}

/** What the head of a PNG file says of its rows. */
export interface PngHead {
  width: number;
  height: number;
  /** Of a sample: 1, 2, 4, 8 or 16. */
  bits: number;
  colour: Colour;
  /** Red, green and blue of each colour of the palette; empty without one. */
  palette: Uint8Array;
  /** The opacity of its first colours. */
  opacity: Uint8Array;
}

export const GRAY = 0;
export const RGB = 2;
export const PALETTE = 3;
export const GRAY_ALPHA = 4;
const RGBA = 6;
/** The samples of a pixel, and the bits that a sample may have. */
export const COLOURS = {
  [GRAY]: { channels: 1, bits: [1, 2, 4, 8, 16] },
  [RGB]: { channels: 3, bits: [8, 16] },
  [PALETTE]: { channels: 1, bits: [1, 2, 4, 8] },
  [GRAY_ALPHA]: { channels: 2, bits: [8, 16] },
  [RGBA]: { channels: 4, bits: [8, 16] },
} as const;
type Colour = keyof typeof COLOURS;

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const HEADER_BYTES = 13;
const PALETTE_BYTES = 768;
const OPACITY_BYTES = 256;
/** A few bytes can hold a thousand times as much: no more is decompressed before somebody has read it. */
const PIECE_BYTES = 16 * 1024;

/** Reads a file from its begin to its end, as far as one may have bytes. */
class Bytes {
  #source: AsyncIterator<Uint8Array>;
  #held: Uint8Array = new Uint8Array();
  #left: number = COMPARISON_LIMITS.picture_bytes;
  constructor(chunks: Chunks) {
    this.#source = chunks[Symbol.asyncIterator]();
  }
  /** What comes next, `most` bytes or fewer, and at least one. */
  async piece(most: number): Promise<Uint8Array> {
    while (this.#held.length === 0) {
      const { done, value } = await this.#source.next();
      if (done) throw new PictureError("ends too early");
      this.#left -= value.length;
      if (this.#left < 0)
        throw new PictureError(`has more than ${COMPARISON_LIMITS.picture_bytes} bytes`);
      this.#held = value;
    }
    const piece = this.#held.subarray(0, most);
    this.#held = this.#held.subarray(piece.length);
    return piece;
  }
  async take(length: number): Promise<Buffer> {
    const taken = Buffer.alloc(length);
    for (let at = 0; at < length; ) {
      const piece = await this.piece(length - at);
      taken.set(piece, at);
      at += piece.length;
    }
    return taken;
  }
  async skip(length: number): Promise<void> {
    for (let left = length; left > 0; ) left -= (await this.piece(left)).length;
  }
  async close(): Promise<void> {
    await this.#source.return?.();
  }
}

/** A PNG file that has been read up to its rows. */
export interface PngFile extends PngHead {
  /** The rows, compressed. */
  packed: AsyncGenerator<Uint8Array>;
  close(): Promise<void>;
}

function headOf(header: Buffer): PngHead {
  const width = header.readUInt32BE(0);
  const height = header.readUInt32BE(4);
  const [bits = 0, colour = 0, compression, filter, interlaced] = header.subarray(8);
  if (width === 0 || height === 0) throw new PictureError("has no pixels");
  const { picture_side, picture_pixels } = COMPARISON_LIMITS;
  if (Math.max(width, height) > picture_side)
    throw new PictureError(`is longer than ${picture_side} pixels`);
  if (width * height > picture_pixels)
    throw new PictureError(`has more than ${picture_pixels} pixels`);
  if (interlaced === 1) throw new PictureError("is interlaced");
  const known: readonly number[] = isColour(colour) ? COLOURS[colour].bits : [];
  if (!isColour(colour) || !known.includes(bits) || compression !== 0 || filter !== 0)
    throw new PictureError("is not a PNG file as they should be");
  const none = new Uint8Array();
  return { width, height, bits, colour, palette: none, opacity: none };
}

const isColour = (n: number): n is Colour => n in COLOURS;

/** The length of the next chunk of the file, and its type. */
async function chunkOf(bytes: Bytes): Promise<{ length: number; type: string }> {
  const start = await bytes.take(8);
  return { length: start.readUInt32BE(0), type: start.toString("latin1", 4) };
}

const CRC_BYTES = 4;

async function* rowsFrom(bytes: Bytes, first: number): AsyncGenerator<Uint8Array> {
  let chunk = { length: first, type: "IDAT" };
  while (chunk.type === "IDAT") {
    for (let left = chunk.length; left > 0; ) {
      const piece = await bytes.piece(Math.min(left, PIECE_BYTES));
      left -= piece.length;
      yield piece;
    }
    await bytes.skip(CRC_BYTES);
    chunk = await chunkOf(bytes);
  }
}

async function readHead(bytes: Bytes): Promise<Omit<PngFile, "close">> {
  if (!(await bytes.take(SIGNATURE.length)).equals(SIGNATURE))
    throw new PictureError("is not a PNG file");
  const first = await chunkOf(bytes);
  if (first.type !== "IHDR" || first.length !== HEADER_BYTES)
    throw new PictureError("is not a PNG file as they should be");
  const head = headOf(await bytes.take(HEADER_BYTES));
  await bytes.skip(CRC_BYTES);
  for (;;) {
    const { length, type } = await chunkOf(bytes);
    if (type === "IDAT") return { ...head, packed: rowsFrom(bytes, length) };
    if (type === "PLTE" && length <= PALETTE_BYTES) head.palette = await bytes.take(length);
    else if (type === "tRNS" && length <= OPACITY_BYTES) head.opacity = await bytes.take(length);
    else await bytes.skip(length);
    await bytes.skip(CRC_BYTES);
  }
}

/**
 * Reads a PNG file up to its rows. Pictures come from lanes, so what the head announces is held against the limits
 * before anything is decompressed (rules/comparison#limits).
 * @throws PictureError; the source has been closed then
 */
export async function openPng(chunks: Chunks): Promise<PngFile> {
  const bytes = new Bytes(chunks);
  try {
    return { ...(await readHead(bytes)), close: () => bytes.close() };
  } catch (err) {
    await bytes.close();
    throw err;
  }
}
