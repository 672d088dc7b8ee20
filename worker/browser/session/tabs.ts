import type { CdpConnection, CdpSession, Protocol } from "../cdp/connection.ts";
import { boundPageWindows } from "./page-windows.ts";

/** A tab as the browser reports it. */
export interface TabInfo {
  target_id: string;
  url: string;
  title: string;
}

const DESCRIBE_MS = 2_000;

/**
 * Chromium's own surfaces, such as the drop-down of the address bar: no tab shows them. They are recognised by their
 * first appearance, because Chromium calls them pages while it closes their window.
 */
const isOwnSurface = ({ type, url }: Protocol.Target.TargetInfo): boolean =>
  type === "browser_ui" || /^chrome:\/\/[a-z-]+\.top-chrome\//.test(url);

/** The browser's inspector, which is not a tab of the web. */
export const isInspector = ({ url }: { url: string }): boolean => url.startsWith("devtools:");

/** The tabs of a browser, oldest first. */
export interface Tabs {
  list(): TabInfo[];
  get(target_id: string): TabInfo | null;
  /** A tab is there, or has changed. */
  add(info: Protocol.Target.TargetInfo): void;
  /** It shows this document: events of the page come before those of the browser, or after them. */
  shows(target_id: string, url: string): void;
  remove(target_id: string): void;
  /** Whether the target is part of the browser and not of the web; such targets are left as they are. */
  belongsToBrowser(info: Protocol.Target.TargetInfo): boolean;
  /** Asks for the tab as it is at this moment; null when it is gone. */
  describe(target_id: string): Promise<TabInfo | null>;
  /** Closing the last tab ends the browser, so another is opened first. */
  close(target_id: string): Promise<void>;
}

/** @param onFlood called once, with a sentence for people, when pages open too many windows */
export function createTabs(
  { asked_tabs }: Pick<CdpConnection, "asked_tabs">,
  root: CdpSession,
  onFlood: (message: string) => void,
): Tabs {
  const tabs = new Map<string, TabInfo>();
  const browser_ui = new Set<string>();
  const page_windows = boundPageWindows({
    close: (targetId) => root.post("Target.closeTarget", { targetId }),
    onTooMany: onFlood,
  });
  return {
    list: () => [...tabs.values()],
    get: (target_id) => tabs.get(target_id) ?? null,
    add: (info) => {
      const { targetId, url, title } = info;
      tabs.set(targetId, { target_id: targetId, url, title });
      if (!asked_tabs.isAsked(info)) page_windows.opened(info);
    },
    shows: (target_id, url) => {
      const tab = tabs.get(target_id);
      if (tab) tab.url = url;
    },
    remove: (target_id) => {
      tabs.delete(target_id);
      browser_ui.delete(target_id);
      asked_tabs.forget(target_id);
      page_windows.gone(target_id);
    },
    belongsToBrowser: (info) => {
      if (!tabs.has(info.targetId) && isOwnSurface(info)) browser_ui.add(info.targetId);
      return browser_ui.has(info.targetId);
    },
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
    close: async (target_id) => {
      if (tabs.size < 2)
        await root.send("Target.createTarget", { url: "about:blank" }).catch(() => {});
      root.post("Target.closeTarget", { targetId: target_id });
    },
  };
}
