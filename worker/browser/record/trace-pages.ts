import type { Tracked } from "./targets.ts";

/** When a page's events fired, in monotonic seconds. */
export interface TracePage {
  target_id: string;
  loaded: number | null;
  content_loaded: number | null;
}

/** A job that opens ever more pages must not fill the worker's memory. */
const MAX_PAGES = 20_000;

/** When the pages of a job were loaded. */
export interface TracePages {
  /** Listens to a page; other targets have no such events. */
  watch(target: Tracked): void;
  list(): TracePage[];
}

export function createTracePages(): TracePages {
  const pages = new Map<string, TracePage>();
  return {
    list: () => [...pages.values()],
    watch: ({ type, target_id, session }) => {
      if (type !== "page" || pages.size >= MAX_PAGES) return;
      const page: TracePage = { target_id, loaded: null, content_loaded: null };
      pages.set(target_id, page);
      session.on("Page.loadEventFired", (p) => {
        page.loaded ??= p.timestamp;
      });
      session.on("Page.domContentEventFired", (p) => {
        page.content_loaded ??= p.timestamp;
      });
    },
  };
}
