import { createInflate } from "node:zlib";
import { through } from "#shared/archive/streams.ts";
import {
  COLOURS,
  GRAY,
  GRAY_ALPHA,
  PALETTE,
  PictureError,
  type PngFile,
  type PngHead,
  RGB,
} from "./png-file.ts";

const INFLATED_BYTES = 64 * 1024;
const WHITE = 255;

/** A number of the file that each row begins with: how the row was made smaller. */
const [NONE, SUB, UP, AVERAGE, PAETH] = [0, 1, 2, 3, 4];

/** The neighbour that is nearest to what the three together foretell. */
function paeth(left: number, above: number, corner: number): number {
  const foretold = left + above - corner;
  const to_left = Math.abs(foretold - left);
  const to_above = Math.abs(foretold - above);
  const to_corner = Math.abs(foretold - corner);
  if (to_left <= to_above && to_left <= to_corner) return left;
  return to_above <= to_corner ? above : corner;
}

/** Turns the differences of a row back into its samples, in place. `step`: bytes of a pixel, at least 1. */
function unfilter(kind: number, row: Uint8Array, above: Uint8Array, step: number): void {
  const at = (of: Uint8Array, i: number): number => of[i] ?? 0;
  const { length } = row;
  if (kind === SUB) for (let i = step; i < length; i += 1) row[i] = at(row, i) + at(row, i - step);
  else if (kind === UP) for (let i = 0; i < length; i += 1) row[i] = at(row, i) + at(above, i);
  else if (kind === AVERAGE)
    for (let i = 0; i < length; i += 1)
      row[i] = at(row, i) + ((at(row, i - step) + at(above, i)) >> 1);
  else if (kind === PAETH)
    for (let i = 0; i < length; i += 1)
      row[i] = at(row, i) + paeth(at(row, i - step), at(above, i), at(above, i - step));
  else if (kind !== NONE) throw new PictureError("is damaged");
}

/** One byte for each sample: of 16 bits the upper ones, of fewer than 8 the number itself. */
function samplesOf({ bits }: PngHead, row: Uint8Array, out: Uint8Array): Uint8Array {
  if (bits === 8) return row;
  if (bits === 16) {
    for (let i = 0; i < out.length; i += 1) out[i] = row[2 * i] ?? 0;
    return out;
  }
  const each = 8 / bits;
  const mask = (1 << bits) - 1;
  for (let i = 0; i < out.length; i += 1)
    out[i] = ((row[Math.floor(i / each)] ?? 0) >> (8 - bits * ((i % each) + 1))) & mask;
  return out;
}

const onWhite = (value: number, opacity: number): number =>
  Math.round((value * opacity + WHITE * (WHITE - opacity)) / WHITE);

/** Red, green and blue of each value that a sample of a palette, or a gray one, can have. */
function coloursOf({ colour, bits, palette, opacity }: PngHead): Uint8Array {
  const brightest = bits > 8 ? WHITE : (1 << bits) - 1;
  return Uint8Array.from({ length: 3 * 256 }, (_, i) => {
    const value = Math.floor(i / 3);
    if (colour !== PALETTE) return Math.min(WHITE, (value * WHITE) / brightest);
    return onWhite(palette[i] ?? 0, opacity[value] ?? WHITE);
  });
}

/** What turns the samples of a row into red, green and blue on white, in one array that every row is written to. */
function painter(head: PngHead): (samples: Uint8Array) => Uint8Array {
  const { width, colour } = head;
  if (colour === RGB) return (samples) => samples;
  const out = new Uint8Array(width * 3);
  if (colour === GRAY || colour === PALETTE) {
    const colours = coloursOf(head);
    return (samples) => {
      for (let i = 0; i < out.length; i += 1)
        out[i] = colours[(samples[Math.floor(i / 3)] ?? 0) * 3 + (i % 3)] ?? 0;
      return out;
    };
  }
  const { channels } = COLOURS[colour];
  // Gray has one sample for all three.
  const next = colour === GRAY_ALPHA ? 0 : 1;
  return (samples) => {
    for (let x = 0; x < width; x += 1) {
      const from = x * channels;
      const opacity = samples[from + channels - 1] ?? 0;
      for (let c = 0; c < 3; c += 1) {
        const value = samples[from + c * next] ?? 0;
        out[x * 3 + c] = opacity === WHITE ? value : onWhite(value, opacity);
      }
    }
    return out;
  };
}

async function* inflated(packed: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* through(packed, createInflate({ chunkSize: INFLATED_BYTES }));
  } catch (err) {
    const { code } = err as { code?: unknown };
    if (String(code).startsWith("Z_")) throw new PictureError("is damaged", { cause: err });
    throw err;
  }
}

/**
 * The rows of a picture from its top, each as red, green and blue of its pixels, on white where it is transparent. One
 * row is good until the next is asked for, and two are in memory. What the file has beyond them is not read.
 * @throws PictureError for a file that is damaged
 */
export async function* pngRows(file: PngFile): AsyncGenerator<Uint8Array> {
  const { width, height, bits, colour } = file;
  const samples = width * COLOURS[colour].channels;
  const length = Math.ceil((samples * bits) / 8);
  const step = Math.max(1, (COLOURS[colour].channels * bits) / 8);
  const paint = painter(file);
  const unpacked = new Uint8Array(samples);
  let row = new Uint8Array(length + 1);
  let above = new Uint8Array(length + 1);
  let filled = 0;
  let rows = 0;
  for await (const chunk of inflated(file.packed))
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + row.length - filled);
      row.set(part, filled);
      at += part.length;
      filled += part.length;
      if (filled < row.length) continue;
      const line = row.subarray(1);
      unfilter(row[0] ?? NONE, line, above.subarray(1), step);
      yield paint(samplesOf(file, line, unpacked));
      rows += 1;
      if (rows === height) return;
      [row, above, filled] = [above, row, 0];
    }
  throw new PictureError("ends too early");
}
