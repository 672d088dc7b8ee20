import type { Protocol } from "../cdp/connection.ts";
import type { HeaderBudget, HeaderRecord } from "./header-budget.ts";
import type { TraceEntry } from "./trace-entry.ts";

/** A request from its first event to its end, over all hops. */
export interface Chain {
  hops: { entry: TraceEntry; told_raw: boolean }[];
  raw_requests: HeaderRecord[];
  raw_responses: Protocol.Network.ResponseReceivedExtraInfoEvent[];
  /** When bytes were last reported. */
  heard: number;
}

/** Requests under way; their raw headers may be reported before the requests are. */
export interface Chains {
  /** Begins one when it is not known; null when no more may begin. */
  open(id: string): Chain | null;
  get(id: string): Chain | undefined;
  /** The hop under way. */
  current(id: string): TraceEntry | null;
  /** It is not a request of the web. */
  drop(id: string): void;
  /** Ends it; null when it is not known. */
  end(id: string, timestamp: number): TraceEntry | null;
  /** Gives the requests under way the raw headers that were reported so far. */
  applyHeaders(): void;
  /** No further requests are followed from now on. */
  seal(): void;
}

/** @param most how many may be under way at once */
export function createChains(most: number, keep: HeaderBudget["keep"]): Chains {
  const chains = new Map<string, Chain>();
  let sealed = false;
  return {
    open: (id) => {
      const known = chains.get(id);
      if (known || sealed || chains.size >= most) return known ?? null;
      const chain: Chain = { hops: [], raw_requests: [], raw_responses: [], heard: 0 };
      chains.set(id, chain);
      return chain;
    },
    get: (id) => chains.get(id),
    current: (id) => chains.get(id)?.hops.at(-1)?.entry ?? null,
    drop: (id) => void chains.delete(id),
    end: (id, timestamp) => {
      const chain = chains.get(id);
      const entry = chain?.hops.at(-1)?.entry ?? null;
      if (!chain || !entry) return null;
      chains.delete(id);
      applyRaw(chain, keep);
      entry.ended = timestamp;
      return entry;
    },
    applyHeaders: () => {
      for (const chain of chains.values()) applyRaw(chain, keep);
    },
    seal: () => {
      sealed = true;
    },
  };
}

/** Raw headers belong to the hops that have some, in their order. */
function applyRaw({ hops, raw_requests, raw_responses }: Chain, keep: HeaderBudget["keep"]): void {
  let next = 0;
  for (const { entry, told_raw } of hops) {
    if (!told_raw) continue;
    const request = raw_requests[next];
    const response = raw_responses[next];
    next += 1;
    if (request) entry.request_headers = request;
    if (!response || !entry.response) continue;
    entry.response = {
      ...entry.response,
      headers: keep(response.headers),
      // The page sees 200 for 304 on the wire.
      status: response.statusCode,
      header_bytes: response.headersText?.length ?? entry.response.header_bytes,
    };
  }
}
