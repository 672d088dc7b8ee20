import type { HarEntry } from "#shared/protocol/schema/har.ts";
import type { ArchivedPage } from "../archive/wacz-parts.ts";
import type { Filled } from "./entries.ts";
import { IMPORT_LIMITS } from "./limits.ts";

/** The page that an archive is about. */
export interface FoundPage {
  url: string;
  title: string | null;
  /** The answer to its URL, or the last one of its redirects; null when the archive has none. */
  document: Filled | null;
}

const isHtml = ({ response }: HarEntry): boolean => /html/i.test(response.content.mimeType);

const isAnswerTo =
  (url: string) =>
  ({ entry: { request, response } }: Filled): boolean =>
    request.url === url && request.method === "GET" && response.status > 0;

/** Null when the archive has no page. */
export function findPage(
  [listed]: readonly ArchivedPage[],
  saved_url: string | null,
  filled: readonly Filled[],
): FoundPage | null {
  const first = filled.find(({ entry }) => isHtml(entry) && entry.response.status === 200);
  const url = listed?.url ?? saved_url ?? (first ?? filled[0])?.entry.request.url;
  if (url === undefined) return null;
  const title = listed && listed.title !== "" && listed.title !== listed.url ? listed.title : null;
  return { url, title, document: documentOf(url, filled) };
}

function documentOf(url: string, filled: readonly Filled[]): Filled | null {
  let document: Filled | null = null;
  let next = url;
  for (let n = 0; n <= IMPORT_LIMITS.redirects; n += 1) {
    const found = filled.find(isAnswerTo(next));
    if (!found) return document;
    document = found;
    next = found.entry.response.redirectURL;
    if (next === "") return document;
  }
  return document;
}
