import type { ChunkPlace } from "#shared/recording/index-of.ts";
import { type Drawn, planSeek } from "../model/seek.ts";
import type { ReadChunk } from "./chunks.ts";
import { type Decoder, openDecoder } from "./decoder.ts";

/** One decoder after another, each for a chunk. Calls must not overlap. */
export interface Screen {
  /**
   * The picture of a moment, or null where nothing is drawn yet.
   * @param wanted false once nobody waits for this moment any more: then what is drawn so far is kept for the next one.
   * @throws when the recording cannot be read or decoded
   */
  at(place: ChunkPlace, ms: number, wanted?: () => boolean): Promise<HTMLCanvasElement | null>;
  close(): void;
}

export function openScreen(readChunk: ReadChunk): Screen {
  let decoder: Decoder | null = null;
  let drawn: Drawn | null = null;
  const close = () => {
    decoder?.close();
    decoder = null;
    drawn = null;
  };
  const decode = async (place: ChunkPlace, ms: number, wanted: () => boolean) => {
    const screen = await readChunk(place);
    if (!wanted()) return null;
    const plan = planSeek(drawn, place.offset, screen, ms);
    if (plan.to === 0) return null;
    if (plan.anew) close();
    decoder ??= openDecoder(place);
    const progress = drawn ?? { offset: place.offset, pieces: 0 };
    drawn = progress;
    for (const { bytes } of screen.slice(plan.from, plan.to)) {
      // Each picture is drawn on those before.
      await decoder.draw([bytes]);
      progress.pieces += 1;
      if (!wanted()) return null;
    }
    return decoder.canvas;
  };
  return {
    at: async (place, ms, wanted = () => true) => {
      try {
        return await decode(place, ms, wanted);
      } catch (err) {
        // What it has drawn is not known any more.
        close();
        throw err;
      }
    },
    close,
  };
}
