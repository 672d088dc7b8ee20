import { bodyDigest, MAX_DIGESTED_BYTES } from "#worker/replay/body-digest.ts";
import type { Protocol } from "../cdp/connection.ts";
import type { HeaderBudget, HeaderRecord } from "./header-budget.ts";
import type { Tracked } from "./targets.ts";

const MAX_URL_CHARS = 16_384;

type Keep = HeaderBudget["keep"];

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
  /** Of the frame that asked for it; null for a worker. */
  frame_id: string | null;
  /** Epoch seconds. */
  wall_time: number;
  /** Monotonic seconds. */
  started: number;
  /** As they were sent, if the browser reported them. */
  request_headers: HeaderRecord;
  /** Of the body it was sent with; null where there was none, or the browser does not show it. */
  body_digest: string | null;
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

/** Bodies of requests are not recorded; this tells those of one URL apart. */
function sentDigest({ hasPostData, postDataEntries, headers }: Protocol.Network.Request) {
  if (!hasPostData || !postDataEntries) return null;
  const parts: Buffer[] = [];
  for (const { bytes } of postDataEntries) {
    // A file, or more than it shows.
    if (bytes === undefined) return null;
    parts.push(Buffer.from(bytes, "base64"));
  }
  const body = Buffer.concat(parts);
  if (body.length === 0 || body.length > MAX_DIGESTED_BYTES) return null;
  const type = Object.entries(headers).find(([name]) => /^content-type$/i.test(name))?.[1];
  return bodyDigest(body, type ?? "");
}

/** A request as it begins. */
export function entryOf(
  target: Pick<Tracked, "page">,
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
    frame_id: p.frameId ?? null,
    wall_time: p.wallTime,
    started: p.timestamp,
    request_headers: keep(p.request.headers),
    body_digest: sentDigest(p.request),
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

export const responseOf = (
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

/** Where a redirect leads, cut like every URL. */
export const cutUrl = (url: string): string => url.slice(0, MAX_URL_CHARS);
