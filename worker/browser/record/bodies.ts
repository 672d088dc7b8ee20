import type { CdpSession } from "../cdp/connection.ts";
import type { BodySource, Ledger, LossReason } from "./ledger.ts";
import { type PartStore, partPosition, partSink } from "./parts.ts";
import { type BodyRead, fileSink, readBody } from "./read-body.ts";
import { declaredLength, hasBytes, type RequestEntry } from "./requests.ts";
import { dropBody, type Spool, type SpooledBody } from "./spool.ts";
import { isEndless } from "./streams.ts";
import type { Tracked } from "./targets.ts";

export interface BodyReaderDeps {
  spool: Spool;
  ledger: Ledger;
  parts: PartStore;
  min_size: number;
  /** The body of this request, if it was already read. */
  kept(entry: RequestEntry): SpooledBody | null;
  /** Whether a read comes too late: its body has been given up already. */
  isClosed(): boolean;
  /** Whether this request had no end until now; the call gives it one. */
  take(entry: RequestEntry): boolean;
  /** The end of this request was detected: all of its bytes are there. */
  onWhole(entry: RequestEntry): void;
}

/** Reads bodies from the browser into the spool, and reports to the ledger what became of each. */
export interface BodyReader {
  /** Reads one that ended. `by`: the target that reported the end. */
  read(entry: RequestEntry, by: Tracked): Promise<void>;
  /**
   * Reads one that broke off: what arrived is kept as a part, if the browser still has it. Its page may have needed
   * no more. `reason` null: if there is nothing, nothing is missing.
   */
  readPrefix(entry: RequestEntry, by: Tracked, reason: LossReason | null): Promise<void>;
  /** The end was not reported, but the durable buffer returns only bodies that have arrived whole or broken off. */
  readOrphan(entry: RequestEntry): Promise<void>;
  /** Reads one whose bytes seem to be there, although its page does not read them and no end was reported. */
  readArrived(entry: RequestEntry): Promise<void>;
  /** Reads what has arrived, to the byte, of one that the job's end cuts short. */
  readCut(entry: RequestEntry): Promise<void>;
}

export const sourceOf = (entry: RequestEntry): BodySource => ({
  request_id: entry.id,
  url: entry.url,
  page_url: entry.page_url,
  frame_url: entry.frame_url,
  mime: entry.mime,
  status: entry.response?.status ?? entry.wire_status,
  from_cache: entry.from_cache,
  from_service_worker: entry.response?.fromServiceWorker === true,
  paired:
    entry.from_cache ||
    entry.response?.fromServiceWorker === true ||
    entry.target.type === "service_worker",
});

/**
 * Sessions to read from, in order: the one that reported the end, its plain one, the one where the request began,
 * and that one's owner.
 */
const sessionsFor = (entry: RequestEntry, by: Tracked): CdpSession[] => {
  const candidates = [by.session, by.plain, entry.target.session, entry.target.plain];
  for (let t = entry.target.parent; t; t = t.parent) candidates.push(t.session);
  return [...new Set(candidates)].filter((session) => session !== null);
};

