import type { SpooledBody } from "#worker/upload/asset-sink.ts";
import { sourceOf } from "./body-source.ts";
import type { LossReason } from "./ledger.ts";
import { type PartPosition, partPosition, partSink } from "./parts.ts";
import type { RequestEntry } from "./requests.ts";
import { dropBody } from "./spool.ts";
import type { Stores } from "./stores.ts";

/** Where in its file the body of a page's request lies; null when it is a file of its own. */
export const rangeOf = (entry: RequestEntry): PartPosition | null =>
  entry.response?.status === 206 ? partPosition(206, entry.headers) : null;

/** The same for a request whose answer may only have been seen on the wire. */
export const rawRangeOf = (entry: RequestEntry): PartPosition | null =>
  entry.wire_status === 206 ? partPosition(206, entry.headers) : null;

/** Takes over bodies that were read. */
export interface Shelf {
  whole(entry: RequestEntry, body: SpooledBody): void;
  /** Of a body that has no end of its own. */
  part(entry: RequestEntry, body: SpooledBody, reason: LossReason): void;
  /** What arrived before it broke off; kept however small it is. */
  cut(entry: RequestEntry, body: SpooledBody, reason: LossReason): void;
  /** One range of a file. */
  join(entry: RequestEntry, body: SpooledBody, range: PartPosition): Promise<void>;
  /** A range that did not come; others may hold its bytes. */
  expect(entry: RequestEntry, range: PartPosition): void;
  lost(entry: RequestEntry, reason: LossReason): void;
}

export function createShelf({ ledger, parts, min_size }: Stores): Shelf {
  const cut = (entry: RequestEntry, body: SpooledBody, reason: LossReason) =>
    ledger.partial(sourceOf(entry), body, [{ start: 0, end: body.size - 1 }], reason);
  return {
    whole: (entry, body) => {
      if (body.size < min_size) ledger.skipped(body);
      else ledger.captured(sourceOf(entry), body);
    },
    part: (entry, body, reason) => {
      if (body.size < min_size) ledger.skipped(body);
      else cut(entry, body, reason);
    },
    cut,
    join: async (entry, body, range) => {
      const { coverage } = parts.file(sourceOf(entry), range);
      const sink = partSink(coverage, range.start);
      if (body.bytes) sink.write(body.bytes);
      else for await (const chunk of Bun.file(body.path).stream()) sink.write(chunk);
      dropBody(body);
    },
    expect: (entry, range) => void parts.file(sourceOf(entry), range),
    lost: (entry, reason) => ledger.lost(sourceOf(entry), reason),
  };
}
