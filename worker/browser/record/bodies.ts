import type { SpooledBody } from "#worker/upload/asset-sink.ts";
import type { LossReason } from "./ledger.ts";
import { type BodyRead, readBody } from "./read-body.ts";
import { isLate, sessionsFor } from "./read-sessions.ts";
import { declaredLength, hasBytes, type RequestEntry } from "./requests.ts";
import { createShelf, rangeOf } from "./shelf.ts";
import type { Stores } from "./stores.ts";
import { isEndless } from "./streams.ts";
import type { Tracked } from "./targets.ts";

export interface BodyReaderDeps {
  stores: Stores;
  /** The body of this request, if it was already read. */
  kept(entry: RequestEntry): SpooledBody | null;
  /** Whether a read comes too late: its body has been given up already. */
  isClosed(): boolean;
}

/** Reads bodies that ended from the browser into the spool, and reports to the ledger what became of each. */
export interface BodyReader {
  /** `by`: the target that reported the end. */
  read(entry: RequestEntry, by: Tracked): Promise<void>;
  /**
   * Reads one that broke off: what arrived is kept as a part, if the browser still has it. Its page may have needed
   * no more. `reason` null: if there is nothing, nothing is missing.
   */
  readPrefix(entry: RequestEntry, by: Tracked, reason: LossReason | null): Promise<void>;
}

export function createBodyReader(deps: BodyReaderDeps): BodyReader {
  const { spool } = deps.stores;
  const shelf = createShelf(deps.stores);

  const read = async (entry: RequestEntry, by: Tracked) => {
    const declared = entry.response?.fromServiceWorker ? null : declaredLength(entry.headers);
    const kept = deps.kept(entry);
    const result: BodyRead = kept
      ? { body: kept }
      : await readBody(sessionsFor(entry, by), entry.id, spool, {
          bytes: hasBytes(entry),
          at_least: declared ?? 0,
        });
    if (isLate(result, deps.isClosed) || "empty" in result) return;
    if ("reason" in result) {
      // Blink stops reading an image at the first bytes that it cannot decode, and discards them.
      const cut_short = result.reason === "empty_reply" && entry.received < (declared ?? 0);
      return shelf.lost(entry, cut_short ? "aborted" : result.reason);
    }
    const { body } = result;
    const range = rangeOf(entry);
    if (range) return shelf.join(entry, body, range);
    if (isEndless(entry)) shelf.part(entry, body, "aborted");
    else shelf.whole(entry, body);
  };
  const readPrefix = async (entry: RequestEntry, by: Tracked, reason: LossReason | null) => {
    const expected = { bytes: true, at_least: 0 };
    const result = await readBody(sessionsFor(entry, by), entry.id, spool, expected);
    if (isLate(result, deps.isClosed)) return;
    const range = rangeOf(entry);
    // A range that broke off is not a separate loss: players do that, and other ranges may hold the bytes.
    if (range && !("body" in result)) return shelf.expect(entry, range);
    if (!("body" in result)) return void (reason && shelf.lost(entry, reason));
    const { body } = result;
    if (range) return shelf.join(entry, body, range);
    if (body.size === declaredLength(entry.headers)) return shelf.whole(entry, body);
    shelf.cut(entry, body, reason ?? "aborted");
  };
  return { read, readPrefix };
}
