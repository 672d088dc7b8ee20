import { createFrameReader, FRAME } from "#shared/recording/frames.ts";
import type { ChunkPlace } from "#shared/recording/index-of.ts";

/** Bytes of the screen's server, and when they were read. */
export interface ScreenBytes {
  ms: number;
  bytes: Uint8Array;
}

/** Reads bytes of the recording. */
export type ReadBytes = (
  offset: number,
  length: number,
  signal: AbortSignal,
) => Promise<Uint8Array>;

/** Chunks that are kept, so that going back and forth asks for nothing: at most 2 MB each. */
const MOST_KEPT = 16;

interface Kept {
  /** What the screen said, up to `read` bytes of the chunk. */
  screen: ScreenBytes[];
  read: number;
  take: (piece: Uint8Array) => ReturnType<ReturnType<typeof createFrameReader>>;
  /** Reads of one chunk come one after the other. */
  busy: Promise<void>;
}

/**
 * What the screen said in a chunk, as far as it is known; a chunk that still grows is read on from where it was.
 */
export type ReadChunk = (place: ChunkPlace) => Promise<readonly ScreenBytes[]>;

export function createChunks(read: ReadBytes, signal: AbortSignal): ReadChunk {
  const kept = new Map<number, Kept>();
  const keptAt = (offset: number): Kept => {
    const there = kept.get(offset);
    const chunk = there ?? {
      screen: [],
      read: 0,
      take: createFrameReader(offset),
      busy: Promise.resolve(),
    };
    // The last in order is the one that was used last.
    kept.delete(offset);
    kept.set(offset, chunk);
    for (const oldest of kept.keys()) {
      if (kept.size <= MOST_KEPT) break;
      kept.delete(oldest);
    }
    return chunk;
  };
  const grow = async (chunk: Kept, offset: number, length: number) => {
    if (chunk.read >= length) return;
    const bytes = await read(offset + chunk.read, length - chunk.read, signal);
    chunk.read += bytes.length;
    for (const { kind, ms, payload } of chunk.take(bytes))
      if (kind === FRAME.rfb) chunk.screen.push({ ms, bytes: payload });
  };
  return async ({ offset, length }) => {
    const chunk = keptAt(offset);
    const mine = chunk.busy.catch(() => {}).then(() => grow(chunk, offset, length));
    chunk.busy = mine;
    await mine;
    return chunk.screen;
  };
}
