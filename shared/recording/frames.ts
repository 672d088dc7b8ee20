import { isNestedDeeper } from "#shared/kit/json.ts";

/**
 * A recording is an append-only sequence of frames, so that whatever was written before its writer died can be played:
 * `u32 length` of what follows these four bytes, `u8 kind`, `u32 ms` since the run began, and the payload; numbers are
 * big-endian (rules/recordings#the-file).
 */

export const FRAME = {
  /** UTF-8 JSON, a `RecordingEvent`. */
  event: 1,
  /** UTF-8 JSON, a `ChunkStart`. What follows plays by itself, up to the next of them. */
  chunk: 2,
  /**
   * Bytes of an RFB server, cut anywhere: what follows its ServerInit on a connection of the chunk's own, with 32 bits a
   * pixel, little-endian, red in the lowest byte (what noVNC asks for).
   */
  rfb: 3,
  /** UTF-8 JSON, a `RecordingEnd`. Nothing follows. */
  end: 4,
  /** UTF-8 JSON, a `RequestNote`. */
  request: 5,
} as const;

/** Bytes of a frame before its payload. */
export const FRAME_HEAD_BYTES = 9;
/** Of one whole frame. A writer cuts what an RFB server sends into pieces far below it. */
export const MAX_FRAME_BYTES = 4 * 1024 * 1024;

export interface ChunkStart {
  width: number;
  height: number;
  name: string;
  /** Why a new connection began: `start`, `length`, `bytes`, `browser` (it was replaced) or `lost`. */
  why: string;
}

export interface RecordingEnd {
  /** Why it ended: `ended`, `cancelled`, or the limit that it has reached, in words. */
  why: string;
}

export interface Frame {
  kind: number;
  /** Since the run began, on a clock that never goes back. */
  ms: number;
  payload: Uint8Array;
  /** Where the frame begins in what was read, and how long it is with its head. */
  offset: number;
  length: number;
}

/** The bytes are no recording. */
export class RecordingError extends Error {
  override name = "RecordingError";
}

/** @throws RecordingError when the frame would be longer than any reader takes. */
export function encodeFrame(kind: number, ms: number, payload: Uint8Array): Uint8Array {
  const length = FRAME_HEAD_BYTES + payload.length;
  if (length > MAX_FRAME_BYTES) throw new RecordingError(`a frame of ${length} bytes is too long`);
  const frame = new Uint8Array(length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, length - 4);
  view.setUint8(4, kind);
  view.setUint32(5, Math.min(Math.max(0, Math.floor(ms)), 0xffffffff));
  frame.set(payload, FRAME_HEAD_BYTES);
  return frame;
}

const text = new TextEncoder();
const fromText = new TextDecoder();

export const encodeJsonFrame = (kind: number, ms: number, value: unknown): Uint8Array =>
  encodeFrame(kind, ms, text.encode(JSON.stringify(value)));

/** The JSON of a frame's payload; null when it is none, or nested too deeply. */
export function jsonOf({ payload }: Pick<Frame, "payload">): unknown {
  try {
    return isNestedDeeper(payload) ? null : JSON.parse(fromText.decode(payload));
  } catch {
    return null;
  }
}

/**
 * The frame that begins at `at`; null while it is not there as a whole. A last frame that stays incomplete was being
 * written when its writer died, and does not count. Kinds that a reader does not know are to be passed over.
 * @throws RecordingError when no frame can begin like this.
 */
export function frameAt(bytes: Uint8Array, at: number, offset = at): Frame | null {
  if (bytes.length - at < FRAME_HEAD_BYTES) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, FRAME_HEAD_BYTES);
  const length = 4 + view.getUint32(0);
  if (length < FRAME_HEAD_BYTES || length > MAX_FRAME_BYTES)
    throw new RecordingError(`no frame begins at byte ${offset}`);
  if (bytes.length - at < length) return null;
  return {
    kind: view.getUint8(4),
    ms: view.getUint32(5),
    payload: bytes.subarray(at + FRAME_HEAD_BYTES, at + length),
    offset,
    length,
  };
}

/**
 * All whole frames of a piece of a recording that begins with a frame.
 * @param offset of the piece in its recording; the frames' offsets count from the recording's beginning.
 * @throws RecordingError
 */
export function* framesOf(bytes: Uint8Array, offset = 0): Generator<Frame> {
  for (let at = 0; ; ) {
    const frame = frameAt(bytes, at, offset + at);
    if (!frame) return;
    yield frame;
    at += frame.length;
  }
}

/**
 * Takes a recording in pieces that are cut anywhere, and gives the frames that each piece completes. It holds back less
 * than one frame.
 * @param offset of the first piece. @throws RecordingError
 */
export function createFrameReader(offset = 0): (piece: Uint8Array) => Frame[] {
  let kept = new Uint8Array(0);
  let at = offset;
  return (piece) => {
    let all = piece;
    if (kept.length > 0) {
      all = new Uint8Array(kept.length + piece.length);
      all.set(kept);
      all.set(piece, kept.length);
    }
    const frames = [...framesOf(all, at)];
    const used = frames.reduce((sum, { length }) => sum + length, 0);
    at += used;
    // A copy, so that a few bytes do not keep a large piece alive.
    kept = all.slice(used);
    return frames;
  };
}
