import { systemClock } from "#shared/kit/clock.ts";
import type { CdpSession, Protocol } from "../cdp/connection.ts";
import { type WatchedWindow, watchNewWindows } from "../record/new-windows.ts";
import type { Pause } from "../record/pauses.ts";

/** Bodies are not read here. */
export const BUFFERS = { maxTotalBufferSize: 1, maxResourceBufferSize: 1 };

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
      const seen = session.send("Network.enable", BUFFERS).then(
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
