import type { ChunkPlace, RecordingIndex } from "#shared/recording/index-of.ts";
import { drawChunk } from "./draw-chunk.ts";
import { blackPicture, fitted, type Picture, PictureError } from "./picture.ts";
import { screenPieces } from "./screen-pieces.ts";
import { createTiming } from "./timing.ts";

/** A picture and its moment in the video, in milliseconds. The pixels change when the next frame is asked for. */
export interface VideoFrame {
  ms: number;
  pixels: Uint8Array;
  /** Moment of the recording up to which everything is drawn. */
  drawn_ms: number;
}

/** Longer sides are made smaller: many players take no more. */
const MAX_SIDE = 4_096;

/** The size of a video: that of the largest screen in the recording, in even numbers. */
export function videoSize(chunks: readonly ChunkPlace[]): { width: number; height: number } {
  const area = ({ width, height }: ChunkPlace) => width * height;
  const largest = chunks.reduce<ChunkPlace | null>(
    (most, chunk) => (most === null || area(chunk) > area(most) ? chunk : most),
    null,
  );
  const { width = 0, height = 0 } = largest ?? {};
  const scale = Math.min(1, MAX_SIDE / Math.max(width, height, 1));
  const even = (side: number) => Math.max(2, Math.round((side * scale) / 2) * 2);
  return { width: even(width), height: even(height) };
}

interface FramesDeps {
  index: Pick<RecordingIndex, "chunks" | "ms">;
  speed: number;
  /** The bytes of one chunk; what is missing at its end ends it. */
  read(place: ChunkPlace): Promise<AsyncIterable<Uint8Array>>;
}

/**
 * Draws a recording chunk by chunk, and gives the frames of its video: black until the first picture comes, and its last
 * picture up to its end. @throws PictureError for a moment that cannot be drawn; what `read` throws.
 */
export async function* videoFrames({ index, speed, read }: FramesDeps): AsyncGenerator<VideoFrame> {
  const { chunks, ms: whole_ms } = index;
  const { width, height } = videoSize(chunks);
  const timing = createTiming(speed);
  // A picture is written when the next one is drawn, so that it must have been copied.
  const last = blackPicture(width, height);
  let drawn_ms = 0;
  const frame = (ms: number): VideoFrame => ({ ms, pixels: last.pixels, drawn_ms });
  for (const place of chunks)
    for await (const { ms, picture } of drawn(place, await read(place))) {
      for (const at of timing.changesAt(ms)) yield frame(at);
      last.pixels.set(fitted(picture, width, height).pixels);
      drawn_ms = ms;
    }
  for (const at of timing.endsAt(whole_ms)) yield frame(at);
}

async function* drawn(
  place: ChunkPlace,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ ms: number; picture: Picture }> {
  let { at_ms } = place;
  try {
    for await (const shown of drawChunk(place, screenPieces(bytes, place.offset))) {
      at_ms = shown.ms;
      yield shown;
    }
  } catch (err) {
    if (!(err instanceof PictureError)) throw err;
    throw new PictureError(
      `the screen cannot be drawn after ${(at_ms / 1_000).toFixed(1)} s: ${err.message}`,
    );
  }
}
