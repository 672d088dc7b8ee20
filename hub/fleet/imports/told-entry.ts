import { parseJson } from "#shared/kit/json.ts";
import { MAX_ASSET_NAME_BYTES } from "#shared/protocol/limits.ts";
import type { ByteRange } from "#shared/protocol/schema/asset.ts";
import { HarEntry } from "#shared/protocol/schema/har.ts";
import { cleanEntry, type RecordFacts } from "../archive/har-of-warc.ts";
import { headerValue } from "../archive/http-head.ts";
import type { ImportedAsset } from "./bodies.ts";
import type { Entries } from "./entries.ts";

/** What a metadata record of ours tells of an entry (rules/documents#web-archive). */
export interface ToldEntry {
  entry: HarEntry;
  /** The asset that has its body, or a part of it, as the archive calls it; empty where there is none. */
  asset_name: string;
  /** Ranges of it that are held; empty for a whole one. */
  ranges: ByteRange[];
  /** The record with the body. */
  about: string;
}

const MAX_RANGES = 1_000;

const rangesOf = (text: string): ByteRange[] =>
  [...text.matchAll(/(\d{1,15})-(\d{1,15})/g)]
    .slice(0, MAX_RANGES)
    .map(([, start, end]) => ({ start: Number(start), end: Number(end) }))
    .filter(({ start, end }) => start <= end);

/** Rows have whole numbers of this size. */
const isStatus = (status: number): boolean =>
  Number.isInteger(status) && status >= 0 && status <= 999;

/** Null for metadata that somebody else has written. */
export function readTold(facts: RecordFacts, about: string, text: string): ToldEntry | null {
  const fields = new Map(
    text.split("\r\n").map((line) => [line.split(":")[0] ?? "", line.replace(/^[^:]*: ?/, "")]),
  );
  const parsed = HarEntry.safeParse(jsonOf(fields.get("har") ?? ""));
  if (!parsed.success || !isStatus(parsed.data.response.status)) return null;
  return {
    entry: cleanEntry(facts, parsed.data),
    asset_name: (fields.get("asset") ?? "").slice(0, MAX_ASSET_NAME_BYTES),
    ranges: rangesOf(fields.get("ranges") ?? ""),
    about,
  };
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

const contentRange = ({ response }: HarEntry) => headerValue(response.headers, "content-range");

const isSame = (a: HarEntry, b: HarEntry): boolean =>
  a.startedDateTime === b.startedDateTime && contentRange(a) === contentRange(b);

/** Takes over what is told: of the entry of an answer that the archive has, or as an entry of its own. */
export function addTold(entries: Entries, told: ToldEntry): void {
  const { entry, about } = told;
  const answer = entries.of(about);
  if (answer && isSame(answer.entry, entry)) {
    entries.weigh(JSON.stringify(entry).length);
    Object.assign(answer.entry, entry);
    markPartial(answer.asset, told);
  } else entries.add({ entry, asset: answer?.asset ?? null });
}

/** A body that was cut, or of which some ranges are held: what it is of, the entry tells. */
export function markPartial(asset: ImportedAsset | null, { entry, ranges }: ToldEntry): void {
  if (!asset || ranges.length === 0) return;
  asset.source_url = entry.request.url;
  asset.status = entry.response.status;
  asset.partial = true;
  asset.ranges = ranges;
}
