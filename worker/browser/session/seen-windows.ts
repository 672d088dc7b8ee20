import { systemClock } from "#shared/kit/clock.ts";
import { MOST_BODY_BYTES } from "#shared/recording/requests.ts";
import type { CdpSession, Protocol } from "../cdp/connection.ts";
import { type WatchedWindow, watchNewWindows } from "../record/new-windows.ts";
import type { Pause } from "../record/pauses.ts";

type Buffers = Pick<Protocol.Network.EnableRequest, "maxTotalBufferSize" | "maxResourceBufferSize">;
const NO_BODIES: Buffers = { maxTotalBufferSize: 1, maxResourceBufferSize: 1 };
/** Each is read as soon as it is whole. */
const KEPT_BODIES: Buffers = {
  maxTotalBufferSize: 4 * MOST_BODY_BYTES,
  maxResourceBufferSize: MOST_BODY_BYTES,
};

/** What the browser is to hold back of the bodies of each target. */
export const buffersFor = (keeps_bodies: boolean): Buffers =>
  keeps_bodies ? KEPT_BODIES : NO_BODIES;

/** Makes the first request of each new window visible before the window runs. */
export interface SeenWindows {
  watch(session: CdpSession, info: Protocol.Target.TargetInfo, is_new: boolean): void;
  /** Holds those requests. */
  pause: Pause;
}

/** @param onAsked called with the tab that requests a document, which waits meanwhile */
export function watchSeenWindows(
  root: CdpSession,
  onAsked: (target_id: string, url: string) => void,
  buffers: Buffers,
): SeenWindows {
  const windows = new Map<CdpSession, WatchedWindow>();
  const new_windows = watchNewWindows({
    root,
    clock: systemClock,
    windows: () => [...windows.values()],
    bodies: null,
    onHeld: (_, url, frame_id) => onAsked(frame_id, url),
  });
  return {
    pause: new_windows.pause,
    watch: (session, { targetId: target_id, type }, is_new) => {
      const seen = session.send("Network.enable", buffers).then(
        () => {},
        () => {},
      );
      const window = { session, target_id, type, is_new, is_seen: false, seen };
      void seen.then(() => {
        window.is_seen = true;
      });
      windows.set(session, window);
      void session.closed.then(() => windows.delete(session));
      new_windows.watch(window);
    },
  };
}
