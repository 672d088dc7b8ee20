import type { Clock } from "#shared/kit/clock.ts";
import type { CdpSession } from "../cdp/connection.ts";
import type { KeptBodies } from "./kept-bodies.ts";
import type { NewWindows, WatchedWindow } from "./new-windows.ts";
import type { Pause, Pauses } from "./pauses.ts";

/**
 * A page that writes into windows opens several, and what the next one requests is seen only if requests are held by
 * then: on a busy machine the command took 99 ms, and a picture was requested in that time 150 ms after the hold for the
 * window before had ended. A window appears 0 to 5 ms after its event, on a busy machine within half a second.
 */
const HELD_MS = 2_000;

export interface BlankWindows {
  pause: Pause;
  /** Called for every page and frame before it runs. */
  watch(target: Pick<WatchedWindow, "session" | "type">): void;
  /** Takes the result of `holdRequests`; from now on new windows are watched. */
  start(pauses: Pauses): void;
}

/**
 * When a page writes into an empty window right after opening it, the window's requests begin before its network is
 * visible. The page announces that it opens a window before it does: from then until the window is visible, and for a
 * while after, every request is held for one round trip, and those without a network id, which are exactly these, are
 * tracked by their pauses.
 */
export function watchBlankWindows(deps: {
  root: CdpSession;
  clock: Clock;
  bodies: KeptBodies;
  windows: NewWindows;
  /** Whether such requests are stopped: windows are closed before they have requested anything. */
  stops: boolean;
}): BlankWindows {
  const { root, clock, bodies, windows } = deps;
  let held: Pauses | null = null;
  let opening = 0;

  const onOpen = async () => {
    if (!held) return;
    opening += 1;
    if (opening === 1) held.holdAll(true);
    await clock.sleep(HELD_MS);
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
