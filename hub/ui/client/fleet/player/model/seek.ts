import { type ChunkPlace, chunkAt } from "#shared/recording/index-of.ts";
import type { ScreenBytes } from "../screen/chunks.ts";

/** What a decoder has drawn: so many pieces of the chunk that begins at `offset`. */
export interface Drawn {
  offset: number;
  pieces: number;
}

export interface SeekPlan {
  /** A new decoder is needed: another chunk, or a moment before what is drawn. */
  anew: boolean;
  /** Pieces of the chunk to decode, from and up to. */
  from: number;
  to: number;
}

/** How many pieces were said up to a moment. */
export function piecesUpTo(screen: readonly ScreenBytes[], ms: number): number {
  let [low, high] = [0, screen.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((screen[middle]?.ms ?? 0) <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The chunk that shows a moment: the one that plays then. Before the first picture there is the first chunk, which is
 * what the screen came to look like; null without any.
 */
export const chunkFor = (chunks: readonly ChunkPlace[], ms: number): ChunkPlace | null =>
  chunkAt(chunks, ms) ?? chunks[0] ?? null;

/** Pieces of a chunk's first picture come within this time; the recorder asks for the second one later. */
const FIRST_PICTURE_MS = 250;

/**
 * How to get from what is drawn to a moment. The first picture of a chunk is drawn in any case: until it has come, the
 * screen was as it is there.
 */
export function planSeek(
  drawn: Drawn | null,
  offset: number,
  screen: readonly ScreenBytes[],
  ms: number,
): SeekPlan {
  const first = screen[0];
  const to = first ? piecesUpTo(screen, Math.max(ms, first.ms + FIRST_PICTURE_MS)) : 0;
  if (drawn === null || drawn.offset !== offset || drawn.pieces > to)
    return { anew: true, from: 0, to };
  return { anew: false, from: drawn.pieces, to };
}
