import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import { isSessionAction, SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import { ACTION_TIMEOUT_S } from "#shared/protocol/limits.ts";
import type { CdpSession } from "../cdp/connection.ts";

/**
 * A document that a tab has requested and that has not begun to arrive. Meanwhile Chromium runs no command in the
 * page that is still there: scripts, text and screenshots wait as long as the server takes.
 */
export interface PendingLoad {
  url: string;
  /** When it began, on the clock of `performance.now()`. */
  since: number;
  /** Aborts the load, so that the page answers again; never rejects. */
  stop(): Promise<void>;
}

/** One of a session's tabs that waits for its document. */
export interface TabLoad extends PendingLoad {
  /** Whether actions go to this tab. */
  active: boolean;
}

/** A document that a tab shows from now on. */
export interface ShownDocument {
  url: string;
  /** Of its answer; null where it has none, such as a page of the browser itself. */
  status: number | null;
}

export interface LoadWatch {
  /**
   * What the tab is waiting for, or null. `shown`: the address that the browser shows for it; a window without one
   * requested its first document before anybody could listen.
   */
  pending(shown: string): PendingLoad | null;
}

/** The browser's own process answers this. */
const STOP_MS = 1_000;
/**
 * As long as an action waits by default: a server that has been silent for that long must not hold anybody up any
 * longer.
 */
const PATIENCE_MS = ACTION_TIMEOUT_S.default * 1_000;

/** The hub's own calls that only look: a load that begins meanwhile has another cause. */
const LOOKS: ReadonlySet<string> = new Set(["state", "snapshot"]);
const beginsLoad = (action: string): boolean =>
  isSessionAction(action) ? SESSION_ACTIONS[action].begins_load : !LOOKS.has(action);

/**
 * After an action that ran out of time: stops the loads that it began, and a load that kept its tab from answering
 * for longer than anybody waits. Loads that another action or a person has begun since continue.
 * @param since when the action began, on the clock of `performance.now()`
 * @returns a clause about what was stopped, or null.
 */
export async function stopLateLoads(
  loads: readonly TabLoad[],
  action: string,
  since: number,
): Promise<string | null> {
  const now = performance.now();
  const own = (load: TabLoad) => beginsLoad(action) && load.since >= since;
  const stuck = (load: TabLoad) => load.active && now - load.since >= PATIENCE_MS;
  const late = loads.filter((load) => own(load) || stuck(load));
  await Promise.all(late.map((load) => load.stop()));
  const [first] = late;
  if (first) return `${shown(first.url)} did not answer, so its load was stopped`;
  const waiting = loads.find((load) => load.active);
  return waiting ? `the tab waits for ${shown(waiting.url)} to answer` : null;
}

const MAX_SHOWN = 300;

const shown = (raw: string): string => {
  if (raw === "") return "the new window";
  const url = hideCredentials(raw);
  return url.length > MAX_SHOWN ? `${url.slice(0, MAX_SHOWN)}…` : url;
};

/**
 * Follows the documents of a tab's main frame through a session whose Network and Page domains somebody has enabled.
 */
export function watchLoads(
  session: CdpSession,
  target_id: string,
  onShown: (document: ShownDocument) => void = () => {},
): LoadWatch {
  let load: (PendingLoad & { id: string }) | null = null;
  let answered: { loader: string; status: number } | null = null;
  const opened = performance.now();
  /** True while a window has had no document yet, not even the blank one: no client learns of it before that. */
  let empty = session.target?.url === "";
  const stop = async (): Promise<void> => {
    const within = { timeout_ms: STOP_MS };
    await session.send("Page.stopLoading", undefined, within).catch(() => {});
    if (empty) await session.send("Page.navigate", { url: "about:blank" }, within).catch(() => {});
  };
  const over = (id: string): void => {
    if (load?.id === id) load = null;
  };

  session.on("Network.requestWillBeSent", ({ type, frameId, requestId, request }) => {
    // The main frame of a tab has the id of its target.
    if (type !== "Document" || frameId !== target_id) return;
    // A redirect is the same load.
    const since = load?.id === requestId ? load.since : performance.now();
    load = { id: requestId, url: request.url, since, stop };
  });
  session.on("Network.responseReceived", ({ type, frameId, loaderId, response }) => {
    if (type === "Document" && frameId === target_id)
      answered = { loader: loaderId, status: response.status };
  });
  // The load ended without a document: a download, a 204, or an aborted load.
  session.on("Network.loadingFailed", ({ requestId }) => over(requestId));
  session.on("Network.loadingFinished", ({ requestId }) => over(requestId));
  session.on("Page.frameNavigated", ({ frame }) => {
    if (frame.id !== target_id) return;
    load = null;
    empty = false;
    const { loaderId, url, urlFragment = "", unreachableUrl } = frame;
    const status = answered?.loader === loaderId && !unreachableUrl ? answered.status : null;
    onShown({ url: unreachableUrl || url + urlFragment, status });
  });
  const first = { url: "", since: opened, stop };
  return { pending: (shown) => load ?? (empty && shown === "" ? first : null) };
}
