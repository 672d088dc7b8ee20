import type { CdpSession, Protocol } from "../cdp/connection.ts";
import { createRequestOwners } from "./request-owners.ts";
import type { RequestTable } from "./request-table.ts";
import { lowerCased, newEntry, type RequestEntry, resetForNextHop } from "./requests.ts";
import type { Tracked } from "./targets.ts";

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

export interface RequestWatch {
  /** Enters the requests of this target into the table, from their first event to their end. */
  watch(target: Tracked): void;
}

export function watchRequests(table: RequestTable, events: RequestEvents): RequestWatch {
  const owners = createRequestOwners();
  const orphans = findOrphans(table, events.onOrphan);
  /** Requests that failed without an answer as far as is known: another process reports the headers, perhaps later. */
  const unanswered = new Map<string, { entry: RequestEntry; tell(): void }>();
  let begun = 0;

  const onSent = (target: Tracked, p: Protocol.Network.RequestWillBeSentEvent) => {
    const open = table.get(p.requestId);
    if (open && p.redirectResponse) {
      events.onRedirect(open, p.redirectResponse);
      resetForNextHop(open, p);
      return events.onRequest(open, true);
    }
    if (open || !/^https?:/i.test(p.request.url)) return;
    const entry = newEntry(target, p, begun++);
    entry.frame_url = owners.of(target, p);
    table.add(entry);
    events.onRequest(entry, false);
  };
  const onResponse = (target: Tracked, p: Protocol.Network.ResponseReceivedEvent) => {
    const entry = table.get(p.requestId);
    if (!entry) return;
    entry.answered_after = begun;
    takeResponse(entry, p, table.answerOf(p.requestId)?.statusCode ?? entry.wire_status);
    if (entry.type === "Document") owners.answered(entry, p.response.url);
    locate(entry, target, p.response.url);
    events.onResponse(entry);
  };
  const onRawResponse = (p: Protocol.Network.ResponseReceivedExtraInfoEvent) => {
    const failed = unanswered.get(p.requestId);
    const entry = failed?.entry ?? table.get(p.requestId);
    if (!entry) return table.keepAnswer(p);
    takeRawResponse(entry, p);
    unanswered.delete(p.requestId);
    failed?.tell();
  };
  const onFinished = (target: Tracked, p: Protocol.Network.LoadingFinishedEvent) => {
    const entry = table.take(p.requestId);
    if (!entry) return;
    entry.encoded = p.encodedDataLength;
    events.onFinished(entry, target);
    if (entry.is_main_document) orphans.replacedBy(target, entry);
  };
  const onFailed = (target: Tracked, p: Protocol.Network.LoadingFailedEvent) => {
    const entry = table.take(p.requestId);
    if (!entry) return;
    const canceled = p.canceled === true;
    const tell = () => events.onFailed(entry, target, p.errorText, canceled);
    tell();
    if (!canceled && entry.response === null && entry.wire_status === null)
      unanswered.set(entry.id, { entry, tell });
  };
  return {
    watch: (target) => {
      const s: CdpSession = target.session;
      orphans.watch(target);
      s.on("Network.requestWillBeSent", (p) => onSent(target, p));
      s.on("Network.requestWillBeSentExtraInfo", ({ requestId }) => table.noteSent(requestId));
      s.on("Network.responseReceived", (p) => onResponse(target, p));
      s.on("Network.responseReceivedExtraInfo", onRawResponse);
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
      s.on("Network.loadingFinished", (p) => onFinished(target, p));
      s.on("Network.loadingFailed", (p) => onFailed(target, p));
    },
  };
}

/** What the page got. `wire_status`: the status on the wire, as far as it is known. */
function takeResponse(
  entry: RequestEntry,
  { response, type }: Protocol.Network.ResponseReceivedEvent,
  wire_status: number | null,
): void {
  entry.response = response;
  entry.type = type;
  entry.headers = lowerCased(response.headers);
  entry.mime = response.mimeType;
  entry.wire_status = wire_status;
  entry.from_cache ||=
    response.fromDiskCache === true || response.fromPrefetchCache === true || wire_status === 304;
}

/** Where a document was found; until then its address is that which was asked for. */
function locate(entry: RequestEntry, { page }: Tracked, url: string): void {
  if (entry.is_main_document) {
    if (page) page.url = url;
    entry.page_url = url;
  }
  if (entry.type === "Document") entry.frame_url = url;
}

/** What came over the wire. */
function takeRawResponse(
  entry: RequestEntry,
  p: Protocol.Network.ResponseReceivedExtraInfoEvent,
): void {
  entry.wire_status = p.statusCode;
  if (!entry.response) {
    // Used until the response itself is reported, which never happens when a navigation comes first.
    entry.headers = lowerCased(p.headers);
    entry.mime = entry.headers.get("content-type")?.split(";")[0] ?? "";
  }
  if (p.statusCode === 304) entry.from_cache = true;
}

/** Finds the requests whose document or worker is gone. */
function findOrphans(table: RequestTable, onOrphan: RequestEvents["onOrphan"]) {
  const orphan = (matches: (entry: RequestEntry) => boolean) => {
    for (const entry of table.open()) {
      if (entry.orphaned || !matches(entry)) continue;
      entry.orphaned = true;
      onOrphan(entry);
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
  return {
    watch: (target: Tracked): void => {
      target.session.on("Page.frameNavigated", ({ frame: { id, loaderId, parentId } }) =>
        onCommit(target, id, loaderId, parentId === undefined),
      );
      void target.session.closed.then(() => orphan((entry) => entry.target === target));
    },
    /** A new renderer may commit before it reports navigations; its frames begin to load by the document's end. */
    replacedBy: (target: Tracked, document: RequestEntry): void =>
      orphan(
        (entry) =>
          entry.target === target &&
          // Preloads from early hints begin before the document is answered, and belong to it.
          entry.loader_id !== document.loader_id &&
          entry.began < document.answered_after,
      ),
  };
}
