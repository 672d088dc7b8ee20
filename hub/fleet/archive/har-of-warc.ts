import { hideCredentials, shownHeader } from "#shared/kit/hide-credentials.ts";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import { headerValue, ORIGINAL } from "./http-head.ts";
import type { HttpMessage } from "./read-http.ts";
import type { ReadableRecord } from "./read-warc.ts";

type Header = HarEntry["response"]["headers"][number];
type Request = HarEntry["request"];
type Response = HarEntry["response"];

/** What a record says of itself. */
export interface RecordFacts {
  id: string;
  url: string;
  /** ISO 8601. */
  date: string;
  /** The record that it belongs to; empty where it names none. */
  concurrent: string;
  protocol: string;
  address: string;
  resource_type: string;
}

const EPOCH = "1970-01-01T00:00:00.000Z";

/** Longer values of these fields are no ids and no digests. */
const MAX_NAME_CHARS = 200;

/** A field by which records name each other; empty where there is none. */
export const nameIn = ({ field }: ReadableRecord, name: string): string => {
  const value = field(name) ?? "";
  return value.length > MAX_NAME_CHARS ? "" : value;
};

export function factsOf(record: ReadableRecord): RecordFacts {
  const { field } = record;
  const ms = Date.parse(field("warc-date") ?? "");
  // Some writers of version 1.0 put the URL in angle brackets.
  const url = (field("warc-target-uri") ?? "").replace(/^<(.*)>$/, "$1");
  return {
    id: nameIn(record, "warc-record-id"),
    url: hideCredentials(url),
    date: Number.isNaN(ms) ? EPOCH : new Date(ms).toISOString(),
    concurrent: nameIn(record, "warc-concurrent-to"),
    protocol: nameIn(record, "warc-protocol"),
    address: nameIn(record, "warc-ip-address"),
    resource_type: nameIn(record, "warc-resource-type"),
  };
}

const shown = (headers: readonly Header[]): Header[] =>
  headers.map(({ name, value }) => ({ name, value: shownHeader(name, value) }));

/** `h2` as it is, HTTP/1.1 in capitals: the names that our HAR files use. */
const versionOf = (protocol: string, otherwise: string): string =>
  (protocol === "" ? otherwise : protocol).replace(/^http\//i, "HTTP/");

const requestOf = (
  method: string,
  url: string,
  httpVersion: string,
  headers: Header[],
): Request => ({
  method,
  url,
  httpVersion,
  headers: shown(headers),
  queryString: URL.canParse(url)
    ? [...new URL(url).searchParams].map(([name, value]) => ({ name, value }))
    : [],
  cookies: [],
  headersSize: -1,
  bodySize: -1,
});

const NO_TIMINGS = { blocked: -1, dns: -1, connect: -1, ssl: -1, send: 0, wait: 0, receive: 0 };

const entryWith = (facts: RecordFacts, request: Request, response: Response): HarEntry => ({
  startedDateTime: facts.date,
  time: 0,
  request,
  response,
  cache: {},
  timings: NO_TIMINGS,
  ...(facts.address === "" ? {} : { serverIPAddress: facts.address }),
  ...(facts.resource_type === "" ? {} : { _resourceType: facts.resource_type }),
});

/** The request of a record, as the entry of its answer takes it over. */
export function requestOfRecord(facts: RecordFacts, { start, headers }: HttpMessage): Request {
  const [method = "GET", , version = ""] = start.split(" ");
  return requestOf(
    /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/.test(method) ? method : "GET",
    facts.url,
    versionOf(facts.protocol, version),
    restored(headers),
  );
}

/** The entry of an answer; its request is made up until that of the archive is known. Null for what is no answer. */
export function entryOfAnswer(
  facts: RecordFacts,
  { start, headers }: HttpMessage,
): HarEntry | null {
  const [, version = "", code = "", reason = ""] =
    /^(HTTP\/\d(?:\.\d)?)[ \t]+(\d{3})(?:[ \t]+(.*))?$/i.exec(start) ?? [];
  if (code === "") return null;
  const own = restored(headers);
  const is_joined = code === "200" && headerValue(own, "content-range") !== undefined;
  const status = is_joined ? 206 : Number(code);
  const httpVersion = versionOf(facts.protocol, version);
  const mime = headerValue(own, "content-type") ?? "";
  return entryWith(facts, requestOf("GET", facts.url, httpVersion, []), {
    status,
    statusText: is_joined ? "" : reason,
    httpVersion,
    headers: shown(own),
    cookies: [],
    content: { size: 0, mimeType: mime === "" ? "x-unknown" : mime },
    redirectURL: redirectOf(status, facts.url, own),
    headersSize: -1,
    bodySize: -1,
  });
}

/** What an entry of somebody else's HAR may bring along: the fields that are known here, with its secrets hidden. */
export function cleanEntry(facts: RecordFacts, entry: HarEntry): HarEntry {
  const { request, response, time, timings, _error, startedDateTime } = entry;
  const url = hideCredentials(request.url);
  const mine = requestOf(request.method, url, request.httpVersion, request.headers);
  const made = entryWith({ ...facts, date: startedDateTime }, mine, {
    status: response.status,
    statusText: response.statusText,
    httpVersion: response.httpVersion,
    headers: shown(response.headers),
    cookies: [],
    content: { size: response.content.size, mimeType: response.content.mimeType },
    redirectURL: hideCredentials(response.redirectURL),
    headersSize: -1,
    bodySize: response.bodySize,
  });
  return {
    ...made,
    time,
    timings,
    ...(entry.serverIPAddress === undefined ? {} : { serverIPAddress: entry.serverIPAddress }),
    ...(entry._resourceType === undefined ? {} : { _resourceType: entry._resourceType }),
    ...(_error === undefined ? {} : { _error }),
    ...(entry._unfinished === true ? { _unfinished: true } : {}),
  };
}

function redirectOf(status: number, url: string, headers: readonly Header[]): string {
  const location = headerValue(headers, "location");
  if (status < 300 || status > 399 || location === undefined) return "";
  return URL.canParse(location, url) ? hideCredentials(new URL(location, url).href) : "";
}

/** Headers that `http-head.ts`, like browsertrix, keeps under another name, because the stored body is decoded. */
const RESTORED = new Set([
  "content-encoding",
  "transfer-encoding",
  "content-length",
  "content-range",
]);

/** The headers as the server sent them. */
function restored(headers: readonly Header[]): Header[] {
  const nameOf = (name: string) => name.slice(ORIGINAL.length).toLowerCase();
  const isKept = ({ name }: Header) =>
    name.toLowerCase().startsWith(ORIGINAL) && RESTORED.has(nameOf(name));
  const kept = new Set(headers.filter(isKept).map(({ name }) => nameOf(name)));
  return headers.flatMap((header) => {
    if (isKept(header)) return [{ name: header.name.slice(ORIGINAL.length), value: header.value }];
    return kept.has(header.name.toLowerCase()) ? [] : [header];
  });
}
