import type { CdpSession, Protocol } from "../cdp/connection.ts";
import { createHeaderBudget } from "./header-budget.ts";
import type { Tracked } from "./targets.ts";
import { type Chain, createChains } from "./trace-chains.ts";
import { cutUrl, entryOf, type NetworkFacts, responseOf, type TraceEntry } from "./trace-entry.ts";
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
  const budget = createHeaderBudget();
  const { keep } = budget;
  const chains = createChains(MAX_TRACE_ENTRIES, keep);
  let dropped = 0;

  const onSent = (target: Tracked, p: Protocol.Network.RequestWillBeSentEvent) => {
    const chain = chains.open(p.requestId);
    const last = chain?.hops.at(-1);
    if (!chain || (last && !p.redirectResponse)) return;
    if (last && p.redirectResponse) {
      last.entry.response = responseOf(p.redirectResponse, keep, facts);
      endHop(last, p, p.redirectResponse.encodedDataLength);
    }
    if (!/^https?:/i.test(p.request.url)) return void (last || chains.drop(p.requestId));
    if (entries.length >= MAX_TRACE_ENTRIES) {
      dropped += 1;
      return;
    }
    const entry = entryOf(target, p, keep);
    budget.charge(entry.url.length);
    entries.push(entry);
    chain.hops.push({ entry, told_raw: true });
  };
  const onResponse = (p: Protocol.Network.ResponseReceivedEvent) => {
    const last = chains.get(p.requestId)?.hops.at(-1);
    if (!last) return;
    last.entry.type = p.type;
    last.entry.response = responseOf(p.response, keep, facts);
    last.told_raw = p.hasExtraInfo;
  };
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
      const s: CdpSession = target.session;
      s.on("Network.requestWillBeSent", (p) => onSent(target, p));
      s.on("Network.requestWillBeSentExtraInfo", (p) => {
        chains.open(p.requestId)?.raw_requests.push(keep(p.headers));
      });
      s.on("Network.responseReceived", onResponse);
      s.on("Network.responseReceivedExtraInfo", (p) => {
        chains.open(p.requestId)?.raw_responses.push(p);
      });
      s.on("Network.requestServedFromCache", ({ requestId }) => {
        const response = chains.current(requestId)?.response;
        if (response) response.from_cache = true;
      });
      s.on("Network.dataReceived", (p) => {
        const entry = chains.current(p.requestId);
        const chain = chains.get(p.requestId);
        if (chain) chain.heard = p.timestamp;
        if (entry) entry.received += p.dataLength;
      });
      s.on("Network.loadingFinished", (p) => {
        const entry = chains.end(p.requestId, p.timestamp);
        if (entry) entry.encoded = p.encodedDataLength;
      });
      s.on("Network.loadingFailed", (p) => {
        const entry = chains.end(p.requestId, p.timestamp);
        if (!entry) return;
        entry.error = p.blockedReason ?? facts?.explain(p.errorText, entry.url) ?? p.errorText;
      });
    },
  };
}

/** A redirect was answered, and leads on to the request of `p`. */
function endHop(
  hop: Chain["hops"][number],
  p: Protocol.Network.RequestWillBeSentEvent,
  encoded: number,
): void {
  hop.entry.encoded = encoded;
  hop.entry.ended = p.timestamp;
  hop.entry.redirect_url = cutUrl(p.request.url);
  hop.told_raw = p.redirectHasExtraInfo === true;
}
