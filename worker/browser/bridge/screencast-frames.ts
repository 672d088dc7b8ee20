import type { Clock } from "#shared/kit/clock.ts";
import type { CdpSession, Protocol } from "../cdp/connection.ts";
import { jpegSize } from "./jpeg-size.ts";

/** One frame of the page. */
export interface Picture {
  /** Counts up. */
  no: number;
  jpeg: Buffer;
  width: number;
  height: number;
  /** CSS pixels per pixel of the frame. */
  scale: number;
}

/** At most 20 frames a second: each costs the renderer a JPEG of its whole page. */
const PICTURE_MS = 50;

/** The frames of a screencast, and who watches them. */
export interface Frames {
  latest(): Picture | null;
  /** Calls back at every new frame; returns a function that stops it. */
  watch(onPicture: () => void): () => void;
  /** The latest frame was taken: Chromium may send the next one. */
  taken(): void;
  /** `shown`: whether the frame is of the page that is shown. */
  add(session: CdpSession, frame: Protocol.Page.ScreencastFrameEvent, shown: boolean): void;
}

/** @param over aborts when the screencast has ended */
export function createFrames(clock: Clock, over: AbortSignal): Frames {
  const watchers = new Set<() => void>();
  let latest: Picture | null = null;
  /** The number with which the latest frame must be acknowledged to Chromium. */
  let unacknowledged: { session: CdpSession; id: number; at: number } | null = null;

  const acknowledge = () => {
    if (!unacknowledged) return;
    const { session, id, at } = unacknowledged;
    unacknowledged = null;
    const wait = at + PICTURE_MS - clock.monotonic();
    const send = () => session.post("Page.screencastFrameAck", { sessionId: id });
    if (wait <= 0) send();
    else void clock.sleep(wait, over).then(send);
  };
  return {
    latest: () => latest,
    watch: (onPicture) => {
      watchers.add(onPicture);
      return () => watchers.delete(onPicture);
    },
    taken: acknowledge,
    add: (session, frame, shown) => {
      const jpeg = Buffer.from(frame.data, "base64");
      const pixels = jpegSize(jpeg);
      unacknowledged = { session, id: frame.sessionId, at: clock.monotonic() };
      if (pixels === null || !shown) return acknowledge();
      const scale = frame.metadata.deviceWidth / pixels.width;
      latest = { no: (latest?.no ?? 0) + 1, jpeg, ...pixels, scale };
      for (const tell of watchers) tell();
    },
  };
}
