import type { Protocol } from "../cdp/connection.ts";

/**
 * Windows that pages of one lane may have open in addition to the tabs that somebody asked for; with 200, a session
 * could do nothing else.
 */
export const MAX_PAGE_WINDOWS = 30;

export interface PageWindows {
  /** A tab that nobody asked for has opened; it is closed if it exceeds the limit. */
  opened(tab: Pick<Protocol.Target.TargetInfo, "targetId">): void;
  gone(target_id: string): void;
}

export function boundPageWindows(deps: {
  close(target_id: string): void;
  /** Called once, and again only when at least half of the windows were gone in between. */
  onTooMany(message: string): void;
}): PageWindows {
  const open = new Set<string>();
  /** Windows that are closing: that takes a moment, and the browser reports them until then. */
  const closing = new Set<string>();
  let told = false;

  return {
    opened: ({ targetId }) => {
      if (open.has(targetId) || closing.has(targetId)) return;
      if (open.size < MAX_PAGE_WINDOWS) {
        open.add(targetId);
        return;
      }
      closing.add(targetId);
      deps.close(targetId);
      if (told) return;
      told = true;
      deps.onTooMany(
        `pages opened more than ${MAX_PAGE_WINDOWS} windows: those beyond that are closed`,
      );
    },
    gone: (target_id) => {
      closing.delete(target_id);
      open.delete(target_id);
      if (open.size < MAX_PAGE_WINDOWS / 2) told = false;
    },
  };
}
