import { FRAME, type Frame, jsonOf } from "./frames.ts";

/** A part of the screen's recording that can be decoded alone. */
export interface ChunkPlace {
  /** When it began, and how long it lasts, up to the next chunk or the end of the recording. */
  at_ms: number;
  ms: number;
  /** Bytes of the recording, from the chunk's own frame on; events stand among them. */
  offset: number;
  length: number;
  width: number;
  height: number;
}

/** What is known of a recording without its bytes. Plain data: it is stored, and continued from there. */
export interface RecordingIndex {
  /** Bytes of whole frames that were indexed. */
  bytes: number;
  /** Time of the last frame. */
  ms: number;
  /** Number of event frames. */
  events: number;
  /** Number of request frames; absent in what an earlier version has stored. */
  requests?: number;
  chunks: ChunkPlace[];
  /** Why the recording ended; null while its last frame is missing. */
  end: string | null;
}

/** More than the limits of a writer allow. What comes after them plays as a part of the last one. */
const MAX_CHUNKS = 20_000;
const MAX_SIDE = 16_384;
const MAX_WHY = 200;

export const emptyIndex = (): RecordingIndex => ({
  bytes: 0,
  ms: 0,
  events: 0,
  chunks: [],
  end: null,
});

const sideOf = (value: unknown): number =>
  typeof value === "number" && Number.isInteger(value) && value > 0 ? Math.min(value, MAX_SIDE) : 0;

/** Adds one frame. The frames must come in the order of the file, each once. */
export function addToIndex(index: RecordingIndex, frame: Frame): void {
  index.bytes = frame.offset + frame.length;
  // A clock that goes back is a fault of the writer, and must not make a chunk end before it begins.
  index.ms = Math.max(index.ms, frame.ms);
  if (frame.kind === FRAME.event) index.events += 1;
  if (frame.kind === FRAME.request) index.requests = (index.requests ?? 0) + 1;
  if (frame.kind === FRAME.end) index.end = whyOf(frame);
  if (frame.kind === FRAME.chunk && index.chunks.length < MAX_CHUNKS) {
    const { width, height } = (jsonOf(frame) ?? {}) as Record<string, unknown>;
    const place = { at_ms: index.ms, ms: 0, offset: frame.offset, length: 0 };
    index.chunks.push({ ...place, width: sideOf(width), height: sideOf(height) });
  }
  growTo(index);
}

/** The last chunk lasts up to the end of what is known, and so did its predecessor until now. */
function growTo({ chunks, bytes, ms }: RecordingIndex): void {
  const last = chunks.at(-1);
  if (!last) return;
  last.length = bytes - last.offset;
  last.ms = ms - last.at_ms;
  const before = chunks.at(-2);
  if (!before) return;
  before.length = last.offset - before.offset;
  before.ms = last.at_ms - before.at_ms;
}

function whyOf(frame: Frame): string {
  const { why } = (jsonOf(frame) ?? {}) as Record<string, unknown>;
  return typeof why === "string" ? why.slice(0, MAX_WHY) : "";
}

/** The chunk from which a moment is decoded; null before the first one. */
export function chunkAt(chunks: readonly ChunkPlace[], ms: number): ChunkPlace | null {
  let [low, high] = [0, chunks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunks[middle]?.at_ms ?? 0) <= ms) low = middle + 1;
    else high = middle;
  }
  return chunks[low - 1] ?? null;
}
