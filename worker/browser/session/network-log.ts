import type { NetworkEntry, NetworkLog } from "#shared/protocol/schema/session.ts";
import type { CdpSession, Protocol } from "../cdp/connection.ts";

/** Entries kept; older ones are counted as dropped. */
const MAX_ENTRIES = 4_000;
/** Entries in one answer, so that it fits into a link frame even with long URLs. */
const MAX_AT_ONCE = 2_000;
const MAX_URL = 4_096;

export interface NetworkWatch {
  /** Listens to a session whose Network domain somebody has enabled. Two sessions of one target are distinguished. */
  listen(session: CdpSession): void;
  /** Entries with a `seq` above `since`; an entry is the same object for as long as its request runs. */
  read(since: number): NetworkLog;
  /** The last document that could not be opened; null when there was none. */
  lastFailure(): { url: string; error: string } | null;
}

/** Where in a page's code a request was made; 0-based. */
export interface RequestOrigin {
  url: string;
  line: number;
  column: number | undefined;
}

interface Row {
  entry: NetworkEntry;
  origin: RequestOrigin | null;
  /** Monotonic seconds of its start. */
  began: number;
}

const entryOf = (p: Protocol.Network.RequestWillBeSentEvent, seq: number): NetworkEntry => ({
  seq,
  method: p.request.method,
  url: p.request.url.slice(0, MAX_URL),
  type: p.type ?? "Other",
  status: null,
  mime: null,
  size: null,
  started_at: Math.round(p.wallTime * 1_000),
  ttfb_ms: null,
  ms: null,
  error: null,
});

function answered({ entry, began }: Row, response: Protocol.Network.Response): void {
  entry.status = response.status;
  entry.mime = response.mimeType;
  entry.size = response.encodedDataLength;
  const { timing } = response;
  if (timing) entry.ttfb_ms = millis(timing.requestTime - began + timing.receiveHeadersEnd / 1_000);
}

/** Null where no code and no document names it: a page that was opened. */
function originOf({
  url,
  lineNumber,
  columnNumber,
  stack,
}: Protocol.Network.Initiator): RequestOrigin | null {
  for (let trace = stack; trace; trace = trace.parent) {
    const [frame] = trace.callFrames;
    if (frame) return { url: frame.url, line: frame.lineNumber, column: frame.columnNumber };
  }
  return url === undefined ? null : { url, line: lineNumber ?? 0, column: columnNumber };
}

/** @param seq that of the last entry */
function readFrom(rows: NetworkEntry[], seq: number, since: number): NetworkLog {
  const kept = rows.slice(-MAX_ENTRIES);
  const first = kept[0]?.seq ?? seq + 1;
  const entries = kept.filter((entry) => entry.seq > since).slice(0, MAX_AT_ONCE);
  return {
    entries,
    next: entries.at(-1)?.seq ?? Math.max(0, Math.min(since, seq)),
    dropped: Math.max(0, first - 1 - Math.max(0, since)),
  };
}

/** Records the requests of a browser as they come (rules/sessions#network-log). Bounded; it only listens. */
export function createNetworkLog(
  explain: (error_text: string, url: string) => string = (error_text) => error_text,
  onFailed: (entry: NetworkEntry, origin: RequestOrigin | null) => void = () => {},
  onReceived: (type: string, bytes: number) => void = () => {},
): NetworkWatch {
  let rows: NetworkEntry[] = [];
  const open = new Map<string, Row>();
  let seq = 0;

  const add = (p: Protocol.Network.RequestWillBeSentEvent): void => {
    const known = open.get(p.requestId);
    if (known && !p.redirectResponse) return; // reported by a second session
    if (known && p.redirectResponse) {
      if (known.entry.url === p.request.url.slice(0, MAX_URL) && known.began === p.timestamp)
        return;
      answered(known, p.redirectResponse);
      finish(p.requestId, known, p.timestamp);
    }
    seq += 1;
    const entry = entryOf(p, seq);
    rows.push(entry);
    if (rows.length >= MAX_ENTRIES * 2) rows = rows.slice(-MAX_ENTRIES);
    open.set(p.requestId, { entry, began: p.timestamp, origin: originOf(p.initiator) });
    // A request whose end never comes must not be kept forever.
    if (open.size > MAX_ENTRIES) open.delete(open.keys().next().value ?? "");
  };
  const finish = (id: string, row: Row, at: number): void => {
    row.entry.ms = millis(at - row.began);
    open.delete(id);
  };
  const withRow = (id: string, use: (row: Row) => void) => {
    const row = open.get(id);
    if (row) use(row);
  };
  return {
    listen: (session) => {
      session.on("Network.requestWillBeSent", add);
      session.on("Network.responseReceived", (p) =>
        withRow(p.requestId, (row) => answered(row, p.response)),
      );
      session.on("Network.loadingFinished", (p) =>
        withRow(p.requestId, (row) => {
          row.entry.size = Math.round(p.encodedDataLength);
          finish(p.requestId, row, p.timestamp);
          onReceived(row.entry.type, row.entry.size);
        }),
      );
      session.on("Network.loadingFailed", (p) =>
        withRow(p.requestId, (row) => {
          row.entry.error = explain(p.errorText, row.entry.url) || "failed";
          finish(p.requestId, row, p.timestamp);
          onFailed(row.entry, row.origin);
        }),
      );
    },
    lastFailure: () => {
      const row = rows.findLast(({ type, error }) => type === "Document" && error !== null);
      return row?.error ? { url: row.url, error: row.error } : null;
    },
    read: (since) => readFrom(rows, seq, since),
  };
}

/** The same log; what it listens to is heard by others too. */
export const heardToo = (
  log: NetworkWatch,
  ...hear: (NetworkWatch["listen"] | undefined)[]
): NetworkWatch => ({
  ...log,
  listen: (session) => {
    log.listen(session);
    for (const one of hear) one?.(session);
  },
});

const millis = (seconds: number): number => Math.max(0, Math.round(seconds * 10_000) / 10);
