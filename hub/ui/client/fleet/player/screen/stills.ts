import type { ChunkPlace } from "#shared/recording/index-of.ts";
import { chunkFor } from "../model/seek.ts";
import type { ReadChunk } from "./chunks.ts";
import { openScreen } from "./screen.ts";

/** Small pictures of moments, one after the other, beside the large one. */
export interface Stills {
  /**
   * Address of a picture; null where the screen shows nothing yet or cannot be decoded.
   * @param soon before those that were asked for earlier.
   */
  at(ms: number, width: number, soon?: boolean): Promise<string | null>;
  close(): void;
}

const blobOf = (canvas: HTMLCanvasElement): Promise<Blob | null> =>
  new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.8));

async function shrunk(picture: HTMLCanvasElement, width: number): Promise<string | null> {
  const small = document.createElement("canvas");
  small.width = width;
  small.height = Math.max(1, Math.round((picture.height / picture.width) * width));
  const context = small.getContext("2d");
  if (context === null) return null;
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, small.width, small.height);
  const blob = await blobOf(small);
  return blob && URL.createObjectURL(blob);
}

/** @param chunks of the recording as it is by now. */
export function openStills(readChunk: ReadChunk, chunks: () => readonly ChunkPlace[]): Stills {
  const screen = openScreen(readChunk);
  const made = new Map<string, Promise<string | null>>();
  const waiting: (() => Promise<void>)[] = [];
  let busy = false;
  let closed = false;
  const make = async (place: ChunkPlace, ms: number, width: number) => {
    if (closed) return null;
    // A still that cannot be made is missing; the large picture says why.
    const picture = await screen.at(place, ms, () => !closed).catch(() => null);
    return picture === null || picture.width === 0 ? null : shrunk(picture, width);
  };
  const work = async () => {
    busy = true;
    for (let next = waiting.shift(); next; next = waiting.shift()) await next();
    busy = false;
  };
  return {
    at: (ms, width, soon = false) => {
      const place = chunkFor(chunks(), ms);
      if (place === null) return Promise.resolve(null);
      const key = `${ms} ${width}`;
      const there = made.get(key);
      if (there !== undefined) return there;
      const mine = Promise.withResolvers<string | null>();
      const job = async () => mine.resolve(await make(place, ms, width).catch(() => null));
      if (soon) waiting.unshift(job);
      else waiting.push(job);
      made.set(key, mine.promise);
      if (!busy) void work();
      return mine.promise;
    },
    close: () => {
      closed = true;
      void Promise.all(made.values()).then((urls) => {
        screen.close();
        for (const url of urls) if (url) URL.revokeObjectURL(url);
      });
    },
  };
}
