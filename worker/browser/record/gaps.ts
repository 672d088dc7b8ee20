import { sourceOf } from "./body-source.ts";
import type { Downloads } from "./downloads.ts";
import type { Ledger, LossReason } from "./ledger.ts";
import { closeOpen, type Unanswered } from "./left-open.ts";
import type { RequestTable } from "./request-table.ts";
import type { RequestEntry } from "./requests.ts";
import type { Wanted } from "./wanted.ts";
import type { WindowWatch } from "./window-watch.ts";

export interface GapsDeps {
  table: RequestTable;
  ledger: Ledger;
  downloads: Pick<Downloads, "has">;
  windows: Pick<WindowWatch, "finish">;
  wanted: Wanted;
  /** The page that is open, for anything that no request shows. */
  pageUrl(): string;
}

/** What is missing can often be said only when the job ends; this enters it in the ledger then. */
export interface Gaps {
  /** An aborted document, which may turn out to be a download. */
  aborted(entry: RequestEntry, reason: LossReason): void;
  /** The job ends. */
  close(): void;
  /** Requests that had no answer by then. */
  unanswered(): Unanswered;
}

export function createGaps({ table, ledger, downloads, ...deps }: GapsDeps): Gaps {
  const aborted: { entry: RequestEntry; reason: LossReason }[] = [];
  let unanswered: Unanswered = { unsent: [], sent: [] };
  return {
    aborted: (entry, reason) => void aborted.push({ entry, reason }),
    unanswered: () => unanswered,
    close: () => {
      unanswered = closeOpen(table, deps.wanted.has, ledger);
      for (const { entry, reason } of aborted)
        if (entry.received > 0 && !downloads.has(entry.url)) ledger.lost(sourceOf(entry), reason);
      for (const url of deps.windows.finish())
        if (!ledger.isWhole(url) && !downloads.has(url))
          ledger.lost(unreported(url, deps.pageUrl()), "target_gone");
    },
  };
}

/** Its window was gone before its answers were reported. */
const unreported = (url: string, page_url: string) => ({
  url,
  page_url,
  frame_url: null,
  mime: "",
  status: null,
  from_cache: false,
  from_service_worker: false,
  paired: false,
});
