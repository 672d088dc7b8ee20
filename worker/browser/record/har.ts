import { isoTime } from "#shared/kit/clock.ts";
import { hideCredentials, MASK, shownHeader } from "#shared/kit/hide-credentials.ts";
import type { HeaderRecord } from "./header-budget.ts";
import type { Trace } from "./trace.ts";
import type { TraceEntry } from "./trace-entry.ts";
import type { TracePage } from "./trace-pages.ts";

const VERSION = "0.1";

export interface HarSource {
  trace: Trace;
  /** e.g. `Chrome/156.0.8078.73`. */
  product: string;
  /** Title of a page, if it is known. */
  titleOf(page_id: string): string;
  /** Name of the asset that holds this request's body. */
  assetOf(entry: TraceEntry): string | null;
  /** Takes out of a text what no record may show. */
  mask(text: string): string;
}

/**
 * har.json of a job: HAR 1.2 without bodies (rules/documents#har). `content._asset` names the asset that holds one; `_error` says
 * why a request failed; `log._dropped` counts requests beyond the 20,000 that are kept. Values of cookies and credentials
 * are `***`.
 */
export function harOf(source: HarSource): string {
  const { trace } = source;
  const [name = "Chromium", version = ""] = source.product.split("/");
  const { entries } = trace;
  const known = new Map(trace.pages.map((page) => [page.target_id, page]));
  const pages = new Map<string, { page: TracePage; first: TraceEntry }>();
  for (const entry of entries) {
    const page = known.get(entry.page_id ?? "");
    if (page && !pages.has(page.target_id)) pages.set(page.target_id, { page, first: entry });
  }
  const log = {
    version: "1.2",
    creator: { name: "Flotilla", version: VERSION },
    browser: { name, version },
    pages: [...pages.values()].map(({ page, first }) => ({
      startedDateTime: isoTime(first.wall_time * 1_000),
      id: page.target_id,
      title: source.titleOf(page.target_id) || hideCredentials(first.url),
      pageTimings: {
        onContentLoad: sinceMs(first, page.content_loaded),
        onLoad: sinceMs(first, page.loaded),
      },
    })),
    entries: entries.map((entry) => {
      const page_id = pages.has(entry.page_id ?? "") ? entry.page_id : null;
      return harEntry(entry, page_id, source.assetOf(entry));
    }),
    ...(trace.dropped > 0 ? { _dropped: trace.dropped } : {}),
  };
  // A page sends what was entered in addresses and headers of any name.
  return JSON.stringify({ log }, (_key, value: unknown) =>
    typeof value === "string" ? source.mask(value) : value,
  );
}

const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;
const sinceMs = (first: TraceEntry, at: number | null): number =>
  at === null || at < first.started ? -1 : round((at - first.started) * 1_000);

/** One request as HAR 1.2 says it, without what grants access. `asset` holds its body. */
export function harEntry(entry: TraceEntry, page_id: string | null, asset: string | null) {
  const timings = timingsOf(entry);
  const { blocked, dns, connect, send, wait, receive } = timings;
  const parts = [blocked, dns, connect, send, wait, receive];
  const { response } = entry;
  return {
    ...(page_id === null ? {} : { pageref: page_id }),
    startedDateTime: isoTime(entry.wall_time * 1_000),
    time: round(parts.filter((ms) => ms > 0).reduce((sum, ms) => sum + ms, 0)),
    request: requestRecord(entry),
    response: responseRecord(entry, asset),
    cache: {},
    timings,
    ...(response?.address ? { serverIPAddress: response.address.replace(/^\[|\]$/g, "") } : {}),
    ...(response && response.connection_id > 0
      ? { connection: String(response.connection_id) }
      : {}),
    _resourceType: entry.type.toLowerCase(),
    ...(response?.from_cache ? { _fromCache: true } : {}),
    ...(response?.from_service_worker ? { _fromServiceWorker: true } : {}),
    ...(entry.error === null ? {} : { _error: entry.error }),
    ...(entry.ended === null ? { _unfinished: true } : {}),
  };
}

