import type { HttpLogin } from "#shared/protocol/schema/http-credentials.ts";
import type { PendingLoad, ShownDocument } from "../actions/loads.ts";
import { AUTO_ATTACH, attachToAll, letRun } from "../cdp/attach.ts";
import type { CdpConnection, CdpSession, Protocol } from "../cdp/connection.ts";
import type { JobTab } from "../lanes/lane-browser.ts";
import { holdRequests, type Pause } from "../record/pauses.ts";
import { countDialogs } from "./dialog-floods.ts";
import type { Dialogs } from "./dialogs.ts";
import { createKeepAway } from "./keep-away.ts";
import { createNetworkLog, type NetworkWatch } from "./network-log.ts";
import { buffersFor, watchSeenWindows } from "./seen-windows.ts";
import { createTabSessions } from "./tab-sessions.ts";
import { createTabs, isInspector, type TabInfo } from "./tabs.ts";

/** What the worker itself sees of a session's browser, over its pipe, even when a page hangs or nobody is connected. */
export interface BrowserWatch {
  readonly network: NetworkWatch;
  /** Oldest first. */
  tabs(): TabInfo[];
  /** A CDP session of this tab; null when it is gone. */
  sessionOf(target_id: string): CdpSession | null;
  /** The documents that tabs are waiting for. */
  pendingLoads(): (PendingLoad & { target_id: string })[];
  /** Asks for the tab as it is at this moment. */
  describe(target_id: string): Promise<TabInfo | null>;
}

export interface WatchDeps {
  connection: CdpConnection;
  /**
   * False while a recorder drives the connection: then this only listens to its sessions, and closes nothing but
   * excess windows.
   */
  alone: boolean;
  /** In somebody else's browser: the tabs that may be seen. All of them are left as they are. */
  only: JobTab | null;
  /** Whether the browser is to keep bodies until they are read. */
  keeps_bodies?: boolean;
  /** Requests that are blocked, before anything else holds them, while nothing records the browser. */
  blocks?: Pause | null;
  /** The login for servers that ask for one; the others ask the person at the session. */
  http_login?: HttpLogin | null;
  /** Why a URL may not be shown or requested, or null. */
  refusal(url: string): string | null;
  /** The same for the address a document came from. */
  refusalOfAddress(address: string, port: number): string | null;
  onRefused(url: string, reason: string): void;
  /** Called once, with a sentence for people, when pages keep the browser too busy. */
  onFlood(message: string): void;
  dialogs: Pick<Dialogs, "follow">;
  /** A tab shows another document. */
  onShown?(target_id: string, document: ShownDocument): void;
  /** A log that continues across a change of watch. */
  network?: NetworkWatch;
}

/** Pages that are not part of the web; a tab that ends up on one is sent to the blank page. */
const ALLOWED = /^(https?:|about:|blob:|data:|chrome-error:|$)/;

function followTabs({ connection, onFlood, onShown }: WatchDeps) {
  const tabs = createTabs(connection, connection.root, onFlood);
  const sessions = createTabSessions((target_id, document) => {
    tabs.shows(target_id, document.url);
    onShown?.(target_id, document);
  });
  return { tabs, sessions };
}

/** The requests that are held while nothing records the browser. A login that is not known is the person's to type. */
const holdFor = ({ connection, blocks, http_login = null }: WatchDeps, windows: Pause) =>
  holdRequests(connection, blocks ? [blocks, windows] : [windows], {
    own: http_login,
    refuses: false,
  });

export async function watchBrowser(deps: WatchDeps): Promise<BrowserWatch> {
  const { connection, alone, only } = deps;
  const { root } = connection;
  const network = deps.network ?? createNetworkLog();
  const { tabs, sessions } = followTabs(deps);
  const keep_away = createKeepAway({
    root,
    sessionOf: sessions.get,
    refusal: deps.refusal,
    refusalOfAddress: deps.refusalOfAddress,
    onRefused: deps.onRefused,
    acts: only === null,
  });
  const buffers = buffersFor(deps.keeps_bodies === true);
  const windows = watchSeenWindows(root, keep_away.asked, buffers);

  const onInfo = ({ targetInfo }: { targetInfo: Protocol.Target.TargetInfo }): void => {
    if (only && !only.owns(targetInfo)) return;
    if (tabs.belongsToBrowser(targetInfo)) return;
    const { targetId, type, url } = targetInfo;
    if (isInspector(targetInfo)) keep_away.leave(targetId, url, "is the browser's inspector");
    else if (type === "page") {
      tabs.add(targetInfo);
      if (!ALLOWED.test(url)) keep_away.leave(targetId, url, "is not a web page");
    }
  };
  const onAttached = (attached: Protocol.Target.AttachedToTargetEvent): void => {
    const { sessionId, targetInfo, waitingForDebugger } = attached;
    const session = connection.session(sessionId);
    if (!session) return;
    if (only && session.parent === root && !only.owns(targetInfo)) return;
    if (tabs.belongsToBrowser(targetInfo)) {
      if (alone) letRun(root, session);
      return;
    }
    const is_page = targetInfo.type === "page";
    session.on("Target.attachedToTarget", onAttached);
    if (alone && is_page) windows.watch(session, targetInfo, waitingForDebugger);
    network.listen(session);
    if (is_page && sessions.add(targetInfo.targetId, session)) onInfo({ targetInfo });
    if (alone) begin(session, targetInfo);
  };
  /** Posted, never awaited: the target is paused, and some commands are answered only when it runs. */
  const begin = (session: CdpSession, { type, targetId }: Protocol.Target.TargetInfo): void => {
    if (type !== "page") session.post("Network.enable", buffers);
    session.post("Target.setAutoAttach", AUTO_ATTACH);
    if (type === "page" || type === "iframe") {
      keep_away.watch(session, targetId);
      // Frames have no dialogs of their own: Chromium reports them on their page.
      if (type === "page")
        deps.dialogs.follow(session, targetId, countDialogs(onDialogs(targetId)));
      session.post("Page.enable");
    }
    // Tabs behind others accept input and run like the one in front.
    if (type === "page") session.post("Emulation.setFocusEmulationEnabled", { enabled: true });
    letRun(root, session);
  };
  const onDialogs = (target_id: string) => (url: string, reason: string) => {
    deps.onRefused(url, reason);
    void tabs.close(target_id);
  };

  root.on("Target.targetCreated", onInfo);
  root.on("Target.targetInfoChanged", onInfo);
  root.on("Target.targetDestroyed", ({ targetId }) => tabs.remove(targetId));
  root.on("Target.attachedToTarget", onAttached);
  if (alone)
    await Promise.all([
      holdFor(deps, windows.pause),
      root.send("Target.setDiscoverTargets", { discover: true }),
      attachToAll(root),
    ]);
  return {
    network,
    tabs: tabs.list,
    sessionOf: sessions.get,
    pendingLoads: () => sessions.pendingLoads((id) => tabs.get(id)?.url ?? "about:blank"),
    describe: tabs.describe,
  };
}
