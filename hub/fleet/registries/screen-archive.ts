import { createGunzip } from "node:zlib";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { type ArchiveLimits, isGzip, unpacksTooMuch } from "#shared/archive/read-tar.ts";
import type { Chunks } from "#shared/archive/streams.ts";
import { humanSize } from "#shared/kit/words.ts";
import { MAX_UNPACK_RATIO } from "#shared/protocol/limits.ts";
import { createEntryCounter, type EntryCounter } from "./entry-counter.ts";

/** What was seen of an archive on its way in. */
export interface Screened {
  /** Bytes of the plain tar. */
  unpacked: number;
  readonly headers: number;
}

/** Looks at the plain tar without keeping it. */
function createScreen(limits: ArchiveLimits) {
  const counter: EntryCounter = createEntryCounter(limits);
  let unpacked = 0;
  return {
    see: (plain: Uint8Array, packed: number): void => {
      unpacked += plain.length;
      if (unpacked > limits.max_unpacked_bytes) throw unpacksTooMuch(limits.max_unpacked_bytes);
      const { above_bytes, most } = MAX_UNPACK_RATIO;
      if (unpacked > above_bytes && unpacked > packed * most)
        throw new ArchiveError(
          `the archive unpacks to ${humanSize(unpacked)} and more, over ${most} times what it has`,
          { too_large: true },
        );
      counter.push(plain);
    },
    seen: (): Screened => ({ unpacked, headers: counter.headers }),
  };
}

/** Unpacks what is pushed, and gives it to `see` before it answers. The reader reports data that is not gzip. */
function createUnpacker(see: (plain: Uint8Array) => void) {
  const gunzip = createGunzip();
  let failed: unknown = null;
  let broken = false;
  let wake = () => {};
  gunzip.on("data", (plain: Uint8Array) => {
    if (failed !== null) return;
    try {
      see(plain);
    } catch (err) {
      failed = err;
      gunzip.destroy();
      wake();
    }
  });
  gunzip.on("error", () => {
    broken = true;
    wake();
  });
  gunzip.on("close", () => wake());
  const finished = (act: (done: () => void) => void): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
      if (failed !== null || broken || gunzip.destroyed) resolve();
      else act(resolve);
    });
  return {
    push: async (chunk: Uint8Array): Promise<void> => {
      await finished((done) => gunzip.write(chunk, () => done()));
      if (failed !== null) throw failed;
    },
    end: async (): Promise<void> => {
      await finished((done) => gunzip.end(done));
      if (failed !== null) throw failed;
    },
    close: () => void gunzip.destroy(),
  };
}

/**
 * The bytes of a tar or tar.gz as they are, while its headers are counted: an archive with too many entries, or one that
 * unpacks to too much, is refused by a walk over its headers before anything is stored or judged of it. What is in the
 * entries, and whether it is an archive at all, is `readTar`'s to say.
 * @throws ArchiveError
 */
export async function* screenArchive(
  chunks: Chunks,
  limits: ArchiveLimits,
  onEnd: (seen: Screened) => void = () => {},
): AsyncGenerator<Uint8Array> {
  const screen = createScreen(limits);
  let packed = 0;
  const unpacker = createUnpacker((plain) => screen.see(plain, packed));
  let head: Uint8Array = new Uint8Array();
  let gzip: boolean | null = null;
  const look = async (chunk: Uint8Array): Promise<void> => {
    if (gzip) await unpacker.push(chunk);
    else screen.see(chunk, packed);
  };
  try {
    for await (const chunk of chunks) {
      packed += chunk.length;
      if (gzip === null) {
        head = Buffer.concat([head, chunk]);
        // One byte does not tell.
        if (head.length >= 2) {
          gzip = isGzip(head);
          await look(head);
        }
      } else await look(chunk);
      yield chunk;
    }
    if (gzip) await unpacker.end();
  } finally {
    unpacker.close();
    onEnd(screen.seen());
  }
}
