import { createReadStream } from "node:fs";
import type { ByteRange } from "#shared/protocol/schema/asset.ts";
import type { SpooledBody } from "#worker/upload/asset-sink.ts";
import { addRange, coveredBytes, isWhole } from "./ranges.ts";
import type { SparseFile, Spool } from "./spool.ts";

/** One body assembled from pieces, which may arrive in any order and overlap. */
export interface Coverage {
  total: number | null;
  readonly ranges: readonly ByteRange[];
  /** @throws SpoolFullError */
  add(bytes: Uint8Array, position: number): void;
  /**
   * Closes the body. A whole body is the file as it is. Otherwise the file holds the known ranges one after the
   * other, with nothing in between. Null when there is nothing.
   */
  finish(): Promise<{ body: SpooledBody; whole: boolean; ranges: ByteRange[] } | null>;
}

export function createCoverage(spool: Spool, total: number | null): Coverage {
  let file: SparseFile | null = null;
  let ranges: ByteRange[] = [];
  return {
    total,
    get ranges() {
      return ranges;
    },
    add: (bytes, position) => {
      if (bytes.length === 0) return;
      file ??= spool.openSparse();
      file.writeAt(bytes, position);
      ranges = addRange(ranges, { start: position, end: position + bytes.length - 1 });
    },
    async finish() {
      const last = ranges.at(-1);
      if (!file || !last) return null;
      file.close(last.end + 1);
      const whole = isWhole(ranges, this.total);
      if (ranges.length === 1 && ranges[0]?.start === 0) {
        const sha256 = await hashFile(file.path);
        return { body: { path: file.path, size: coveredBytes(ranges), sha256 }, whole, ranges };
      }
      const packed = spool.open();
      try {
        for (const { start, end } of ranges)
          for await (const chunk of createReadStream(file.path, { start, end }))
            packed.write(chunk as Uint8Array);
      } catch (err) {
        packed.discard();
        throw err;
      } finally {
        file.discard();
      }
      const body = packed.finish();
      return body && { body, whole: false, ranges };
    },
  };
}

export async function hashFile(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }))
    hasher.update(chunk as Uint8Array);
  return hasher.digest("hex");
}
