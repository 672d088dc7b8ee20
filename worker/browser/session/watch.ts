import { systemClock } from "#shared/kit/clock.ts";
import { type LoadWatch, type PendingLoad, watchLoads } from "../actions/loads.ts";
import { AUTO_ATTACH, attachToAll } from "../cdp/attach.ts";
import type { CdpConnection, CdpSession, Protocol } from "../cdp/connection.ts";
import type { JobTab } from "../lanes/types.ts";
import { type WatchedWindow, watchNewWindows } from "../record/new-windows.ts";
import { holdRequests } from "../record/pauses.ts";
import type { DialogEvents, Dialogs } from "./dialogs.ts";
import { createNetworkLog, type NetworkWatch } from "./network-log.ts";
import { boundPageWindows } from "./page-windows.ts";

/** A tab as the browser reports it. */
interface TabInfo {
  target_id: string;
  url: string;
  title: string;
}

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
  /** Why a URL may not be shown or requested, or null. */
  refusal(url: string): string | null;
  /** The same for the address a document came from. */
  refusalOfAddress(address: string, port: number): string | null;
  onRefused(url: string, reason: string): void;
  /** Called once, with a sentence for people, when pages keep the browser too busy. */
  onFlood(message: string): void;
  dialogs: Pick<Dialogs, "follow">;
  /** A log that continues across a change of watch. */
  network?: NetworkWatch;
}

const DESCRIBE_MS = 2_000;
/** Bodies are not read here. */
const BUFFERS = { maxTotalBufferSize: 1, maxResourceBufferSize: 1 };

/** More dialogs than this within `DIALOG_MS` are a loop that no click gets out of (rules/session-actions#dialogs). */
const MAX_DIALOGS = 20;
const DIALOG_MS = 5_000;

/** Pages that are not part of the web; a tab that ends up on one is sent to the blank page. */
const ALLOWED = /^(https?:|about:|blob:|data:|chrome-error:|$)/;

/**
 * Chromium's own surfaces, such as the drop-down of the address bar: no tab shows them. They are recognised by their
 * first appearance, because Chromium calls them pages while it closes their window.
 */
const isBrowserUi = ({ type, url }: Protocol.Target.TargetInfo): boolean =>
  type === "browser_ui" || /^chrome:\/\/[a-z-]+\.top-chrome\//.test(url);

