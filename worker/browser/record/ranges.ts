import type { ByteRange } from "#shared/protocol/schema/asset.ts";

/** Adds `added` to sorted, disjoint `ranges` (both ends included); touching ranges become one. */
export function addRange(ranges: readonly ByteRange[], added: ByteRange): ByteRange[] {
  const result: ByteRange[] = [];
  let { start, end } = added;
  for (const range of ranges) {
    if (range.end + 1 < start || end + 1 < range.start) {
      result.push(range);
      continue;
    }
    start = Math.min(start, range.start);
    end = Math.max(end, range.end);
  }
  result.push({ start, end });
  return result.sort((a, b) => a.start - b.start);
}

export const coveredBytes = (ranges: readonly ByteRange[]): number =>
  ranges.reduce((sum, range) => sum + range.end - range.start + 1, 0);

/** Whether the ranges are the whole body of `total` bytes. An unknown total is never whole. */
export const isWhole = (ranges: readonly ByteRange[], total: number | null): boolean =>
  total !== null && ranges.length === 1 && ranges[0]?.start === 0 && coveredBytes(ranges) === total;

export interface ContentRange {
  start: number;
  end: number;
  /** Null when the server does not say (`bytes 0-9/*`). */
  total: number | null;
}

/** `bytes 0-99/1000`; null for anything else, including a range that contradicts itself. */
export function parseContentRange(value: string | undefined): ContentRange | null {
  const match = /^\s*bytes\s+(\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)\s*$/i.exec(value ?? "");
  if (!match) return null;
  const [start, end] = [Number(match[1]), Number(match[2])];
  const total = match[3] === "*" ? null : Number(match[3]);
  return end < start || (total !== null && end >= total) ? null : { start, end, total };
}

/** Query parameters in which players put the range or a counter, so that one file has many URLs. */
const VOLATILE = ["range", "bytes", "bytestart", "byteend", "rn", "rbuf"];

/** The URL that all ranges of one file share. */
export function withoutVolatileParams(raw: string): string {
  if (!URL.canParse(raw)) return raw;
  const url = new URL(raw);
  if (!VOLATILE.some((name) => url.searchParams.has(name))) return raw;
  for (const name of VOLATILE) url.searchParams.delete(name);
  return url.href;
}
