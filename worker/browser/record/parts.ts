import type { BodySink } from "../cdp/body-decoder.ts";
import { type Coverage, createCoverage } from "./coverage.ts";
import type { BodySource, Ledger, LossReason } from "./ledger.ts";
import { parseContentRange, withoutVolatileParams } from "./ranges.ts";
import { declaredLength } from "./requests.ts";
import { type Spool, SpoolFullError } from "./spool.ts";

/** A file that arrives in ranges, each in a response of its own. */
export interface PartialFile {
  source: BodySource;
  coverage: Coverage;
  /** Why the rest is missing, if it still is at the end. */
  reason: LossReason;
}

/** Where a response's bytes lie in its file. */
export interface PartPosition {
  start: number;
  /** Bytes this response carries. */
  length: number | null;
  total: number | null;
  validator: string;
}

/**
 * Files by (URL without volatile parameters, validator, total); ranges of one file from many responses are joined
 * here.
 */
export interface PartStore {
  file(source: BodySource, position: PartPosition): PartialFile;
  /** Joins what is there: whole files become assets, the others partial assets with their ranges. */
  finish(min_size: number): Promise<void>;
}

/** Null when the response is not a range and does not say how long it is. */
export function partPosition(
  status: number,
  headers: ReadonlyMap<string, string>,
): PartPosition | null {
  const validator = headers.get("etag") ?? headers.get("last-modified") ?? "";
  if (status === 206) {
    const range = parseContentRange(headers.get("content-range"));
    if (!range) return null;
    const { start, end, total } = range;
    return { start, length: end - start + 1, total, validator };
  }
  const length = declaredLength(headers);
  return status === 200 && length !== null ? { start: 0, length, total: length, validator } : null;
}

/** Writes a response's bytes to their position. */
export function partSink(coverage: Coverage, start: number): BodySink {
  let position = start;
  return {
    write: (bytes) => {
      coverage.add(bytes, position);
      position += bytes.length;
    },
    restart: () => {
      position = start;
    },
  };
}

export function createPartStore(spool: Spool, ledger: Ledger): PartStore {
  const files = new Map<string, PartialFile>();

  const finishOne = async (file: PartialFile, min_size: number) => {
    const joined = await file.coverage.finish().catch((err: unknown) => {
      if (err instanceof SpoolFullError) file.reason = "spool_full";
      return null;
    });
    if (!joined) return ledger.lost(file.source, file.reason);
    if (joined.body.size < min_size) return ledger.skipped(joined.body);
    if (joined.whole) ledger.captured(file.source, joined.body);
    else ledger.partial(file.source, joined.body, joined.ranges, file.reason);
  };
  return {
    file: (source, position) => {
      const url = withoutVolatileParams(source.url);
      const key = `${position.total} ${position.validator} ${url}`;
      const known = files.get(key);
      if (known) return known;
      const coverage = createCoverage(spool, position.total);
      const file: PartialFile = { source: { ...source, url }, coverage, reason: "aborted" };
      files.set(key, file);
      return file;
    },
    finish: async (min_size) => {
      const all = [...files.values()];
      files.clear();
      for (const file of all) await finishOne(file, min_size);
    },
  };
}