export async function watchBrowser(deps: WatchDeps): Promise<BrowserWatch> {
  const { root } = deps.connection;
  const network = deps.network ?? createNetworkLog();
  const tabs = new Map<string, TabInfo>();
  const sessions = new Map<string, CdpSession>();
  const loads = new Map<string, LoadWatch>();
  const browser_ui = new Set<string>();

  /** Whether the target is part of the browser and not of the web; such targets are left as they are. */
  const belongsToBrowser = (info: Protocol.Target.TargetInfo): boolean => {
    if (!tabs.has(info.targetId) && isBrowserUi(info)) browser_ui.add(info.targetId);
    return browser_ui.has(info.targetId);
  };
  const windows = new Map<CdpSession, WatchedWindow>();
  const new_windows = watchNewWindows({
    root,
    clock: systemClock,
    windows: () => [...windows.values()],
    bodies: null,
    onHeld: (_, url, frame_id) => {
      const reason = deps.refusal(url);
      if (reason) leave(frame_id, url, reason);
    },
  });

  const { asked_tabs } = deps.connection;
  const page_windows = boundPageWindows({
    close: (targetId) => root.post("Target.closeTarget", { targetId }),
    onTooMany: deps.onFlood,
  });

  const leave = (target_id: string, url: string, reason: string): void => {
    if (deps.only) return;
    deps.onRefused(url, reason);
    // The inspector's own window cannot be sent anywhere.
    if (url.startsWith("devtools:")) {
      root.post("Target.closeTarget", { targetId: target_id });
      return;
    }
    const session = sessions.get(target_id);
    session?.post("Page.stopLoading");
    session?.post("Page.navigate", { url: "about:blank" });
  };
  const onInfo = ({ targetInfo }: { targetInfo: Protocol.Target.TargetInfo }): void => {
    const { targetId, type, url, title } = targetInfo;
    if (deps.only && !deps.only.owns(targetInfo)) return;
    if (belongsToBrowser(targetInfo)) return;
    const inspector = url.startsWith("devtools:");
    if (type === "page" && !inspector) {
      tabs.set(targetId, { target_id: targetId, url, title });
      if (!asked_tabs.isAsked(targetInfo)) page_windows.opened(targetInfo);
    }
    if (inspector) leave(targetId, url, "is the browser's inspector");
    else if (type === "page" && !ALLOWED.test(url)) leave(targetId, url, "is not a web page");
  };
  const onAttached = (attached: Protocol.Target.AttachedToTargetEvent): void => {
    const { sessionId, targetInfo, waitingForDebugger } = attached;
    const session = deps.connection.session(sessionId);
    if (!session) return;
    if (deps.only && session.parent === root && !deps.only.owns(targetInfo)) return;
    if (belongsToBrowser(targetInfo)) {
      if (deps.alone) session.post("Runtime.runIfWaitingForDebugger");
      return;
    }
    session.on("Target.attachedToTarget", onAttached);
    if (deps.alone && targetInfo.type === "page")
      watchWindow(session, targetInfo, waitingForDebugger);
    network.listen(session);
    if (targetInfo.type === "page" && !sessions.has(targetInfo.targetId)) {
      const { targetId } = targetInfo;
      sessions.set(targetId, session);
      loads.set(targetId, watchLoads(session, targetId));
      void session.closed.then(() => {
        if (sessions.get(targetId) !== session) return;
        sessions.delete(targetId);
        loads.delete(targetId);
      });
      onInfo({ targetInfo });
    }
    if (deps.alone) begin(session, targetInfo);
  };

  function watchWindow(
    session: CdpSession,
    info: Protocol.Target.TargetInfo,
    is_new: boolean,
  ): void {
    const { targetId: target_id, type } = info;
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
  }
  /** Posted, never awaited: the target is paused, and some commands are answered only when it runs. */
  function begin(session: CdpSession, info: Protocol.Target.TargetInfo): void {
    if (info.type !== "page") session.post("Network.enable", BUFFERS);
    session.post("Target.setAutoAttach", AUTO_ATTACH);
    if (info.type === "page" || info.type === "iframe") {
      watchDocuments(session, info.targetId);
      // Frames have no dialogs of their own: Chromium reports them on their page.
      if (info.type === "page") watchDialogs(session, info.targetId);
      session.post("Page.enable");
    }
    // Tabs behind others accept input and run like the one in front.
    if (info.type === "page") session.post("Emulation.setFocusEmulationEnabled", { enabled: true });
    session.post("Runtime.runIfWaitingForDebugger");
  }
  function watchDocuments(session: CdpSession, target_id: string): void {
    session.on("Network.requestWillBeSent", ({ type, request }) => {
      const reason = type === "Document" ? deps.refusal(request.url) : null;
      if (reason) leave(target_id, request.url, reason);
    });
    session.on("Network.responseReceived", ({ type, response }) => {
      const { remoteIPAddress: address, remotePort: port, url } = response;
      if (type !== "Document" || !address || !port) return;
      const reason = deps.refusalOfAddress(address, port);
      if (reason) leave(target_id, url, reason);
    });
  }
  function watchDialogs(session: CdpSession, targetId: string): void {
    let recent: number[] = [];
    const closed: DialogEvents["closed"] = ({ url }, { by_policy }) => {
      if (!by_policy) return;
      const now = performance.now();
      recent = [...recent.filter((at) => now - at < DIALOG_MS), now];
      if (recent.length <= MAX_DIALOGS) return;
      recent = [];
      deps.onRefused(url, `opened more than ${MAX_DIALOGS} dialogs in ${DIALOG_MS / 1_000} s`);
      void closeTab(targetId);
    };
    deps.dialogs.follow(session, targetId, { closed });
  }
  /** Closing the last tab ends the browser, so another is opened first. */
  async function closeTab(target_id: string): Promise<void> {
    if (tabs.size < 2)
      await root.send("Target.createTarget", { url: "about:blank" }).catch(() => {});
    root.post("Target.closeTarget", { targetId: target_id });
  }

  root.on("Target.targetCreated", onInfo);
  root.on("Target.targetInfoChanged", onInfo);
  root.on("Target.targetDestroyed", ({ targetId }) => {
    tabs.delete(targetId);
    browser_ui.delete(targetId);
    asked_tabs.forget(targetId);
    page_windows.gone(targetId);
  });
  root.on("Target.attachedToTarget", onAttached);
  if (deps.alone)
    await Promise.all([
      holdRequests(deps.connection, [new_windows.pause], false),
      root.send("Target.setDiscoverTargets", { discover: true }),
      attachToAll(root),
    ]);
  return {
    network,
    tabs: () => [...tabs.values()],
    sessionOf: (target_id) => sessions.get(target_id) ?? null,
    pendingLoads: () =>
      [...loads].flatMap(([target_id, watch]) => {
        const load = watch.pending(tabs.get(target_id)?.url ?? "about:blank");
        return load ? [{ ...load, target_id }] : [];
      }),
    describe: async (target_id) => {
      if (!tabs.has(target_id)) return null;
      const params = { targetId: target_id };
      const answer = await root
        .send("Target.getTargetInfo", params, { timeout_ms: DESCRIBE_MS })
        .catch(() => null);
      if (!answer) return tabs.get(target_id) ?? null;
      const { url, title } = answer.targetInfo;
      return { target_id, url, title };
    },
  };
}
