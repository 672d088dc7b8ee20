import { PictureError } from "./picture.ts";

/** What a screen's server said, and when: messages are cut anywhere. */
export interface ScreenPiece {
  ms: number;
  bytes: Uint8Array;
}

/** What there is has been read to its end, maybe in the middle of a message. */
export class EndOfScreen extends Error {
  override name = "EndOfScreen";
}

/** Reads numbers and bytes across the pieces. Each call throws EndOfScreen where too few bytes follow. */
export interface ByteReader {
  /** When the last byte that was taken came. */
  readonly ms: number;
  u8(): Promise<number>;
  u16(): Promise<number>;
  i32(): Promise<number>;
  take(count: number): Promise<Uint8Array>;
}

/** Longer than any message of a screen that can be drawn. */
const MAX_TAKE = 80 * 1024 * 1024;

export function createByteReader(pieces: AsyncIterator<ScreenPiece>): ByteReader {
  let [ms, at] = [0, 0];
  let piece: Uint8Array = new Uint8Array(0);
  const next = async () => {
    const { done, value } = await pieces.next();
    if (done) throw new EndOfScreen("the screen's bytes have ended");
    ({ ms } = value);
    piece = value.bytes;
    at = 0;
  };
  const take = async (count: number): Promise<Uint8Array> => {
    if (count > MAX_TAKE) throw new PictureError(`${count} bytes in one rectangle are too many`);
    if (piece.length - at >= count) {
      at += count;
      return piece.subarray(at - count, at);
    }
    const parts: Uint8Array[] = [];
    for (let left = count; left > 0; ) {
      if (at === piece.length) await next();
      const part = piece.subarray(at, at + left);
      at += part.length;
      left -= part.length;
      parts.push(part);
    }
    return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
  };
  const view = async (count: number) => {
    const bytes = await take(count);
    return new DataView(bytes.buffer, bytes.byteOffset, count);
  };
  return {
    get ms() {
      return ms;
    },
    take,
    u8: async () => (await view(1)).getUint8(0),
    u16: async () => (await view(2)).getUint16(0),
    i32: async () => (await view(4)).getInt32(0),
  };
}
