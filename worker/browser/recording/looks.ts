import type { RecordingEvent } from "#shared/recording/events.ts";
import type { LiveSession } from "../session/live-session.ts";

/** What a look at a session finds; all of it is held in memory, so a look asks nobody. */
export interface Looked extends Pick<LiveSession, "activeTarget" | "files"> {
  /** Its tabs, oldest first. */
  tabs(): { target_id: string; url: string }[];
  /** Whether the tab waits for a document, whose address it may show already. */
  isLoading(target_id: string): boolean;
}

type Navigation = Extract<RecordingEvent, { type: "navigation" }>;

interface Looks {
  look(): void;
  /** A tab shows another document: a look would see its address alone, half a second later. */
  showed(navigation: Navigation): void;
}

/**
 * Each look tells what has changed since the last one: tabs and what they show, and downloads. Looking twice a second
 * costs less than hearing every event of a busy browser, and slows none of them down.
 */
export function createLooks(live: Looked, tell: (event: RecordingEvent) => void): Looks {
  /** What each shows; nothing as long as it has shown the blank page alone. */
  const tabs = new Map<string, string>();
  const downloads = new Map<string, string>();
  let active: string | null = null;

  const opened = (tab: string, url: string) => {
    if (tabs.has(tab)) return;
    tabs.set(tab, "");
    tell({ type: "tab", state: "opened", tab, url });
  };
  const navigated = (navigation: Navigation & { tab: string }) => {
    const { tab, url } = navigation;
    if (url === "about:blank" && tabs.get(tab) === "") return;
    tabs.set(tab, url);
    tell(navigation);
  };
  const lookAtTabs = () => {
    const now = live.tabs();
    for (const { target_id: tab, url } of now) {
      opened(tab, url);
      if (url !== "" && url !== tabs.get(tab) && !live.isLoading(tab))
        navigated({ type: "navigation", url, tab });
    }
    for (const tab of [...tabs.keys()]) {
      if (now.some(({ target_id }) => target_id === tab)) continue;
      tabs.delete(tab);
      tell({ type: "tab", state: "closed", tab });
    }
    const target = live.activeTarget();
    if (target === active || target === null) return;
    active = target;
    tell({ type: "tab", state: "active", tab: target });
  };
  const lookAtDownloads = () => {
    for (const { name, url, state, size } of live.files.listDownloads()) {
      const before = downloads.get(name);
      if (before === state) continue;
      downloads.set(name, state);
      if (before === undefined) tell({ type: "download", state: "began", name, url });
      if (state === "in_progress") continue;
      const ended = state === "completed" ? "completed" : "failed";
      tell({ type: "download", state: ended, name, url, bytes: size });
    }
  };
  return {
    look: () => {
      lookAtTabs();
      lookAtDownloads();
    },
    showed: (navigation) => {
      const { tab, url } = navigation;
      if (tab === undefined) return tell(navigation);
      opened(tab, url);
      navigated({ ...navigation, tab });
    },
  };
}
