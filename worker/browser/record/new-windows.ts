import type { Clock } from "#shared/kit/clock.ts";
import type { CdpSession, Protocol } from "../cdp/connection.ts";
import { goingOn } from "../cdp/late-headers.ts";
import type { KeptBodies } from "./kept-bodies.ts";
import type { Pause } from "./pauses.ts";

type Paused = Protocol.Fetch.RequestPausedEvent;

/** A window whose network is being switched on. */
export interface WatchedWindow {
  session: CdpSession;
  target_id: string;
  type: string;
  /** It was opened while we watched, so we must see everything that it requests. */
  is_new: boolean;
  is_seen: boolean;
  /** Resolves when its network is visible. Never rejects. */
  seen: Promise<unknown>;
}

/** A window whose renderer is busy may continue after this time, whether or not its network is visible. */
const SEEN_MS = 5_000;

export interface NewWindowDeps {
  root: CdpSession;
  clock: Clock;
  windows(): WatchedWindow[];
  /** Null when nothing is read. */
  bodies: KeptBodies | null;
  /**
   * A document that the network reports to nobody is held; `id` is that of the pause; a window's frame has the
   * window's id.
   */
  onHeld(id: string, url: string, frame_id: string): void;
  /** It was answered, and is reported from its answer. */
  onAnswered?(id: string): void;
}

export interface NewWindows {
  /** Holds documents until the network of their window is visible. */
  pause: Pause;
  /** Called for every window before it runs, and before other listeners of its network. */
  watch(target: WatchedWindow): void;
  /** Resolves when the network of all windows is visible, or `SEEN_MS` have passed. */
  allSeen(): Promise<void>;
  /** Whether a request began before the network of its window was visible: no session has its body. */
  isUnseen(request_id: string): boolean;
}

/** When a window has reported a request. */
const reports = new WeakMap<WatchedWindow, Promise<void>>();

const hearReport = (window: WatchedWindow): void => {
  const { session } = window;
  const first = new Promise<void>((resolve) =>
    session.on("Network.requestWillBeSent", () => resolve()),
  );
  reports.set(window, first);
};
/** A window without an opener has no renderer that could answer before its document comes, but reports its request. */
const isVisible = (window: WatchedWindow): Promise<unknown> =>
  Promise.race([window.seen, reports.get(window) ?? window.seen]);

/** Whether the network has reported a held request. `told`: what it has reported of new windows. */
const isReported = ({ networkId }: Paused, told: Set<string>, owner?: WatchedWindow): boolean =>
  networkId !== undefined && (owner?.is_new !== true || told.has(networkId));

/**
 * A window with an opener runs from the start (`cdp/attach.ts` says why), so its network is switched on while it
 * begins to load. Until that is done, its document request is held before it is sent. Of a request that began earlier
 * the browser reports only its answer, and its body can be read only at a pause: it is kept there, and the request is
 * reported from its answer. Most of them have no network id (measured: `networkId` is missing, even after redirects);
 * one that began while the network was being switched on has an id that was never reported (2 of 73; the other 71
 * were reported before they were held).
 */
export function watchNewWindows(deps: NewWindowDeps): NewWindows {
  const { root, clock, bodies } = deps;
  /** Requests of new windows that were reported. */
  const told = new Set<string>();
  const unseen = new Set<string>();
  const whenSeen = async (waited: WatchedWindow[]): Promise<void> => {
    if (waited.length === 0) return;
    const over = new AbortController();
    const all = Promise.all(waited.map(isVisible));
    await Promise.race([all, clock.sleep(SEEN_MS, over.signal)]);
    over.abort();
  };
  const unseenWindows = () => deps.windows().filter((w) => !w.is_seen);
  const ownerOf = ({ frameId }: Paused) => deps.windows().find((w) => w.target_id === frameId);

  const release = async (paused: Paused) => {
    const { requestId, request, frameId } = paused;
    const owner = ownerOf(paused);
    const was_told = isReported(paused, told, owner);
    if (!was_told) deps.onHeld(requestId, request.url, frameId);
    await whenSeen(owner ? [owner] : unseenWindows());
    const is_told = isReported(paused, told, owner);
    const onAnswered = () => deps.onAnswered?.(requestId);
    if (!is_told && bodies) return bodies.follow(paused, onAnswered);
    root.post("Fetch.continueRequest", goingOn(root, paused, !is_told));
    if (!was_told) onAnswered();
  };
  const onSent = (p: Protocol.Network.RequestWillBeSentEvent) => {
    if (p.redirectResponse && !told.has(p.requestId)) unseen.add(p.requestId);
    told.add(p.requestId);
  };
  const onResponse = (target: WatchedWindow, p: Protocol.Network.ResponseReceivedEvent) => {
    const { requestId, response, type, frameId, loaderId } = p;
    if (told.has(requestId) || !/^https?:/i.test(response.url)) return;
    unseen.add(requestId);
    const timestamp = response.timing?.requestTime ?? p.timestamp;
    target.session.emit("Network.requestWillBeSent", {
      requestId,
      loaderId,
      documentURL: response.url,
      request: {
        url: response.url,
        method: "GET",
        headers: response.requestHeaders ?? {},
        initialPriority: "Medium",
        referrerPolicy: "strict-origin-when-cross-origin",
      },
      timestamp,
      wallTime: clock.now() / 1_000 - (p.timestamp - timestamp),
      initiator: { type: "other" },
      redirectHasExtraInfo: false,
      type,
      frameId,
    } satisfies Protocol.Network.RequestWillBeSentEvent);
  };
  return {
    pause: {
      type: "Document",
      stage: "Request",
      takes: (paused) => {
        const owner = ownerOf(paused);
        const is_told = isReported(paused, told, owner);
        const may_pass = owner
          ? owner.is_seen && (is_told || !owner.is_new)
          : is_told || unseenWindows().length === 0;
        if (!may_pass) void release(paused);
        return !may_pass;
      },
    },
    watch: (target) => {
      if (!target.is_new || target.type !== "page") return;
      hearReport(target);
      target.session.on("Network.requestWillBeSent", onSent);
      target.session.on("Network.responseReceived", (p) => onResponse(target, p));
    },
    allSeen: () => whenSeen(unseenWindows()),
    isUnseen: (request_id) => unseen.has(request_id),
  };
}
