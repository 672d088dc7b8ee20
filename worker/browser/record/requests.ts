import type { CdpSession, Protocol } from "../cdp/connection.ts";
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

export interface RequestEvents {
  /** `is_hop`: it is the result of a redirect. */
  onRequest(entry: RequestEntry, is_hop: boolean): void;
  /** A hop of a redirect was answered: it has headers and an address, and never a body. */
  onRedirect(entry: RequestEntry, response: Protocol.Network.Response): void;
  onResponse(entry: RequestEntry): void;
  onData(entry: RequestEntry): void;
  /** `by`: the target that reported the end; its session can read the body. */
  onFinished(entry: RequestEntry, by: Tracked): void;
  /** Called again when the headers of an answer arrive after all. */
  onFailed(entry: RequestEntry, by: Tracked, error: string, canceled: boolean): void;
  /** Its document or worker is gone: the end may never be reported, however much has arrived. */
  onOrphan(entry: RequestEntry): void;
}

export interface RequestTable {
  watch(target: Tracked): void;
  get(id: string): RequestEntry | null;
  open(): RequestEntry[];
  /** Removes and returns an entry whose end will not come; null when it has come. */
  take(id: string): RequestEntry | null;
}

/** Workers that workers create. */
const MAX_WORKER_DEPTH = 4;

