import { createHeaderBudget } from "./header-budget.ts";
import type { Tracked } from "./targets.ts";
import { createChains } from "./trace-chains.ts";
import type { NetworkFacts, TraceEntry } from "./trace-entry.ts";
import { followRequests } from "./trace-events.ts";
import { createTracePages, type TracePage } from "./trace-pages.ts";

/** A page that polls for an hour must not fill the worker's memory. */
export const MAX_TRACE_ENTRIES = 20_000;

/**
 * Everything the browser asked for, in the order in which it began: the source of `har.json` and of the video
 * finder.
 */
export interface Trace {
  watch(target: Tracked): void;
  readonly entries: readonly TraceEntry[];
  readonly pages: readonly TracePage[];
  /** Number of requests that came when the trace was full. */
  readonly dropped: number;
  /** Requests that begin from now on are left out; those under way are still followed. */
  seal(): void;
  /** All bytes of this request have arrived, although no end was reported. */
  settle(request_id: string): void;
}

export function createTrace(facts: NetworkFacts | null = null): Trace {
  const entries: TraceEntry[] = [];
  const pages = createTracePages();
  const { keep, charge } = createHeaderBudget();
  const chains = createChains(MAX_TRACE_ENTRIES);
  let dropped = 0;
  const begin = (entry: TraceEntry): boolean => {
    if (entries.length >= MAX_TRACE_ENTRIES) {
      dropped += 1;
      return false;
    }
    charge(entry.url.length);
    entries.push(entry);
    return true;
  };
  const follow = followRequests({ chains, keep, facts, begin });
  return {
    get entries() {
      // Requests that have not ended have raw headers too.
      chains.applyHeaders();
      return entries;
    },
    get pages() {
      return pages.list();
    },
    get dropped() {
      return dropped;
    },
    seal: chains.seal,
    settle: (id) => void chains.end(id, chains.get(id)?.heard ?? 0),
    watch: (target) => {
      pages.watch(target);
      follow(target);
    },
  };
}
