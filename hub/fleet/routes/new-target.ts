import { invalid } from "#shared/kit/errors.ts";
import { MAX_URL_LENGTH } from "#shared/protocol/limits.ts";

/** What the hub reads of the query; the address that follows is the whole rest, as Chromium has it. */
const OURS = /^(session|token)=[^&]*(&|$)/;

/**
 * The address of `PUT …/json/new?https://example.com/?a=b`: the whole query, percent-encoded or not. Nothing is
 * `about:blank`.
 * @throws AppError invalid
 */
export function urlOfNewTarget(called: string): string {
  const at = called.indexOf("?");
  let asked = at < 0 ? "" : called.slice(at + 1);
  while (OURS.test(asked)) asked = asked.replace(OURS, "");
  if (asked === "") return "about:blank";
  const url = /^[a-z][a-z0-9+.-]*:/i.test(asked) ? asked : decoded(asked);
  if (url.length > MAX_URL_LENGTH) throw invalid(["query", "url"], "is too long");
  if (!URL.canParse(url)) throw invalid(["query", "url"], "must be a URL with its scheme");
  return url;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid(["query", "url"], "is not percent-encoded UTF-8");
  }
}
