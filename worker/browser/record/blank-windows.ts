import type { Clock } from "#shared/kit/clock.ts";
import type { CdpSession } from "../cdp/connection.ts";
import type { KeptBodies } from "./kept-bodies.ts";
import type { NewWindows, WatchedWindow } from "./new-windows.ts";
import type { Pause, Pauses } from "./pauses.ts";

/** Between the news that a page opens a window and the window itself: 0 to 5 ms; a busy machine may take a hundred times that. */
const APPEARS_MS = 500;

export interface BlankWindows {
  pause: Pause;
  /** Called for every page and frame before it runs. */
  watch(target: Pick<WatchedWindow, "session" | "type">): void;
  /** With what `holdRequests` gave: from now on windows are watched for. */
  start(pauses: Pauses): void;
}

/**
 * What a page writes into an empty window in the moment it opens it is asked for before the window's network is seen. The
 * page tells that it opens a window before it does: from there until the window is seen every request is held for one round
 * trip, and those that have no id of the network's, which are just these, are followed by their pauses.
 */
export function watchBlankWindows(deps: {
  root: CdpSession;
  clock: Clock;
  bodies: KeptBodies;
  windows: NewWindows;
  /** Whether such requests are stopped: windows are closed before they have asked for anything. */
  stops: boolean;
}): BlankWindows {
  const { root, clock, bodies, windows } = deps;
  let held: Pauses | null = null;
  let opening = 0;

  const onOpen = async () => {
    if (!held) return;
    opening += 1;
    if (opening === 1) held.holdAll(true);
    await clock.sleep(APPEARS_MS);
    await windows.allSeen();
    opening -= 1;
    if (opening === 0) held.holdAll(false);
  };
  return {
    pause: {
      type: "any",
      stage: "Request",
      takes: (paused) => {
        const { requestId, networkId, request } = paused;
        if (networkId !== undefined || !/^https?:/i.test(request.url)) return false;
        if (deps.stops) root.post("Fetch.failRequest", { requestId, errorReason: "Aborted" });
        else bodies.follow(paused);
        return true;
      },
    },
    start: (pauses) => {
      held = pauses;
    },
    watch: ({ session, type }) => {
      if (type === "page" || type === "iframe") session.on("Page.windowOpen", () => void onOpen());
    },
  };
}
