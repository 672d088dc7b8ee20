/*! Holds noVNC, MPL-2.0, https://github.com/novnc/noVNC */
import RFB from "@novnc/novnc";
import type { ChunkPlace } from "#shared/recording/index-of.ts";
import { recordedChannel } from "./channel.ts";

/** Draws one chunk of a recording; the next chunk needs another, because its streams begin anew. */
export interface Decoder {
  /** What was decoded so far. Its size changes with the recorded screen. */
  readonly canvas: HTMLCanvasElement;
  /** Decodes bytes that follow those of before, and waits until they are drawn. @throws when they cannot be */
  draw(pieces: readonly Uint8Array[]): Promise<void>;
  close(): void;
}

/** A picture that takes longer is broken: browsers do not say so to whoever waits for it. */
const DRAW_MS = 15_000;

function inTime<T>(what: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("a recorded picture was not decoded")), DRAW_MS);
  });
  return Promise.race([what, late]).finally(() => clearTimeout(timer));
}

export function openDecoder({ width, height }: Pick<ChunkPlace, "width" | "height">): Decoder {
  // It needs no place in the page: nothing is shown of it but what is copied from its canvas.
  const target = document.createElement("div");
  const channel = recordedChannel(width, height);
  const rfb = new RFB(target, channel.socket);
  rfb.viewOnly = true;
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => {});
  rfb.addEventListener("disconnect", () =>
    broken.reject(new Error("the recorded screen cannot be decoded")),
  );
  channel.begin();
  const canvas = target.querySelector("canvas");
  if (canvas === null) throw new Error("there is no canvas to draw on");
  const drawn = async () => {
    // It goes on with the bytes behind a picture when that is drawn.
    while (rfb._display.pending()) await rfb._display.flush();
  };
  return {
    canvas,
    draw: async (pieces) => {
      for (const piece of pieces) {
        channel.give(piece);
        await inTime(Promise.race([drawn(), broken.promise]));
      }
    },
    close: () => rfb.disconnect(),
  };
}
