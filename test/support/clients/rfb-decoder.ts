import { constants, createInflate } from "node:zlib";

/** Draws what a VNC server sent (RFC 6143 and Tight), except for the pixels of JPEGs, which stay `null`. */
export interface Canvas {
  width: number;
  height: number;
  /** The bytes end within an update. */
  torn: boolean;
  /** Share of the screen that was drawn at least once. */
  drawn(): number;
  /** `[r, g, b]` of what was drawn there last; null where it was a JPEG, or nothing. */
  at(x: number, y: number): number[] | null;
}

interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

const UNTOUCHED = 0;
const PLAIN = 1;
const PICTURE = 2;

function inflater() {
  const stream = createInflate();
  let out: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => out.push(chunk));
  return (bytes: Uint8Array): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      stream.once("error", reject);
      stream.write(bytes, () =>
        stream.flush(constants.Z_SYNC_FLUSH, () => {
          stream.off("error", reject);
          const all = Buffer.concat(out);
          out = [];
          resolve(all);
        }),
      );
    });
}

class TornError extends Error {}

/** @throws where the bytes are not updates, whole ones but for the last if that may be `torn`, or draw outside the screen */
export async function drawUpdates(
  bytes: Buffer,
  { width, height, torn = false }: { width: number; height: number; torn?: boolean },
): Promise<Canvas> {
  const pixels = new Uint8Array(width * height * 3);
  const state = new Uint8Array(width * height);
  const streams = [inflater(), inflater(), inflater(), inflater()];
  let at = 0;
  const take = (count: number): Buffer => {
    if (at + count > bytes.length) throw new TornError(`the update ends at byte ${bytes.length}`);
    at += count;
    return bytes.subarray(at - count, at);
  };
  const compact = (): number => {
    let length = 0;
    for (let i = 0; i < 3; i += 1) {
      const byte = take(1)[0] as number;
      length |= (i === 2 ? byte : byte & 0x7f) << (7 * i);
      if (byte < 0x80) break;
    }
    return length;
  };
  const put = ({ x, y, w, h }: Rect, colour: (i: number) => Uint8Array | null) => {
    if (x + w > width || y + h > height) throw new Error("drawn outside the screen");
    for (let row = 0; row < h; row += 1)
      for (let column = 0; column < w; column += 1) {
        const to = (y + row) * width + x + column;
        const rgb = colour(row * w + column);
        state[to] = rgb ? PLAIN : PICTURE;
        if (rgb) pixels.set(rgb, to * 3);
      }
  };
  const data = async (size: number, stream: number): Promise<Buffer> => {
    if (size < 12) return take(size);
    const plain = await (streams[stream] as ReturnType<typeof inflater>)(take(compact()));
    if (plain.length !== size) throw new Error(`inflated to ${plain.length} instead of ${size}`);
    return plain;
  };
  const tight = async (rect: Rect) => {
    const control = take(1)[0] as number;
    for (let i = 0; i < 4; i += 1) if (control & (1 << i)) streams[i] = inflater();
    const kind = control >> 4;
    if (kind === 8) {
      const fill = Uint8Array.from(take(3));
      return put(rect, () => fill);
    }
    if (kind === 9) {
      const jpeg = take(compact());
      if (jpeg.readUInt16BE(0) !== 0xffd8) throw new Error("a JPEG that is none");
      return put(rect, () => null);
    }
    const filter = control & 0x40 ? (take(1)[0] as number) : 0;
    const stream = (control >> 4) & 3;
    if (filter === 1) {
      const colours = (take(1)[0] as number) + 1;
      const palette = Uint8Array.from(take(colours * 3));
      const row = colours === 2 ? Math.ceil(rect.w / 8) : rect.w;
      const indexed = await data(row * rect.h, stream);
      return put(rect, (i) => {
        const [x, y] = [i % rect.w, Math.floor(i / rect.w)];
        const byte = indexed[colours === 2 ? y * row + (x >> 3) : i] as number;
        const index = colours === 2 ? (byte >> (7 - (x & 7))) & 1 : byte;
        return palette.subarray(index * 3, index * 3 + 3);
      });
    }
    const raw = await data(rect.w * rect.h * 3, stream);
    put(rect, filter === 2 ? () => null : (i) => raw.subarray(i * 3, i * 3 + 3));
  };
  const copy = ({ x, y, w, h }: Rect) => {
    const [from_x, from_y] = [take(2).readUInt16BE(0), take(2).readUInt16BE(0)];
    const before = pixels.slice();
    const kinds = state.slice();
    put({ x, y, w, h }, (i) => {
      const from = (from_y + Math.floor(i / w)) * width + from_x + (i % w);
      return kinds[from] === PLAIN ? before.subarray(from * 3, from * 3 + 3) : null;
    });
  };
  const update = async () => {
    if (take(4)[0] !== 0) throw new Error("no update");
    for (let left = bytes.readUInt16BE(at - 2); left > 0; left -= 1) {
      const head = take(12);
      const [x = 0, y = 0, w = 0, h = 0] = [0, 2, 4, 6].map((i) => head.readUInt16BE(i));
      const encoding = head.readInt32BE(8);
      if (encoding === 7) await tight({ x, y, w, h });
      else if (encoding === 1) copy({ x, y, w, h });
      else if (encoding === -308) take(4 + 16 * (bytes[at] as number));
      else if (encoding === 0) {
        const raw = take(w * h * 4);
        put({ x, y, w, h }, (i) => raw.subarray(i * 4, i * 4 + 3));
      } else throw new Error(`encoding ${encoding}`);
    }
  };
  let is_torn = false;
  while (at < bytes.length && !is_torn)
    await update().catch((err) => {
      is_torn = torn && err instanceof TornError;
      if (!is_torn) throw err;
    });
  return {
    width,
    height,
    torn: is_torn,
    drawn: () => state.reduce((sum, kind) => sum + (kind === UNTOUCHED ? 0 : 1), 0) / state.length,
    at: (x, y) => {
      const i = y * width + x;
      return state[i] === PLAIN ? [...pixels.subarray(i * 3, i * 3 + 3)] : null;
    },
  };
}
