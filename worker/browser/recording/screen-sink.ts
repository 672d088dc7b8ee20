import { type ChunkStart, encodeFrame, encodeJsonFrame, FRAME } from "#shared/recording/frames.ts";

/** A chunk ends after the first of these when something changes: a player decodes at most so much to show a moment. */
const CHUNK_MS = 20_000;
const CHUNK_BYTES = 2 * 1024 * 1024;
/** What an RFB server sends is cut into pieces of this size. */
const PIECE_BYTES = 64 * 1024;
/** The screen is asked at most three times a second, and less often while more changes than this in a second. */
const SHORTEST_MS = 333;
const LONGEST_MS = 2_000;
const BYTES_PER_MS = 60;

/** Where a source of pictures writes. */
export interface ScreenSink {
  /** What follows plays by itself. */
  begin(start: ChunkStart): void;
  /** A whole update. */
  update(bytes: Uint8Array): void;
  /** Whether the next picture is to begin a chunk. */
  isDue(): boolean;
  /** How long to wait after the last update. */
  restMs(): number;
}

export function createScreenSink(deps: {
  ms(): number;
  write(frame: Uint8Array): void;
}): ScreenSink {
  let began = 0;
  let bytes = 0;
  let last = 0;
  const write = (kind: number, payload: Uint8Array) => {
    const frame = encodeFrame(kind, deps.ms(), payload);
    bytes += frame.length;
    deps.write(frame);
  };
  return {
    begin: (start) => {
      began = deps.ms();
      bytes = 0;
      deps.write(encodeJsonFrame(FRAME.chunk, began, start));
    },
    update: (all) => {
      last = all.length;
      for (let at = 0; at < all.length; at += PIECE_BYTES)
        write(FRAME.rfb, all.subarray(at, at + PIECE_BYTES));
    },
    isDue: () => bytes >= CHUNK_BYTES || deps.ms() - began >= CHUNK_MS,
    restMs: () => Math.min(LONGEST_MS, Math.max(SHORTEST_MS, Math.round(last / BYTES_PER_MS))),
  };
}
