import { deflateSync } from "node:zlib";

/** PNG files as they are written, with rows of samples that the test gives. */

export interface MadePng {
  width: number;
  height: number;
  bits?: number;
  colour?: number;
  interlaced?: number;
  /** The bytes of row `y`, unfiltered, and the filter that it is written with. */
  row: (y: number) => ArrayLike<number>;
  filter?: (y: number) => number;
  /** Chunks before the rows. */
  more?: Record<string, number[]>;
  /** Instead of the rows. */
  packed?: Uint8Array;
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

function chunk(type: string, data: ArrayLike<number>): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), Uint8Array.from(data)]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(Bun.hash.crc32(body), body.length + 4);
  return out;
}

/** What stands for a byte with its neighbours left, above and above to the left. */
const FORETOLD: ((a: number, b: number, c: number) => number)[] = [
  () => 0,
  (a) => a,
  (_, b) => b,
  (a, b) => Math.floor((a + b) / 2),
  (a, b, c) => {
    const p = a + b - c;
    const near = [a, b, c].map((n) => Math.abs(p - n));
    return [a, b, c][near.indexOf(Math.min(...near))] ?? 0;
  },
];

const CHANNELS: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

export function madePng(of: MadePng): Buffer {
  const { width, height, bits = 8, colour = 2, interlaced = 0, filter = () => 0 } = of;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bits, colour, 0, 0, interlaced], 8);
  const step = Math.max(1, ((CHANNELS[colour] ?? 1) * bits) / 8);
  let above: number[] = [];
  const rows = Array.from({ length: of.packed ? 0 : height }, (_, y) => {
    const row = [...Array.from(of.row(y))];
    const kind = filter(y);
    const filtered = row.map((byte, i) => {
      const [a, b, c] = [row[i - step] ?? 0, above[i] ?? 0, above[i - step] ?? 0];
      return byte - (FORETOLD[kind]?.(a, b, c) ?? 0);
    });
    above = row;
    return Uint8Array.from([kind, ...filtered]);
  });
  const packed = of.packed ?? deflateSync(Buffer.concat(rows));
  const half = Math.floor(packed.length / 2);
  return Buffer.concat([
    Uint8Array.from(SIGNATURE),
    chunk("IHDR", header),
    ...Object.entries(of.more ?? {}).map(([type, data]) => chunk(type, data)),
    // Encoders write as many of them as they like.
    chunk("IDAT", packed.subarray(0, half)),
    chunk("IDAT", packed.subarray(half)),
    chunk("IEND", []),
  ]);
}

/** An RGB picture in which `paint` gives each pixel. */
export const painted = (
  width: number,
  height: number,
  paint: (x: number, y: number) => readonly [number, number, number],
): Buffer =>
  madePng({
    width,
    height,
    row: (y) => Array.from({ length: width }, (_, x) => paint(x, y)).flat(),
  });
