import type { ByteReader } from "./byte-reader.ts";
import { type Inflater, openInflater } from "./inflate.ts";
import { jpegPixels } from "./jpeg.ts";
import { type Picture, PictureError, putColours, putRows, type Rectangle } from "./picture.ts";

/** Rectangles in Tight encoding, whose four zlib streams go through a whole chunk. */
export interface TightDecoder {
  draw(to: Picture, rectangle: Rectangle): Promise<void>;
  close(): void;
}

const FILL = 8;
const JPEG = 9;
const WITH_FILTER = 0x40;
const COPY = 0;
const PALETTE = 1;
/** What is smaller is not compressed, and has no length. */
const SMALLEST_COMPRESSED = 12;
const STREAMS = 4;

export function createTightDecoder(reader: ByteReader): TightDecoder {
  const streams: (Inflater | null)[] = Array.from({ length: STREAMS }, () => null);
  const reset = (i: number) => {
    streams[i]?.close();
    streams[i] = null;
  };
  const plain = async (size: number, stream: number): Promise<Uint8Array> => {
    if (size < SMALLEST_COMPRESSED) return reader.take(size);
    const packed = await reader.take(await compactLength(reader));
    const inflater = streams[stream] ?? openInflater();
    streams[stream] = inflater;
    return inflater.take(packed, size);
  };
  const drawFiltered = async (to: Picture, rectangle: Rectangle, control: number) => {
    const { width, height } = rectangle;
    const stream = (control >> 4) & 3;
    const filter = control & WITH_FILTER ? await reader.u8() : COPY;
    if (filter === COPY) {
      const colours = await plain(width * height * 3, stream);
      return putColours(to, rectangle, colours, (x, y) => (y * width + x) * 3);
    }
    if (filter !== PALETTE) throw new PictureError(`the filter ${filter} is not known`);
    const colours = (await reader.u8()) + 1;
    const palette = await reader.take(colours * 3);
    if (colours > 2) {
      const indexes = await plain(width * height, stream);
      return putColours(to, rectangle, palette, (x, y) => (indexes[y * width + x] as number) * 3);
    }
    const row = Math.ceil(width / 8);
    const bits = await plain(row * height, stream);
    putColours(to, rectangle, palette, (x, y) => {
      const byte = bits[y * row + (x >> 3)] as number;
      return ((byte >> (7 - (x & 7))) & 1) * 3;
    });
  };
  return {
    draw: async (to, rectangle) => {
      const control = await reader.u8();
      for (let i = 0; i < STREAMS; i += 1) if (control & (1 << i)) reset(i);
      const kind = control >> 4;
      if (kind === FILL) return putColours(to, rectangle, await reader.take(3), () => 0);
      if (kind < FILL) return drawFiltered(to, rectangle, control);
      if (kind !== JPEG) throw new PictureError(`the compression ${kind} is not known`);
      const jpeg = await reader.take(await compactLength(reader));
      putRows(to, rectangle, await jpegPixels(jpeg, rectangle.width, rectangle.height));
    },
    close: () => streams.forEach((_, i) => void reset(i)),
  };
}

/** A length of one to three bytes, the lowest first. */
async function compactLength(reader: ByteReader): Promise<number> {
  const first = await reader.u8();
  if (first < 0x80) return first;
  const second = await reader.u8();
  const two = (first & 0x7f) | ((second & 0x7f) << 7);
  return second < 0x80 ? two : two | ((await reader.u8()) << 14);
}
