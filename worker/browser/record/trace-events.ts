import type { CdpSession, Protocol } from "../cdp/connection.ts";
import type { HeaderBudget } from "./header-budget.ts";
import type { Tracked } from "./targets.ts";
import { type Chain, type Chains, rawResponseOf } from "./trace-chains.ts";
import { cutUrl, entryOf, type NetworkFacts, responseOf, type TraceEntry } from "./trace-entry.ts";

export interface FollowDeps {
  chains: Chains;
  keep: HeaderBudget["keep"];
  facts: NetworkFacts | null;
  /** A request of the web, or one hop of its redirects, begins. False: there is no room for it. */
  begin(entry: TraceEntry): boolean;
  /** All that is known of a request is known. */
  over?(chain: Chain, from: { session: CdpSession; id: string }): void;
}

/** Follows the requests of targets whose Network domain somebody has enabled. It only listens. */
export const followRequests =
  (deps: FollowDeps) =>
  (target: Pick<Tracked, "session" | "page">): void => {
    const { chains, keep } = deps;
    const s: CdpSession = target.session;
    const end = (id: string, timestamp: number, use: (entry: TraceEntry) => void) => {
      const chain = chains.end(id, timestamp);
      const last = chain?.hops.at(-1);
      if (!chain || !last) return;
      use(last.entry);
      deps.over?.(chain, { session: s, id });
    };
    s.on("Network.requestWillBeSent", (p) => onSent(deps, target, p));
    s.on("Network.requestWillBeSentExtraInfo", (p) => {
      chains.open(p.requestId)?.raw_requests.push(keep(p.headers));
    });
    s.on("Network.responseReceived", (p) => {
      const last = chains.get(p.requestId)?.hops.at(-1);
      if (!last) return;
      last.entry.type = p.type;
      last.entry.response = responseOf(p.response, keep, deps.facts);
      last.told_raw = p.hasExtraInfo;
    });
    s.on("Network.responseReceivedExtraInfo", (p) => {
      chains.open(p.requestId)?.raw_responses.push(rawResponseOf(p, keep));
    });
    s.on("Network.requestServedFromCache", ({ requestId }) => {
      const response = chains.current(requestId)?.response;
      if (response) response.from_cache = true;
    });
    s.on("Network.dataReceived", (p) => {
      const chain = chains.get(p.requestId);
      if (!chain) return;
      chain.heard = p.timestamp;
      const last = chain.hops.at(-1);
      if (last) last.entry.received += p.dataLength;
    });
    s.on("Network.loadingFinished", (p) =>
      end(p.requestId, p.timestamp, (entry) => {
        entry.encoded = p.encodedDataLength;
      }),
    );
    s.on("Network.loadingFailed", (p) =>
      end(p.requestId, p.timestamp, (entry) => {
        const { blockedReason, errorText } = p;
        entry.error = blockedReason ?? deps.facts?.explain(errorText, entry.url) ?? errorText;
      }),
    );
  };

function onSent(
  { chains, keep, facts, begin }: FollowDeps,
  target: Pick<Tracked, "page">,
  p: Protocol.Network.RequestWillBeSentEvent,
): void {
  const chain = chains.open(p.requestId);
  const last = chain?.hops.at(-1);
  if (!chain || (last && !p.redirectResponse)) return;
  if (last && p.redirectResponse) {
    last.entry.response = responseOf(p.redirectResponse, keep, facts);
    endHop(last, p, p.redirectResponse.encodedDataLength);
  }
  if (!/^https?:/i.test(p.request.url)) return void (last || chains.drop(p.requestId));
  const entry = entryOf(target, p, keep);
  if (!begin(entry)) return;
  chain.hops.push({ entry, told_raw: true });
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
