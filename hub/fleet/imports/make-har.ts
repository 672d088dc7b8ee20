import type { HarEntry } from "#shared/protocol/schema/har.ts";
import type { ArchivedPage } from "../archive/wacz-parts.ts";
import type { Filled } from "./entries.ts";

/** har.json of an imported job (rules/documents#har), and which of its entries belong to which page. */
export function makeHar(
  filled: readonly Filled[],
  pages: readonly ArchivedPage[],
  dropped: number,
): string {
  const [main, ...others] = pages.map((page, n) => ({ ...page, id: `page-${n + 1}` }));
  let is_begun = false;
  const pageOf = (entry: HarEntry): string | undefined => {
    const isOf = (page: ArchivedPage) =>
      page.url === entry.request.url && page.ts === entry.startedDateTime;
    if (main && entry.request.url === main.url) is_begun = true;
    // The first entry of a page is its document.
    return others.find(isOf)?.id ?? (is_begun ? main?.id : undefined);
  };
  const entries = filled.map(({ entry, asset }) => {
    const pageref = pageOf(entry);
    const content = {
      ...entry.response.content,
      ...(asset ? { size: asset.size, _asset: asset.name } : {}),
    };
    return {
      ...(pageref === undefined ? {} : { pageref }),
      ...entry,
      response: { ...entry.response, content },
    };
  });
  const log = {
    version: "1.2",
    creator: { name: "Flotilla", version: "0.1", comment: "imported from a web archive" },
    pages: (main ? [main, ...others] : []).map(({ id, ts, title, url }) => ({
      startedDateTime: ts,
      id,
      title: title || url,
      pageTimings: { onContentLoad: -1, onLoad: -1 },
    })),
    entries,
    ...(dropped > 0 ? { _dropped: dropped } : {}),
  };
  return JSON.stringify({ log });
}
