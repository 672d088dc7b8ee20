import type { Protocol } from "../cdp/connection.ts";
import type { Tracked } from "./targets.ts";

/** One request, from its first event to its end; a redirect's last hop stands for all. */
export interface RequestEntry {
  id: string;
  url: string;
  method: string;
  type: string;
  page_url: string;
  /** The document that requested it, or the owner of the worker that did; null when unknown. */
  frame_url: string | null;
  frame_id: string | null;
  /** The id of the document that requested it; a navigation's own request has the navigation's id. */
  loader_id: string;
  /** The document of a page's main frame. */
  is_main_document: boolean;
  /** The target that requested it; another may report the end (cross-process frames). */
  target: Tracked;
  /** Null until the response's headers have arrived. */
  response: Protocol.Network.Response | null;
  headers: Map<string, string>;
  /** Type from the response, or from its raw headers when the response was never reported. */
  mime: string;
  /** Its headers have been sent; until then it waits in the browser for a connection or a service worker. */
  sent: boolean;
  /** Status on the wire: 304 where the page sees 200. */
  wire_status: number | null;
  from_cache: boolean;
  /** Decoded bytes that data events have reported. */
  received: number;
  /** Bytes on the wire with headers, at the end. */
  encoded: number;
  /** Its body is handled elsewhere: a range, a stream, a download. */
  handled: boolean;
  /** From an address that jobs must not read. */
  refused: boolean;
  /** It began after the job was done and is not part of it. */
  late: boolean;
  /** Its document or worker is gone. */
  orphaned: boolean;
  /** It was answered, but its page does not read it. */
  untouched: boolean;
  /** Place among all requests of the browser. */
  began: number;
  /** How many requests had begun when this one was answered. */
  answered_after: number;
}

/** The entry of a request that begins, the `began`th of its browser. */
export function newEntry(
  target: Tracked,
  p: Protocol.Network.RequestWillBeSentEvent,
  began: number,
): RequestEntry {
  return {
    id: p.requestId,
    url: p.request.url,
    method: p.request.method,
    type: p.type ?? "Other",
    page_url: target.page?.url || p.documentURL,
    frame_url: null,
    frame_id: p.frameId ?? null,
    loader_id: p.loaderId,
    is_main_document: isMainDocument(target, p.type, p.frameId),
    target,
    response: null,
    headers: new Map(),
    mime: "",
    sent: false,
    wire_status: null,
    from_cache: false,
    received: 0,
    encoded: 0,
    handled: false,
    refused: false,
    late: false,
    orphaned: false,
    untouched: false,
    began,
    answered_after: 0,
  };
}

/** The entry goes on as that of the request that a redirect leads to. */
export function resetForNextHop(
  entry: RequestEntry,
  p: Protocol.Network.RequestWillBeSentEvent,
): void {
  entry.url = p.request.url;
  entry.method = p.request.method;
  entry.response = null;
  entry.wire_status = null;
  entry.from_cache = false;
  entry.received = 0;
}

/** The main frame of a page has the id of its target. */
const isMainDocument = (target: Tracked, type?: string, frame_id?: string): boolean =>
  type === "Document" && target.type === "page" && frame_id === target.target_id;

export const lowerCased = (headers: Protocol.Network.Headers): Map<string, string> =>
  new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));

/** The length that the server announced, if it is also that of the decoded body. */
export function declaredLength(headers: ReadonlyMap<string, string>): number | null {
  const encoding = headers.get("content-encoding");
  const length = headers.get("content-length");
  if (length === undefined || !/^\d{1,15}$/.test(length)) return null;
  return encoding && encoding !== "identity" ? null : Number(length);
}

/** How far a request has come. The network alone may report an answer while its page is too busy to take it. */
export type Progress = "unsent" | "sent" | "answered";

export function progressOf({ response, wire_status, sent }: RequestEntry): Progress {
  const status = response?.status ?? wire_status;
  // A redirect leads on, so it is not an answer.
  const leads_on = status !== null && status >= 300 && status < 400 && status !== 304;
  if (status !== null && !leads_on) return "answered";
  return sent ? "sent" : "unsent";
}

/** False for responses that never have a body, so that its absence is no loss (rules/capture#bodies-without-a-body). */
export function carriesBody(entry: RequestEntry): boolean {
  const status = entry.response?.status ?? entry.wire_status ?? 0;
  return (
    entry.method !== "HEAD" &&
    !["Preflight", "CSPViolationReport", "WebSocket", "WebTransport"].includes(entry.type) &&
    // Nobody reads a beacon's answer, but its body is kept if it has one.
    (entry.type !== "Ping" || hasBytes(entry)) &&
    status >= 200 &&
    ![204, 205, 304].includes(status)
  );
}

/** Whether bytes of a body came over the wire or from a cache, as far as events show. */
export function hasBytes(entry: RequestEntry): boolean {
  if (entry.received > 0) return true;
  if (entry.encoded - (entry.response?.encodedDataLength ?? 0) > 0) return true;
  return (declaredLength(entry.headers) ?? 0) > 0;
}
