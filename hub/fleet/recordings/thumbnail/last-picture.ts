import type { ChunkPlace } from "#shared/recording/index-of.ts";
import type { ScreenPiece } from "../video/byte-reader.ts";
import { drawChunk } from "../video/draw-chunk.ts";
import { type Picture, PictureError } from "../video/picture.ts";
import { screenPieces } from "../video/screen-pieces.ts";
import { lastWholeJpeg } from "./last-jpeg.ts";

/** A recording that was cut may end between the beginning of a chunk and its picture. */
const CHUNKS_TRIED = 2;
/** What a worker writes of a screen before it begins another chunk comes to an eighth of this. */
const MOST_BYTES = 16 * 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

/** Where the last picture of a recording is looked for. */
interface PictureSource {
  chunks: readonly ChunkPlace[];
  /** The bytes of one chunk; what is missing at its end ends it. */
  read(place: ChunkPlace): Promise<AsyncIterable<Uint8Array>>;
  /** Ends the drawing. */
  signal: AbortSignal;
}

/**
 * What was on the screen last: pixels, or the bytes of a JPEG. A chunk that breaks off, or that cannot be drawn on, counts
 * as far as it goes.
 * @returns null where nothing can be drawn. @throws what `read` throws; the signal's reason
 */
export async function lastPicture(source: PictureSource): Promise<Picture | Uint8Array | null> {
  for (const place of source.chunks.slice(-CHUNKS_TRIED).reverse()) {
    const said = await screenOf(source, place);
    const picture = lastWholeJpeg(said, place) ?? (await drawnLast(place, said, source.signal));
    if (picture !== null) return picture;
  }
  return null;
}

/** What the screen's server said in a chunk; nothing of one that is longer than any. */
async function screenOf({ read, signal }: PictureSource, place: ChunkPlace): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const { bytes } of screenPieces(await read(place), place.offset)) {
    signal.throwIfAborted();
    length += bytes.length;
    if (length > MOST_BYTES) return Buffer.alloc(0);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

/** Others are served after each piece: what it comes to on the screen takes some milliseconds. */
async function* pieceByPiece(said: Uint8Array, signal: AbortSignal): AsyncGenerator<ScreenPiece> {
  for (let at = 0; at < said.length; at += PIECE_BYTES) {
    await new Promise<void>((served) => setImmediate(served));
    signal.throwIfAborted();
    yield { ms: 0, bytes: said.subarray(at, at + PIECE_BYTES) };
  }
}

async function drawnLast(
  place: ChunkPlace,
  said: Uint8Array,
  signal: AbortSignal,
): Promise<Picture | null> {
  let last: Picture | null = null;
  try {
    for await (const { picture } of drawChunk(place, pieceByPiece(said, signal))) last = picture;
  } catch (err) {
    if (!(err instanceof PictureError)) throw err;
  }
  return last;
}