export function createBodyReader(deps: BodyReaderDeps): BodyReader {
  const { spool, ledger, parts, isClosed, take } = deps;

  /** Whether a read came too late: its body has been given up already. */
  const isLate = (result: BodyRead): boolean => {
    if (isClosed() && "body" in result) dropBody(result.body);
    return isClosed();
  };

  const read = async (entry: RequestEntry, by: Tracked) => {
    const position = entry.response?.status === 206 ? partPosition(206, entry.headers) : null;
    const declared = entry.response?.fromServiceWorker ? null : declaredLength(entry.headers);
    const kept = deps.kept(entry);
    const result: BodyRead = kept
      ? { body: kept }
      : await readBody(sessionsFor(entry, by), entry.id, spool, {
          bytes: hasBytes(entry),
          at_least: declared ?? 0,
        });
    if (isLate(result) || "empty" in result) return;
    if ("reason" in result) {
      // Blink stops reading an image at the first bytes that it cannot decode, and discards them.
      const cut_short = result.reason === "empty_reply" && entry.received < (declared ?? 0);
      return ledger.lost(sourceOf(entry), cut_short ? "aborted" : result.reason);
    }
    const { body } = result;
    if (position) return joinPart(entry, body, position);
    if (body.size < deps.min_size) return ledger.skipped(body);
    if (!isEndless(entry)) return ledger.captured(sourceOf(entry), body);
    ledger.partial(sourceOf(entry), body, [{ start: 0, end: body.size - 1 }], "aborted");
  };
  const joinPart = async (
    entry: RequestEntry,
    body: SpooledBody,
    position: NonNullable<ReturnType<typeof partPosition>>,
  ) => {
    const file = parts.file(sourceOf(entry), position);
    const sink = partSink(file.coverage, position.start);
    if (body.bytes) sink.write(body.bytes);
    else for await (const chunk of Bun.file(body.path).stream()) sink.write(chunk);
    dropBody(body);
  };
  const readPrefix = async (entry: RequestEntry, by: Tracked, reason: LossReason | null) => {
    const expected = { bytes: true, at_least: 0 };
    const result = await readBody(sessionsFor(entry, by), entry.id, spool, expected);
    if (isLate(result)) return;
    const position = entry.response?.status === 206 ? partPosition(206, entry.headers) : null;
    // A range that broke off is no loss of its own: players do that, and other ranges may hold the bytes.
    if (position && !("body" in result)) return void parts.file(sourceOf(entry), position);
    if (!("body" in result)) return void (reason && ledger.lost(sourceOf(entry), reason));
    const { body } = result;
    if (position) return joinPart(entry, body, position);
    if (body.size === declaredLength(entry.headers)) return store(entry, body);
    ledger.partial(sourceOf(entry), body, [{ start: 0, end: body.size - 1 }], reason ?? "aborted");
  };
  const store = (entry: RequestEntry, body: SpooledBody) => {
    if (body.size < deps.min_size) return ledger.skipped(body);
    ledger.captured(sourceOf(entry), body);
  };

  const readArrived = async (entry: RequestEntry) => {
    const declared = declaredLength(entry.headers);
    const expected = { bytes: true, at_least: declared ?? entry.received };
    const sessions = sessionsFor(entry, entry.target);
    const result = await readBody(
      declared === null ? sessions.slice(0, 1) : sessions,
      entry.id,
      spool,
      expected,
    );
    if (isLate(result) || !("body" in result)) return;
    const { body } = result;
    if (declared === null) {
      // The buffer also holds bodies that broke off; the page knows about that by the time it answers.
      await entry.target.session.send("Runtime.evaluate", { expression: "0" }).catch(() => {});
      if (isClosed() || body.size !== entry.received) return dropBody(body);
    }
    if (!take(entry)) return dropBody(body);
    deps.onWhole(entry);
    const position = entry.response?.status === 206 ? partPosition(206, entry.headers) : null;
    if (position) return joinPart(entry, body, position);
    store(entry, body);
  };

  const readOrphan = async (entry: RequestEntry) => {
    const declared = declaredLength(entry.headers);
    const expected = { bytes: true, at_least: declared ?? 0 };
    const result = await readBody(sessionsFor(entry, entry.target), entry.id, spool, expected);
    if (isLate(result) || !("body" in result)) return;
    const { body } = result;
    if (!take(entry)) return dropBody(body);
    const position = partPosition(entry.wire_status ?? 0, entry.headers);
    if (position && entry.wire_status === 206) return joinPart(entry, body, position);
    if (body.size < deps.min_size) return ledger.skipped(body);
    // The length that a camera declares is that of one image.
    if (declared !== null && !isEndless(entry)) return ledger.captured(sourceOf(entry), body);
    const reason = entry.orphaned ? "target_gone" : "timeout";
    ledger.partial(sourceOf(entry), body, [{ start: 0, end: body.size - 1 }], reason);
  };

  const readCut = async (entry: RequestEntry) => {
    const file = spool.open();
    const { plain, session } = entry.target;
    await (plain ?? session).streamBody(entry.id, fileSink(file)).catch(() => {});
    const body = file.finish();
    if (isClosed()) return void (body && dropBody(body));
    if (!body) return ledger.lost(sourceOf(entry), "timeout");
    const position = partPosition(entry.wire_status ?? 0, entry.headers);
    if (position && entry.wire_status === 206) return joinPart(entry, body, position);
    ledger.partial(sourceOf(entry), body, [{ start: 0, end: body.size - 1 }], "timeout");
  };
  return { read, readPrefix, readOrphan, readArrived, readCut };
}
