import type { RecordingEvent } from "#shared/recording/events.ts";
import type { LiveSession } from "../session/live-session.ts";

/** What a look at a session finds; all of it is held in memory, so a look asks nobody. */
export interface Looked extends Pick<LiveSession, "activeTarget" | "files"> {
  /** Its tabs, oldest first. */
  tabs(): { target_id: string; url: string }[];
}

/**
 * Returns the function that tells what has changed since its last call: tabs and what they show, and
 * downloads. Looking twice a second costs less than hearing every event of a busy browser, and slows none of them down.
 */
export function createLooks(live: Looked, tell: (event: RecordingEvent) => void): () => void {
  const tabs = new Map<string, string>();
  const downloads = new Map<string, string>();
  let active: string | null = null;

  const lookAtTabs = () => {
    const now = live.tabs();
    for (const { target_id: tab, url } of now) {
      const before = tabs.get(tab);
      tabs.set(tab, url);
      if (before === undefined) tell({ type: "tab", state: "opened", tab, url });
      if (before !== url && url !== "" && (before !== undefined || url !== "about:blank"))
        tell({ type: "navigation", url, tab });
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
  return () => {
    lookAtTabs();
    lookAtDownloads();
  };
}