function requestRecord(entry: TraceEntry) {
  const { url, method, request_headers } = entry;
  return {
    method,
    url: hideCredentials(url),
    httpVersion: entry.response ? httpVersion(entry.response.protocol) : "",
    headers: headerList(request_headers),
    queryString: queryOf(url),
    cookies: headerValues(request_headers, "cookie")
      .flatMap((value) => value.split(";"))
      .map((pair) => ({ name: pair.split("=")[0]?.trim() ?? "", value: MASK })),
    headersSize: -1,
    bodySize: -1,
    ...(entry.body_digest === null ? {} : { _bodyDigest: entry.body_digest }),
  };
}

function responseRecord(
  { response, received, encoded, redirect_url }: TraceEntry,
  asset: string | null,
) {
  if (!response)
    return {
      status: 0,
      statusText: "",
      httpVersion: "",
      headers: [],
      cookies: [],
      content: { size: 0, mimeType: "x-unknown" },
      redirectURL: "",
      headersSize: -1,
      bodySize: -1,
    };
  const wire = encoded === null ? -1 : Math.max(0, encoded - response.header_bytes);
  return {
    status: response.status,
    statusText: response.status_text,
    httpVersion: httpVersion(response.protocol),
    headers: headerList(response.headers),
    cookies: headerValues(response.headers, "set-cookie").map(setCookieRecord),
    content: {
      size: received,
      mimeType: response.mime || "x-unknown",
      ...(asset === null ? {} : { _asset: asset }),
    },
    redirectURL: hideCredentials(redirect_url),
    headersSize: response.header_bytes > 0 ? response.header_bytes : -1,
    bodySize: response.from_cache ? 0 : wire,
  };
}

/** Converts `http/1.1` and `h2` to the names that HAR readers know. */
const httpVersion = (protocol: string): string =>
  /^http\//i.test(protocol) ? protocol.toUpperCase() : protocol;

/** Chromium joins the values of a name with line breaks. */
const headerValues = (headers: HeaderRecord, name: string): string[] =>
  Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value.split("\n"));

const headerList = (headers: HeaderRecord): { name: string; value: string }[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    value.split("\n").map((one) => ({
      name,
      value: shownHeader(name, one),
    })),
  );

function queryOf(url: string): { name: string; value: string }[] {
  if (!URL.canParse(url)) return [];
  // An address in a parameter is encoded in the URL, and plain here.
  return [...new URL(url).searchParams].map(([name, value]) => ({
    name,
    value: hideCredentials(value),
  }));
}

function setCookieRecord(line: string) {
  const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
  const find = (name: string): string | undefined =>
    attributes
      .find((attribute) => attribute.toLowerCase().startsWith(`${name}=`))
      ?.slice(name.length + 1);
  const has = (name: string) => attributes.some((attribute) => attribute.toLowerCase() === name);
  const path = find("path");
  const domain = find("domain");
  return {
    name: pair.split("=")[0] ?? "",
    value: MASK,
    ...(path === undefined ? {} : { path }),
    ...(domain === undefined ? {} : { domain }),
    httpOnly: has("httponly"),
    secure: has("secure"),
  };
}

/** Milliseconds; -1 where a phase does not apply. `ssl` is a part of `connect` (HAR 1.2). */
function timingsOf({ started, ended, response }: TraceEntry) {
  const timing = response?.timing;
  const total = ended === null ? 0 : Math.max(0, (ended - started) * 1_000);
  if (!timing)
    return {
      blocked: -1,
      dns: -1,
      connect: -1,
      ssl: -1,
      send: 0,
      wait: response ? 0 : round(total),
      receive: response ? round(total) : 0,
    };
  const span = (from: number, to: number) => (from >= 0 && to >= from ? round(to - from) : -1);
  const first = [timing.dnsStart, timing.connectStart, timing.sendStart].find((at) => at >= 0) ?? 0;
  const got_headers = timing.requestTime + timing.receiveHeadersEnd / 1_000;
  return {
    blocked: round(Math.max(0, (timing.requestTime - started) * 1_000 + first)),
    dns: span(timing.dnsStart, timing.dnsEnd),
    connect: span(timing.connectStart, timing.connectEnd),
    ssl: span(timing.sslStart, timing.sslEnd),
    send: Math.max(0, span(timing.sendStart, timing.sendEnd)),
    wait: Math.max(0, span(timing.sendEnd, timing.receiveHeadersEnd)),
    receive: ended === null ? 0 : round(Math.max(0, (ended - got_headers) * 1_000)),
  };
}
