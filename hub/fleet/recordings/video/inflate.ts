import { constants, createInflate } from "node:zlib";
import { PictureError } from "./picture.ts";

/** A zlib stream that goes on from one rectangle to the next. */
export interface Inflater {
  /** The next `size` bytes of the stream. @throws PictureError when these bytes give another number */
  take(bytes: Uint8Array, size: number): Promise<Uint8Array>;
  close(): void;
}

export function openInflater(): Inflater {
  const stream = createInflate();
  let waiting: { parts: Buffer[]; left: number; fail: (err: Error) => void } | null = null;
  const fail = (why: string) => waiting?.fail(new PictureError(why));
  stream.on("error", () => fail("the compressed pixels are broken"));
  stream.on("data", (part: Buffer) => {
    if (!waiting) return;
    waiting.left -= part.length;
    // A few bytes may become gigabytes: nothing beyond the size of the rectangle is kept.
    if (waiting.left >= 0) waiting.parts.push(part);
    else fail("there are more compressed pixels than the rectangle has");
  });
  return {
    take: (bytes, size) => {
      const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
      const mine = { parts: [], left: size, fail: reject };
      waiting = mine;
      stream.write(bytes, () =>
        stream.flush(constants.Z_SYNC_FLUSH, () => {
          if (mine.left !== 0) return fail("there are fewer compressed pixels than announced");
          resolve(Buffer.concat(mine.parts));
        }),
      );
      return promise.finally(() => {
        waiting = null;
      });
    },
    close: () => void stream.destroy(),
  };
}
