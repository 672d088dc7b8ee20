import { ArchiveError } from "#shared/archive/archive-error.ts";
import type { Chunks } from "#shared/archive/streams.ts";

/** Reads a stream piece by piece: heads up to a mark, and bodies of known lengths. */
export interface ByteReader {
  /**
   * What comes before the next `mark`, which is skipped; null at the end of the stream.
   * @param or_end whether the end of the stream will do for the mark
   * @throws ArchiveError when it is longer than `max_bytes`, or the stream ends first.
   */
  until(mark: string, max_bytes: number, what: string, or_end?: boolean): Promise<Buffer | null>;
  /** The next bytes, at most `length` of them, as they come; fewer at the end of the stream. */
  take(length: number): AsyncGenerator<Uint8Array>;
  /** The next bytes without taking them; fewer at the end of the stream. */
  peek(length: number): Promise<Buffer>;
  /** Lets go of the source. */
  close(): Promise<void>;
}

export function createByteReader(chunks: Chunks): ByteReader {
  const source = chunks[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);

  /** False at the end of the stream. */
  const more = async (): Promise<boolean> => {
    const { done, value } = await source.next();
    if (done) return false;
    // The source may use the chunk's memory again.
    held = held.length === 0 ? Buffer.from(value) : Buffer.concat([held, value]);
    return true;
  };

  return {
    until: async (mark, max_bytes, what, or_end = false) => {
      for (let from = 0; ; ) {
        const at = held.indexOf(mark, from, "latin1");
        if (at >= 0 && at <= max_bytes) {
          const found = held.subarray(0, at);
          held = held.subarray(at + mark.length);
          return found;
        }
        if (held.length > max_bytes + mark.length)
          throw new ArchiveError(`${what} is longer than ${max_bytes} bytes`, { too_large: true });
        from = Math.max(0, held.length - mark.length);
        if (await more()) continue;
        if (held.length === 0) return null;
        const rest = held;
        held = Buffer.alloc(0);
        if (or_end) return rest;
        throw new ArchiveError(`the archive ends within ${what}`);
      }
    },
    take: async function* (length) {
      for (let left = length; left > 0; ) {
        if (held.length === 0 && !(await more())) return;
        const piece = held.subarray(0, left);
        held = held.subarray(piece.length);
        left -= piece.length;
        if (piece.length > 0) yield piece;
      }
    },
    peek: async (length) => {
      while (held.length < length && (await more()));
      return held.subarray(0, length);
    },
    close: async () => void (await source.return?.()),
  };
}

/** All of `chunks`. @throws ArchiveError beyond `max_bytes`. */
export async function collectUpTo(
  chunks: Chunks,
  max_bytes: number,
  what: string,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > max_bytes)
      throw new ArchiveError(`${what} is longer than ${max_bytes} bytes`, { too_large: true });
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}
