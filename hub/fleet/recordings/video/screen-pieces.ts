import { createFrameReader, FRAME } from "#shared/recording/frames.ts";
import type { ScreenPiece } from "./byte-reader.ts";

/**
 * What the screen's server said, among the bytes of a recording from `offset` on; a frame begins there.
 * @throws RecordingError when they are no frames; what `bytes` throws
 */
export async function* screenPieces(
  bytes: AsyncIterable<Uint8Array>,
  offset: number,
): AsyncGenerator<ScreenPiece> {
  const take = createFrameReader(offset);
  for await (const piece of bytes)
    for (const { kind, ms, payload } of take(piece))
      if (kind === FRAME.rfb) yield { ms, bytes: payload };
}
