import { MASK } from "#shared/kit/hide-credentials.ts";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import type { ReplayEntry } from "#shared/protocol/schema/replay.ts";
import { bodyOfEntry, type EntryBody, type ReadableAsset } from "./entry-body.ts";
import { headerValue } from "./http-head.ts";

/**
 * Headers of one connection (RFC 9110, section 7.6.1), and those that no longer hold for a body that is stored decoded
 * and as a whole.
 */
const DROPPED = new Set([
  "alt-svc",
  "connection",
  "content-encoding",
  "content-length",
  "content-range",
  "keep-alive",
  "proxy-authenticate",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const MAX_VALUE = 65_536;

/** An entry of a HAR as a replay answers it (rules/replay#what-is-answered). */
export function replayEntryOf(entry: HarEntry, asset: ReadableAsset | undefined): ReplayEntry {
  const { request, response, _fromCache, _fromServiceWorker } = entry;
  const { method, url, _bodyDigest: digest } = request;
  const body = bodyOfEntry(entry, asset);
  const lacks = whatLacks(entry, body);
  const at = Date.parse(entry.startedDateTime);
  return {
    method,
    url,
    status: body.how === "joined" ? 200 : response.status,
    headers: headersOf(entry),
    body: "asset" in body ? heldOf(entry, body) : null,
    ...(typeof digest === "string" && { digest }),
    ...(Number.isFinite(at) && { at }),
    ...((_fromCache === true || _fromServiceWorker === true) && { is_second_hand: true }),
    ...(lacks !== null && { lacks }),
  };
}

/** A body that no request of the HAR names. `disposition`: that of a file which the browser saved. */
export const replayEntryOfAsset = (
  { source_url, mime, name, size }: ReadableAsset,
  status: number,
  disposition: string | null = null,
): ReplayEntry => ({
  method: "GET",
  url: source_url,
  status,
  headers: [
    ...(mime === "" ? [] : [["content-type", mime] as [string, string]]),
    ...(disposition === null ? [] : [["content-disposition", disposition] as [string, string]]),
  ],
  body: { name, size },
  is_second_hand: true,
});

function whatLacks({ _error, response }: HarEntry, body: EntryBody): string | null {
  if (body.how === "missing") return "the capture does not have its body";
  if (body.how === "unanswered") {
    const why = typeof _error === "string" ? ` (${_error.slice(0, 200)})` : "";
    return `it had no answer when the page was captured${why}`;
  }
  return response.status < 200 || response.status > 599
    ? `it was answered with ${response.status}`
    : null;
}

function headersOf({ response }: HarEntry): [string, string][] {
  const kept = response.headers.filter(
    ({ name, value }) =>
      TOKEN.test(name) &&
      !DROPPED.has(name.toLowerCase()) &&
      value !== MASK &&
      value.length <= MAX_VALUE,
  );
  const headers = kept.slice(0, 500).map(({ name, value }): [string, string] => [name, value]);
  const { mimeType } = response.content;
  // Beyond the recorder's bound for headers there are none.
  if (response.headers.length === 0 && mimeType !== "x-unknown" && mimeType !== "")
    headers.push(["content-type", mimeType]);
  const is_redirect = response.redirectURL !== "" && headerValue(kept, "location") === undefined;
  if (is_redirect) headers.push(["location", response.redirectURL]);
  return headers;
}

function heldOf(
  { response }: HarEntry,
  body: Extract<EntryBody, { asset: ReadableAsset }>,
): ReplayEntry["body"] {
  const { name, size, ranges } = body.asset;
  if (body.how === "joined") return { name, size };
  const [, from, total] =
    /^bytes (\d+)-\d+\/(\d+|\*)$/i.exec(headerValue(response.headers, "content-range") ?? "") ?? [];
  const of = Number(total ?? headerValue(response.headers, "content-length") ?? Number.NaN);
  const known = Number.isSafeInteger(of) ? { total: of } : {};
  if (body.how === "pieces") return { name, size, ranges, ...known };
  if (response.status === 206)
    return {
      name,
      size,
      ranges: [{ start: Number(from), end: Number(from) + size - 1 }],
      ...known,
    };
  return { name, size };
}