/** Keyed by request id for the whole browser: a frame in another process begins on one session and ends on another. */
export function createRequestTable(events: RequestEvents): RequestTable {
  const table = new Map<string, RequestEntry>();
  /** Extra-info events may come before the request's own. */
  const early = new Map<string, Protocol.Network.ResponseReceivedExtraInfoEvent>();
  const early_sent = new Set<string>();
  /** Documents by the scripts they requested, one of which is a worker's. */
  const owners = new Map<string, string>();
  /** Documents by their frame: a worker whose script's request is not reported has the owner of its process. */
  const documents = new Map<string, string>();
  /** Requests that failed without an answer as far as is known: another process reports the headers, perhaps later. */
  const unanswered = new Map<string, { entry: RequestEntry; tell(): void }>();
  let begun = 0;

  /** A worker's worker has the same owner as its parent. */
  const ownerOf = ({ parent, session }: Tracked): string | null => {
    if (parent === null) return null;
    if (!isOfDocument(parent)) return ownerOf(parent);
    const script = session.target?.url ?? "";
    const owner = documentOf(parent, script);
    return owner === script ? (documents.get(parent.target_id) ?? null) : owner;
  };
  /** The page also reports the requests of its dedicated workers, with the worker's script as their document. */
  const documentOf = (target: Tracked, url: string): string => {
    let document = url;
    for (let depth = 0; depth < MAX_WORKER_DEPTH; depth += 1)
      document = owners.get(ownerKey(target, document)) ?? document;
    return document;
  };

  const onSent = (target: Tracked, p: Protocol.Network.RequestWillBeSentEvent) => {
    const open = table.get(p.requestId);
    if (open && p.redirectResponse) {
      events.onRedirect(open, p.redirectResponse);
      resetForNextHop(open, p);
      return events.onRequest(open, true);
    }
    if (open || !/^https?:/i.test(p.request.url)) return;
    const entry = newEntry(target, p, begun++);
    if (p.type === "Script" && isOfDocument(target))
      owners.set(ownerKey(target, p.request.url), p.documentURL);
    entry.frame_url = isOfDocument(target) ? documentOf(target, p.documentURL) : ownerOf(target);
    entry.sent = early_sent.delete(p.requestId);
    table.set(p.requestId, entry);
    events.onRequest(entry, false);
  };
  const onResponse = (target: Tracked, p: Protocol.Network.ResponseReceivedEvent) => {
    const entry = table.get(p.requestId);
    if (!entry) return;
    entry.response = p.response;
    entry.answered_after = begun;
    entry.type = p.type;
    entry.headers = lowerCased(p.response.headers);
    entry.mime = p.response.mimeType;
    entry.wire_status = early.get(p.requestId)?.statusCode ?? entry.wire_status;
    entry.from_cache ||=
      p.response.fromDiskCache === true ||
      p.response.fromPrefetchCache === true ||
      entry.wire_status === 304;
    if (entry.is_main_document) {
      if (target.page) target.page.url = p.response.url;
      entry.page_url = p.response.url;
    }
    if (entry.type === "Document") {
      entry.frame_url = p.response.url;
      if (entry.frame_id !== null) documents.set(entry.frame_id, p.response.url);
    }
    events.onResponse(entry);
  };
  const onExtraInfo = (p: Protocol.Network.ResponseReceivedExtraInfoEvent) => {
    const failed = unanswered.get(p.requestId);
    const entry = failed?.entry ?? table.get(p.requestId);
    if (!entry) return void early.set(p.requestId, p);
    entry.wire_status = p.statusCode;
    if (!entry.response) {
      // Used until the response itself is reported, which never happens when a navigation comes first.
      entry.headers = lowerCased(p.headers);
      entry.mime = entry.headers.get("content-type")?.split(";")[0] ?? "";
    }
    if (p.statusCode === 304) entry.from_cache = true;
    unanswered.delete(p.requestId);
    failed?.tell();
  };
  const close = (id: string): RequestEntry | null => {
    const entry = table.get(id) ?? null;
    table.delete(id);
    early.delete(id);
    return entry;
  };
  const orphan = (matches: (entry: RequestEntry) => boolean) => {
    for (const entry of [...table.values()]) {
      if (entry.orphaned || !matches(entry)) continue;
      entry.orphaned = true;
      events.onOrphan(entry);
    }
  };
  /** A document has replaced another: the requests of the old one may never end. */
  const onCommit = (target: Tracked, frame_id: string, loader_id: string, is_root: boolean) =>
    orphan(
      (entry) =>
        entry.target === target &&
        entry.loader_id !== loader_id &&
        (is_root ? frame_id === target.target_id : entry.frame_id === frame_id),
    );
  /** A new renderer may commit before it reports navigations; its frames begin to load by the document's end. */
  const onMainDocument = (target: Tracked, document: RequestEntry) =>
    orphan(
      (entry) =>
        entry.target === target &&
        // Preloads from early hints begin before the document is answered, and belong to it.
        entry.loader_id !== document.loader_id &&
        entry.began < document.answered_after,
    );
  return {
    get: (id) => table.get(id) ?? null,
    open: () => [...table.values()],
    take: close,
    watch: (target) => {
      const s: CdpSession = target.session;
      s.on("Page.frameNavigated", ({ frame: { id, loaderId, parentId } }) =>
        onCommit(target, id, loaderId, parentId === undefined),
      );
      void s.closed.then(() => orphan((entry) => entry.target === target));
      s.on("Network.requestWillBeSent", (p) => onSent(target, p));
      s.on("Network.requestWillBeSentExtraInfo", ({ requestId }) => {
        const entry = table.get(requestId);
        if (entry) entry.sent = true;
        else early_sent.add(requestId);
      });
      s.on("Network.responseReceived", (p) => onResponse(target, p));
      s.on("Network.responseReceivedExtraInfo", onExtraInfo);
      s.on("Network.requestServedFromCache", ({ requestId }) => {
        const entry = table.get(requestId);
        if (entry) entry.from_cache = true;
      });
      s.on("Network.dataReceived", (p) => {
        const entry = table.get(p.requestId);
        if (!entry) return;
        entry.received += p.dataLength;
        events.onData(entry);
      });
      s.on("Network.loadingFinished", (p) => {
        const entry = close(p.requestId);
        if (!entry) return;
        entry.encoded = p.encodedDataLength;
        events.onFinished(entry, target);
        if (entry.is_main_document) onMainDocument(target, entry);
      });
      s.on("Network.loadingFailed", (p) => {
        const entry = close(p.requestId);
        if (!entry) return;
        const canceled = p.canceled === true;
        const tell = () => events.onFailed(entry, target, p.errorText, canceled);
        tell();
        if (!canceled && entry.response === null && entry.wire_status === null)
          unanswered.set(entry.id, { entry, tell });
      });
    },
  };
}

const isOfDocument = ({ type }: Tracked): boolean => type === "page" || type === "iframe";
const ownerKey = ({ target_id }: Tracked, url: string): string => `${target_id} ${url}`;

function newEntry(
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

function resetForNextHop(entry: RequestEntry, p: Protocol.Network.RequestWillBeSentEvent): void {
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

const lowerCased = (headers: Protocol.Network.Headers): Map<string, string> =>
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
  // A redirect leads on, so it is no answer.
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
