import type { Chunks } from "#shared/archive/streams.ts";
import type { Asset } from "#shared/protocol/schema/asset.ts";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import { headerValue } from "./http-head.ts";

/** An asset with the way to its bytes. */
export interface ReadableAsset
  extends Pick<
    Asset,
    "name" | "kind" | "mime" | "size" | "sha256" | "source_url" | "partial" | "refetched" | "ranges"
  > {
  read(): Promise<Chunks>;
}

/**
 * What the job has of an answer's body. `whole`: its very bytes, or their beginning where `cut`. `joined`: the whole
 * file of which the answer was a range. `pieces`: some ranges of such a file. `none`: nothing was sent. `missing`:
 * something was sent and is not held. `unanswered`: there was no answer.
 */
export type EntryBody =
  | { how: "whole"; asset: ReadableAsset; cut: boolean }
  | { how: "joined" | "pieces"; asset: ReadableAsset }
  | { how: "none" | "missing" | "unanswered" };

/** Answers that have no body by nature (rules/capture#bodies-without-a-body). */
const hasNoBody = ({ request, response }: HarEntry): boolean =>
  request.method === "HEAD" ||
  response.redirectURL !== "" ||
  response.status < 200 ||
  [204, 205, 304].includes(response.status);

export function bodyOfEntry(entry: HarEntry, asset: ReadableAsset | undefined): EntryBody {
  const { response, _error, _unfinished } = entry;
  if (response.status === 0) return { how: "unanswered" };
  if (hasNoBody(entry)) return { how: "none" };
  if (asset) return ofAsset(response, asset);
  const is_empty = response.content.size === 0 && response.content._asset === undefined;
  const has_ended = _error === undefined && _unfinished !== true;
  return { how: is_empty && has_ended ? "none" : "missing" };
}

const CONTENT_RANGE = /^bytes (\d+)-(\d+)\/(\d+|\*)$/i;

function ofAsset({ status, headers }: HarEntry["response"], asset: ReadableAsset): EntryBody {
  const { size, partial, ranges } = asset;
  if (status !== 206) {
    const is_start = ranges.length === 0 || (ranges.length === 1 && ranges[0]?.start === 0);
    return partial && !is_start ? { how: "pieces", asset } : { how: "whole", asset, cut: partial };
  }
  const [, start, end, total] =
    CONTENT_RANGE.exec(headerValue(headers, "content-range") ?? "") ?? [];
  if (partial) return { how: "pieces", asset };
  if (total === String(size)) return { how: "joined", asset };
  return Number(end) - Number(start) + 1 === size
    ? { how: "whole", asset, cut: false }
    : { how: "pieces", asset };
}
