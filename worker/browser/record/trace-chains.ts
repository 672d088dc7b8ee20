import type { Protocol } from "../cdp/connection.ts";
import type { HeaderBudget, HeaderRecord } from "./header-budget.ts";
import type { TraceEntry } from "./trace-entry.ts";

/** What was really answered on the wire. */
interface RawResponse {
  headers: HeaderRecord;
  status: number;
  /** Bytes of its headers; null when they were not told. */
  header_bytes: number | null;
}

export const rawResponseOf = (
  { headers, statusCode, headersText }: Protocol.Network.ResponseReceivedExtraInfoEvent,
  keep: HeaderBudget["keep"],
): RawResponse => ({
  headers: keep(headers),
  status: statusCode,
  header_bytes: headersText?.length ?? null,
});

/** A request from its first event to its end, over all hops. */
export interface Chain {
  hops: { entry: TraceEntry; told_raw: boolean }[];
  raw_requests: HeaderRecord[];
  raw_responses: RawResponse[];
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
  end(id: string, timestamp: number): Chain | null;
  /** Gives the requests under way the raw headers that were reported so far. */
  applyHeaders(): void;
  /** No further requests are followed from now on. */
  seal(): void;
}

/**
 * @param most how many may be under way at once
 * @param onEvicted called with the oldest when it makes room for another; without it no more may begin
 */
export function createChains(most: number, onEvicted?: (chain: Chain) => void): Chains {
  const chains = new Map<string, Chain>();
  let sealed = false;
  const makeRoom = (): boolean => {
    const [oldest] = chains;
    if (!onEvicted || !oldest) return false;
    chains.delete(oldest[0]);
    onEvicted(oldest[1]);
    return true;
  };
  return {
    open: (id) => {
      const known = chains.get(id);
      if (known || sealed) return known ?? null;
      if (chains.size >= most && !makeRoom()) return null;
      const chain: Chain = { hops: [], raw_requests: [], raw_responses: [], heard: 0 };
      chains.set(id, chain);
      return chain;
    },
    get: (id) => chains.get(id),
    current: (id) => chains.get(id)?.hops.at(-1)?.entry ?? null,
    drop: (id) => void chains.delete(id),
    end: (id, timestamp) => {
      const chain = chains.get(id);
      chains.delete(id);
      const last = chain?.hops.at(-1);
      if (!chain || !last) return null;
      applyRaw(chain);
      last.entry.ended = timestamp;
      return chain;
    },
    applyHeaders: () => {
      for (const chain of chains.values()) applyRaw(chain);
    },
    seal: () => {
      sealed = true;
    },
  };
}

/** Raw headers belong to the hops that have some, in their order. */
function applyRaw({ hops, raw_requests, raw_responses }: Chain): void {
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
      headers: response.headers,
      // The page sees 200 for 304 on the wire.
      status: response.status,
      header_bytes: response.header_bytes ?? entry.response.header_bytes,
    };
  }
}
