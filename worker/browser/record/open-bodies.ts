import { fileSink, readBody } from "./read-body.ts";
import { isLate, sessionsFor } from "./read-sessions.ts";
import { declaredLength, type RequestEntry } from "./requests.ts";
import { createShelf, rangeOf, rawRangeOf } from "./shelf.ts";
import { dropBody } from "./spool.ts";
import type { Stores } from "./stores.ts";
import { isEndless } from "./streams.ts";

export interface OpenBodyReaderDeps {
  stores: Stores;
  /** Whether a read comes too late: its body has been given up already. */
  isClosed(): boolean;
  /** Whether this request had no end until now; the call gives it one. */
  take(entry: RequestEntry): boolean;
  /** The end of this request was detected: all of its bytes are there. */
  onWhole(entry: RequestEntry): void;
}

/** Reads bodies whose end was not reported, and reports to the ledger what became of each. */
export interface OpenBodyReader {
  /** The durable buffer returns only bodies that have arrived whole or broken off. */
  readOrphan(entry: RequestEntry): Promise<void>;
  /** Reads one whose bytes seem to be there, although its page does not read them. */
  readArrived(entry: RequestEntry): Promise<void>;
  /** Reads what has arrived, to the byte, of one that the job's end cuts short. */
  readCut(entry: RequestEntry): Promise<void>;
}

export function createOpenBodyReader(deps: OpenBodyReaderDeps): OpenBodyReader {
  const { isClosed, take } = deps;
  const { spool } = deps.stores;
  const shelf = createShelf(deps.stores);

  const readArrived = async (entry: RequestEntry) => {
    const declared = declaredLength(entry.headers);
    const expected = { bytes: true, at_least: declared ?? entry.received };
    const all = sessionsFor(entry, entry.target);
    const sessions = declared === null ? all.slice(0, 1) : all;
    const result = await readBody(sessions, entry.id, spool, expected);
    if (isLate(result, isClosed) || !("body" in result)) return;
    const { body } = result;
    if (declared === null) {
      // The buffer also holds bodies that broke off; the page knows about that by the time it answers.
      await entry.target.session.send("Runtime.evaluate", { expression: "0" }).catch(() => {});
      if (isClosed() || body.size !== entry.received) return dropBody(body);
    }
    if (!take(entry)) return dropBody(body);
    deps.onWhole(entry);
    const range = rangeOf(entry);
    if (range) return shelf.join(entry, body, range);
    shelf.whole(entry, body);
  };
  const readOrphan = async (entry: RequestEntry) => {
    const declared = declaredLength(entry.headers);
    const expected = { bytes: true, at_least: declared ?? 0 };
    const result = await readBody(sessionsFor(entry, entry.target), entry.id, spool, expected);
    if (isLate(result, isClosed) || !("body" in result)) return;
    const { body } = result;
    if (!take(entry)) return dropBody(body);
    const range = rawRangeOf(entry);
    if (range) return shelf.join(entry, body, range);
    // The length that a camera declares is that of one image.
    if (declared !== null && !isEndless(entry)) return shelf.whole(entry, body);
    shelf.part(entry, body, entry.orphaned ? "target_gone" : "timeout");
  };
  const readCut = async (entry: RequestEntry) => {
    const file = spool.open();
    const { plain, session } = entry.target;
    await (plain ?? session).streamBody(entry.id, fileSink(file)).catch(() => {});
    const body = file.finish();
    if (isClosed()) return void (body && dropBody(body));
    if (!body) return shelf.lost(entry, "timeout");
    const range = rawRangeOf(entry);
    if (range) return shelf.join(entry, body, range);
    shelf.cut(entry, body, "timeout");
  };
  return { readOrphan, readArrived, readCut };
}
