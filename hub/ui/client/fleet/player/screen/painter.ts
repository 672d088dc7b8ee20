import type { ChunkPlace } from "#shared/recording/index-of.ts";
import { chunkFor } from "../model/seek.ts";
import type { ReadChunk } from "./chunks.ts";
import { openScreen } from "./screen.ts";

/** Keeps a canvas at the moment that was asked for last. */
export interface Painter {
  show(chunks: readonly ChunkPlace[], ms: number): void;
  close(): void;
}

interface Wanted {
  place: ChunkPlace;
  ms: number;
}

interface PainterDeps {
  canvas: HTMLCanvasElement;
  readChunk: ReadChunk;
  /** The canvas shows this moment. */
  onShown: (ms: number, place: ChunkPlace) => void;
  onError: (err: unknown) => void;
}

export function openPainter({ canvas, readChunk, onShown, onError }: PainterDeps): Painter {
  const screen = openScreen(readChunk);
  let wanted: Wanted | null = null;
  let busy = false;
  let closed = false;
  const paint = (from: HTMLCanvasElement) => {
    if (canvas.width !== from.width) canvas.width = from.width;
    if (canvas.height !== from.height) canvas.height = from.height;
    canvas.getContext("2d")?.drawImage(from, 0, 0);
  };
  /** A later moment of the same chunk is on the way of this one, so that playing always shows something. */
  const leadsOn = ({ place, ms }: Wanted): boolean =>
    !closed && wanted !== null && wanted.place.offset === place.offset && wanted.ms >= ms;
  const work = async () => {
    busy = true;
    while (wanted !== null && !closed) {
      const now = wanted;
      try {
        const picture = await screen.at(now.place, now.ms, () => leadsOn(now));
        if (!leadsOn(now)) continue;
        if (picture !== null) paint(picture);
        if (wanted === now) wanted = null;
        onShown(now.ms, now.place);
      } catch (err) {
        if (wanted === now) wanted = null;
        if (!closed) onError(err);
      }
    }
    busy = false;
    if (closed) screen.close();
  };
  return {
    show: (chunks, ms) => {
      const place = chunkFor(chunks, ms);
      if (place === null) return;
      wanted = { place, ms };
      if (!busy) void work();
    },
    close: () => {
      closed = true;
      if (!busy) screen.close();
    },
  };
}
