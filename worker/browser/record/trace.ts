import type { CdpSession, Protocol } from "../cdp/connection.ts";
import type { Tracked } from "./targets.ts";

/** A page that polls for an hour must not fill the worker's memory. */
export const MAX_TRACE_ENTRIES = 20_000;
/** Characters of URLs and headers that are kept; beyond it entries have no headers. */
const MAX_TRACE_CHARS = 32_000_000;
const MAX_URL_CHARS = 16_384;
/** Browsers refuse more than 256 KB of headers of one message; nobody reads values this long. */
const MAX_HEADER_CHARS = 8_192;

export type HeaderRecord = Readonly<Record<string, string>>;

/** What the answer of one hop reported. Times are the browser's monotonic seconds. */
interface TraceResponse {
  status: number;
  status_text: string;
  protocol: string;
  headers: HeaderRecord;
  mime: string;
  address: string;
  connection_id: number;
  timing: Protocol.Network.ResourceTiming | null;
  /** Bytes of its headers on the wire. */
  header_bytes: number;
  from_cache: boolean;
  from_service_worker: boolean;
}

/** One request, or one hop of its redirects. */
export interface TraceEntry {
  request_id: string;
  url: string;
  method: string;
  type: string;
  /** Target id of its page; null for a worker of no page. */
  page_id: string | null;
  page_url: string;
  /** Epoch seconds. */
  wall_time: number;
  /** Monotonic seconds. */
  started: number;
  /** As they were sent, if the browser reported them. */
  request_headers: HeaderRecord;
  response: TraceResponse | null;
  /** Where a redirect leads. */
  redirect_url: string;
  /** Decoded bytes of the body. */
  received: number;
  /** Bytes on the wire with headers; null until the end. */
  encoded: number | null;
  ended: number | null;
  error: string | null;
}

/** When a page's events fired, in monotonic seconds. */
export interface TracePage {
  target_id: string;
  loaded: number | null;
  content_loaded: number | null;
}

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

/** A request from its first event to its end, over all hops. */
interface Chain {
  hops: { entry: TraceEntry; told_raw: boolean }[];
  raw_requests: HeaderRecord[];
  raw_responses: Protocol.Network.ResponseReceivedExtraInfoEvent[];
  /** When bytes were last reported. */
  heard: number;
}

/** What only the browser's gate knows; without a gate, Chromium's own reports count. */
export interface NetworkFacts {
  /**
   * The address that was really connected to for this URL; null when unknown. `connection_id`: Chromium's number of
   * the connection that the answer came over.
   */
  addressOf(url: string, connection_id: number): string | null;
  /** What a failure was. */
  explain(error_text: string, url: string): string;
}

