import type { DialogEvents } from "./dialogs.ts";

/** More dialogs than this within `DIALOG_MS` are a loop that no click gets out of (rules/session-actions#dialogs). */
const MAX_DIALOGS = 20;
const DIALOG_MS = 5_000;

/** The events by which one page's dialogs are counted. @param onFlood called with the page's URL, and what it did */
export function countDialogs(onFlood: (url: string, reason: string) => void): DialogEvents {
  let recent: number[] = [];
  return {
    closed: ({ url }, { by_policy }) => {
      if (!by_policy) return;
      const now = performance.now();
      recent = [...recent.filter((at) => now - at < DIALOG_MS), now];
      if (recent.length <= MAX_DIALOGS) return;
      recent = [];
      onFlood(url, `opened more than ${MAX_DIALOGS} dialogs in ${DIALOG_MS / 1_000} s`);
    },
  };
}
