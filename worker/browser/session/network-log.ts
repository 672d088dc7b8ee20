import { MAX_LINK_FRAME_BYTES } from "#shared/protocol/limits.ts";
import type { NetworkEntry, NetworkLog } from "#shared/protocol/schema/session.ts";
import type { CdpSession, Protocol } from "../cdp/connection.ts";

/** Entries kept; older ones are counted as dropped. */
const MAX_ENTRIES = 4_000;
/** Characters of what pages decide in them: 4,000 entries of a page that asks for long addresses would take twice this. */
const MAX_CHARS = 8_000_000;
/** Entries in one answer, and their bytes as JSON: an answer is one frame of the link, which a larger one would end. */
const MAX_AT_ONCE = 2_000;
const MAX_ANSWER_BYTES = MAX_LINK_FRAME_BYTES / 2;
const MAX_URL = 4_096;
/** A page chooses these as well, and no browser cuts them. */
const MAX_METHOD = 100;
const MAX_MIME = 200;
const MAX_ERROR = 1_000;

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
  id: string;
  entry: NetworkEntry;
  origin: RequestOrigin | null;
  /** Characters that it was counted with. */
  chars: number;
  /** Monotonic seconds of its start. */
  began: number;
}

const entryOf = (p: Protocol.Network.RequestWillBeSentEvent, seq: number): NetworkEntry => ({
  seq,
  method: p.request.method.slice(0, MAX_METHOD),
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
  entry.mime = response.mimeType.slice(0, MAX_MIME);
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
    if (frame)
      return {
        url: frame.url.slice(0, MAX_URL),
        line: frame.lineNumber,
        column: frame.columnNumber,
      };
  }
  if (url === undefined) return null;
  return { url: url.slice(0, MAX_URL), line: lineNumber ?? 0, column: columnNumber };
}

/** What is kept of a browser's requests, the oldest first. */
interface Kept {
  add(row: Row): void;
  /** More is known of a row by now. */
  grow(row: Row): void;
  readonly rows: readonly Row[];
}

const charsOf = ({ entry, origin }: Row): number =>
  entry.url.length +
  entry.method.length +
  (entry.mime?.length ?? 0) +
  (entry.error?.length ?? 0) +
  (origin?.url.length ?? 0);

/** Keeps the newest rows that there is room for; `onLeft` is told of the others. */
function createKept(onLeft: (row: Row) => void): Kept {
  let rows: Row[] = [];
  /** Where the oldest that is kept stands. */
  let from = 0;
  let chars = 0;
  const makeRoom = () => {
    for (let oldest = rows[from]; oldest; oldest = rows[from]) {
      if (rows.length - from <= MAX_ENTRIES && chars <= MAX_CHARS) break;
      chars -= oldest.chars;
      from += 1;
      onLeft(oldest);
    }
    if (from < MAX_ENTRIES) return;
    rows = rows.slice(from);
    from = 0;
  };
  const grow = (row: Row) => {
    const now = charsOf(row);
    chars += now - row.chars;
    row.chars = now;
    makeRoom();
  };
  return {
    add: (row) => {
      rows.push(row);
      grow(row);
    },
    grow,
    get rows() {
      return rows.slice(from);
    },
  };
}

const rowOf = (p: Protocol.Network.RequestWillBeSentEvent, seq: number): Row => ({
  id: p.requestId,
  entry: entryOf(p, seq),
  began: p.timestamp,
  origin: originOf(p.initiator),
  chars: 0,
});

/** @param seq that of the last entry */
function readFrom(kept: readonly Row[], seq: number, since: number): NetworkLog {
  const first = kept[0]?.entry.seq ?? seq + 1;
  const entries: NetworkEntry[] = [];
  let bytes = 0;
  for (const { entry } of kept) {
    if (entry.seq <= since) continue;
    bytes += Buffer.byteLength(JSON.stringify(entry));
    if (entries.length >= MAX_AT_ONCE || bytes > MAX_ANSWER_BYTES) break;
    entries.push(entry);
  }
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
  const open = new Map<string, Row>();
  // A request whose end never comes must not be kept for ever.
  const kept = createKept((row) => {
    if (open.get(row.id) === row) open.delete(row.id);
  });
  let seq = 0;

  const add = (p: Protocol.Network.RequestWillBeSentEvent): void => {
    const known = open.get(p.requestId);
    if (known && !p.redirectResponse) return; // reported by a second session
    if (known && p.redirectResponse) {
      if (known.entry.url === p.request.url.slice(0, MAX_URL) && known.began === p.timestamp)
        return;
      answered(known, p.redirectResponse);
      kept.grow(known);
      finish(known, p.timestamp);
    }
    seq += 1;
    const row = rowOf(p, seq);
    open.set(row.id, row);
    kept.add(row);
  };
  const finish = (row: Row, at: number): void => {
    row.entry.ms = millis(at - row.began);
    open.delete(row.id);
  };
  const withRow = (id: string, use: (row: Row) => void) => {
    const row = open.get(id);
    if (!row) return;
    use(row);
    kept.grow(row);
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
          finish(row, p.timestamp);
          onReceived(row.entry.type, row.entry.size);
        }),
      );
      session.on("Network.loadingFailed", (p) =>
        withRow(p.requestId, (row) => {
          row.entry.error = (explain(p.errorText, row.entry.url) || "failed").slice(0, MAX_ERROR);
          finish(row, p.timestamp);
          onFailed(row.entry, row.origin);
        }),
      );
    },
    lastFailure: () => {
      const row = kept.rows.findLast(({ entry: { type, error } }) => type === "Document" && error);
      return row?.entry.error ? { url: row.entry.url, error: row.entry.error } : null;
    },
    read: (since) => readFrom(kept.rows, seq, since),
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