export function createTrace(facts: NetworkFacts | null = null): Trace {
  const entries: TraceEntry[] = [];
  const pages = new Map<string, TracePage>();
  /** Requests under way; their raw headers may be reported before the requests are. */
  const chains = new Map<string, Chain>();
  let chars = 0;
  let dropped = 0;
  let sealed = false;

  const keep = (headers: Protocol.Network.Headers): HeaderRecord => {
    let size = 0;
    for (const [name, value] of Object.entries(headers)) {
      if (value.length > MAX_HEADER_CHARS) headers[name] = value.slice(0, MAX_HEADER_CHARS);
      size += name.length + Math.min(value.length, MAX_HEADER_CHARS);
    }
    if (chars + size > MAX_TRACE_CHARS) return {};
    chars += size;
    return headers;
  };
  const chainOf = (id: string): Chain | null => {
    const known = chains.get(id);
    if (known || sealed || chains.size >= MAX_TRACE_ENTRIES) return known ?? null;
    const chain: Chain = { hops: [], raw_requests: [], raw_responses: [], heard: 0 };
    chains.set(id, chain);
    return chain;
  };
  const current = (id: string): TraceEntry | null => chains.get(id)?.hops.at(-1)?.entry ?? null;

  const onSent = (target: Tracked, p: Protocol.Network.RequestWillBeSentEvent) => {
    const chain = chainOf(p.requestId);
    const last = chain?.hops.at(-1);
    if (!chain || (last && !p.redirectResponse)) return;
    if (last && p.redirectResponse) {
      last.entry.response = responseOf(p.redirectResponse, keep, facts);
      last.entry.encoded = p.redirectResponse.encodedDataLength;
      last.entry.ended = p.timestamp;
      last.entry.redirect_url = p.request.url.slice(0, MAX_URL_CHARS);
      last.told_raw = p.redirectHasExtraInfo === true;
    }
    if (!/^https?:/i.test(p.request.url)) return void (last || chains.delete(p.requestId));
    if (entries.length >= MAX_TRACE_ENTRIES) {
      dropped += 1;
      return;
    }
    const entry = entryOf(target, p, keep);
    chars += entry.url.length;
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
  /** Raw headers belong to the hops that have some, in their order. */
  const applyRaw = ({ hops, raw_requests, raw_responses }: Chain) => {
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
  };
  const end = (id: string, timestamp: number): TraceEntry | null => {
    const chain = chains.get(id);
    const entry = chain?.hops.at(-1)?.entry ?? null;
    if (!chain || !entry) return null;
    chains.delete(id);
    applyRaw(chain);
    entry.ended = timestamp;
    return entry;
  };
  const watchPage = (target: Tracked) => {
    const page: TracePage = { target_id: target.target_id, loaded: null, content_loaded: null };
    pages.set(page.target_id, page);
    const s = target.session;
    s.on("Page.loadEventFired", (p) => {
      page.loaded ??= p.timestamp;
    });
    s.on("Page.domContentEventFired", (p) => {
      page.content_loaded ??= p.timestamp;
    });
  };
  return {
    get entries() {
      // Requests that have not ended have raw headers too.
      for (const chain of chains.values()) applyRaw(chain);
      return entries;
    },
    get pages() {
      return [...pages.values()];
    },
    get dropped() {
      return dropped;
    },
    seal: () => {
      sealed = true;
    },
    settle: (id) => void end(id, chains.get(id)?.heard ?? 0),
    watch: (target) => {
      if (target.type === "page" && pages.size < MAX_TRACE_ENTRIES) watchPage(target);
      const s: CdpSession = target.session;
      s.on("Network.requestWillBeSent", (p) => onSent(target, p));
      s.on("Network.requestWillBeSentExtraInfo", (p) => {
        chainOf(p.requestId)?.raw_requests.push(keep(p.headers));
      });
      s.on("Network.responseReceived", onResponse);
      s.on("Network.responseReceivedExtraInfo", (p) => {
        chainOf(p.requestId)?.raw_responses.push(p);
      });
      s.on("Network.requestServedFromCache", ({ requestId }) => {
        const response = current(requestId)?.response;
        if (response) response.from_cache = true;
      });
      s.on("Network.dataReceived", (p) => {
        const entry = current(p.requestId);
        const chain = chains.get(p.requestId);
        if (chain) chain.heard = p.timestamp;
        if (entry) entry.received += p.dataLength;
      });
      s.on("Network.loadingFinished", (p) => {
        const entry = end(p.requestId, p.timestamp);
        if (entry) entry.encoded = p.encodedDataLength;
      });
      s.on("Network.loadingFailed", (p) => {
        const entry = end(p.requestId, p.timestamp);
        if (!entry) return;
        entry.error = p.blockedReason ?? facts?.explain(p.errorText, entry.url) ?? p.errorText;
      });
    },
  };
}

type Keep = (headers: Protocol.Network.Headers) => HeaderRecord;

function entryOf(
  target: Tracked,
  p: Protocol.Network.RequestWillBeSentEvent,
  keep: Keep,
): TraceEntry {
  return {
    request_id: p.requestId,
    url: p.request.url.slice(0, MAX_URL_CHARS),
    method: p.request.method,
    type: p.type ?? "Other",
    page_id: target.page?.target_id ?? null,
    page_url: target.page?.url || p.documentURL,
    wall_time: p.wallTime,
    started: p.timestamp,
    request_headers: keep(p.request.headers),
    response: null,
    redirect_url: "",
    received: 0,
    encoded: null,
    ended: null,
    error: null,
  };
}

/** Without an address nothing was sent; with a gate in between, Chromium's address is the gate's. */
export const addressOf = (
  { remoteIPAddress = "", url, connectionId }: Protocol.Network.Response,
  facts: NetworkFacts | null,
): string =>
  facts && remoteIPAddress !== "" ? (facts.addressOf(url, connectionId) ?? "") : remoteIPAddress;

const responseOf = (
  r: Protocol.Network.Response,
  keep: Keep,
  facts: NetworkFacts | null,
): TraceResponse => ({
  status: r.status,
  status_text: r.statusText,
  protocol: r.protocol ?? "",
  headers: keep(r.headers),
  mime: r.mimeType,
  address: addressOf(r, facts),
  connection_id: r.connectionId,
  timing: r.timing ?? null,
  header_bytes: r.encodedDataLength,
  from_cache: r.fromDiskCache === true || r.fromPrefetchCache === true,
  from_service_worker: r.fromServiceWorker === true,
});
