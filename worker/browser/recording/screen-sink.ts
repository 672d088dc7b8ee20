import { type ChunkStart, encodeFrame, encodeJsonFrame, FRAME } from "#shared/recording/frames.ts";

/**
 * To show a moment a player decodes its chunk up to there. What a chunk adds to the whole picture that it begins with must
 * be worth another one: on a text page with a clock pictures alone were 1.35 MB a minute when each chunk lasted 20 s.
 */
const SHORTEST_CHUNK_MS = 20_000;
/**
 * What comes within this time of its beginning is the picture of a chunk: a server answers the first question with the bars
 * of the browser, and the second with the page, and a page that was just opened is drawn in several steps.
 */
const PICTURE_MS = 3_000;
const LONGEST_CHUNK_MS = 120_000;
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
  /** Whether the next change is to begin a chunk. */
  isDue(): boolean;
  /** How long to wait after the last update. */
  restMs(): number;
}

export function createScreenSink(deps: {
  ms(): number;
  write(frame: Uint8Array): void;
}): ScreenSink {
  let began = 0;
  /** Of this chunk: the picture that it begins with, and what came after it. */
  let picture = 0;
  let changes = 0;
  let last = 0;
  const write = (kind: number, payload: Uint8Array) => {
    deps.write(encodeFrame(kind, deps.ms(), payload));
  };
  return {
    begin: (start) => {
      began = deps.ms();
      picture = changes = 0;
      deps.write(encodeJsonFrame(FRAME.chunk, began, start));
    },
    update: (all) => {
      last = all.length;
      if (deps.ms() - began < PICTURE_MS) picture += all.length;
      else changes += all.length;
      for (let at = 0; at < all.length; at += PIECE_BYTES)
        write(FRAME.rfb, all.subarray(at, at + PIECE_BYTES));
    },
    isDue: () => {
      const ms = deps.ms() - began;
      if (ms >= LONGEST_CHUNK_MS || picture + changes >= CHUNK_BYTES) return true;
      return ms >= SHORTEST_CHUNK_MS && changes >= picture;
    },
    restMs: () => Math.min(LONGEST_MS, Math.max(SHORTEST_MS, Math.round(last / BYTES_PER_MS))),
  };
}
