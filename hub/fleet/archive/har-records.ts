import { isIP } from "node:net";
import { asciiUrl } from "#shared/kit/ascii-url.ts";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import type { Indexed } from "./cdxj.ts";
import { bodyOfEntry, type EntryBody, type ReadableAsset } from "./entry-body.ts";
import { headerValue, requestHead, responseHead } from "./http-head.ts";
import { digestOf, recordId, type WarcBody, type WarcRecord, warcFields } from "./warc-record.ts";

/** A record and what the index says of it; null for records that no replay looks up. */
export interface Planned {
  record: WarcRecord;
  indexed: Indexed | null;
}

type Fields = [name: string, value: string][];

/** The record that holds a payload. */
interface Holder {
  id: string;
  uri: string;
  date: string;
}

const REVISIT = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
/** What `WARC-Protocol` calls the versions that Chromium reports. */
const PROTOCOLS = new Set(["http/1.0", "http/1.1", "h2", "h3"]);
const NO_HEAD = new Uint8Array();
/** A replay that found one of these would show an empty page. */
const isLookedUp = ({ request, response }: HarEntry): boolean =>
  !["HEAD", "OPTIONS"].includes(request.method) && response.status !== 304;

const plainMime = (mime: string): string => mime.split(";")[0]?.trim() ?? "";

/** Types whose bytes are compressed already. */
const isCompressed = (mime: string): boolean =>
  (/^(image|video|audio|font)\//.test(mime) && !/svg|bmp|wav/.test(mime)) ||
  /zip|compressed|pdf/.test(mime);

export const warcBodyOf = ({ size, sha256, mime, read }: ReadableAsset): WarcBody => ({
  size,
  sha256,
  is_compressed: isCompressed(mime),
  read,
});

interface HarRecordsOptions {
  /** Makes the ids of the records; another one for another archive. */
  seed: string;
  warcinfo_id: string;
  /** For an entry without a time. */
  date: string;
}

/**
 * Makes the records of a HAR's entries, in their order. An answer whose bytes are held, or that had none, is a response
 * or, where the archive already has its payload, a revisit, followed by its request. What a response cannot say is in a
 * metadata record with the HAR entry.
 */
export function createHarRecords({ seed, warcinfo_id, date }: HarRecordsOptions) {
  const holders = new Map<string, Holder>();
  let count = 0;

  const common = ({ request }: HarEntry): Fields => targetFields(request.url, warcinfo_id);
  const make = (
    type: WarcRecord["type"],
    entry: HarEntry,
    rest: Pick<WarcRecord, "content_type" | "fields" | "head" | "body" | "payload_digest">,
  ): WarcRecord => {
    count += 1;
    return { type, id: recordId(`${seed} ${count}`), date: dateOf(entry, date), ...rest };
  };
  const answer = (entry: HarEntry, body: EntryBody): Planned => {
    const asset = "asset" in body ? body.asset : null;
    const size = asset?.size ?? 0;
    const joined = body.how === "joined";
    const known = size > 0 ? holders.get(asset?.sha256 ?? "") : undefined;
    const cut: Fields = body.how === "whole" && body.cut ? [["WARC-Truncated", "unspecified"]] : [];
    const content_type = "application/http; msgtype=response";
    const head = responseHead(entry, { size, joined });
    const fields = [...common(entry), ...networkFields(entry), ...cut];
    const record =
      known && asset
        ? make("revisit", entry, {
            content_type,
            fields: [...fields, ...revisitFields(known)],
            head,
            body: null,
            payload_digest: digestOf(asset.sha256),
          })
        : make("response", entry, {
            content_type,
            fields,
            head,
            body: asset ? warcBodyOf(asset) : EMPTY,
          });
    if (asset && size > 0 && !known)
      holders.set(asset.sha256, {
        id: record.id,
        uri: asciiUrl(entry.request.url),
        date: record.date,
      });
    return { record, indexed: indexedAnswer(entry, record, asset?.sha256 ?? EMPTY.sha256, joined) };
  };
  const request = (entry: HarEntry, response_id: string): Planned => ({
    record: make("request", entry, {
      content_type: "application/http; msgtype=request",
      fields: [...common(entry), ["WARC-Concurrent-To", response_id], ...protocolField(entry)],
      head: requestHead(entry),
      body: null,
    }),
    indexed: null,
  });
  const metadata = (entry: HarEntry, body: EntryBody, about?: string): Planned => ({
    record: make("metadata", entry, {
      content_type: "application/warc-fields",
      fields: [...common(entry), ...(about ? [["WARC-Refers-To", about] as [string, string]] : [])],
      head: warcFields({ why: whyOf(body), ...assetFields(body), har: JSON.stringify(entry) }),
      body: null,
    }),
    indexed: null,
  });

  const ofEntry = (entry: HarEntry, asset: ReadableAsset | undefined): Planned[] => {
    const body = bodyOfEntry(entry, asset);
    const holder = "asset" in body ? holders.get(body.asset.sha256) : undefined;
    if (body.how === "missing" || body.how === "unanswered" || body.how === "pieces")
      return [metadata(entry, body)];
    // Its file is in the archive: a range of it is no revisit of the whole.
    if (body.how === "joined" && holder) return [metadata(entry, body, holder.id)];
    const answered = answer(entry, body);
    const both = [answered, request(entry, answered.record.id)];
    const is_whole = body.how === "none" || (body.how === "whole" && !body.cut);
    return is_whole ? both : [...both, metadata(entry, body, answered.record.id)];
  };
  return { ofEntry };
}

const EMPTY: WarcBody & { sha256: string } = {
  size: 0,
  sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  is_compressed: false,
  read: async () => (async function* () {})(),
};

const targetFields = (uri: string, warcinfo_id: string): Fields => [
  ["WARC-Target-URI", asciiUrl(uri)],
  ["WARC-Warcinfo-ID", warcinfo_id],
];

const dateOf = ({ startedDateTime }: HarEntry, otherwise: string): string => {
  const ms = Date.parse(startedDateTime);
  return Number.isNaN(ms) ? otherwise : new Date(ms).toISOString();
};

const protocolField = ({ response }: HarEntry): Fields => {
  const protocol = response.httpVersion.toLowerCase();
  return PROTOCOLS.has(protocol) ? [["WARC-Protocol", protocol]] : [];
};

function networkFields(entry: HarEntry): Fields {
  const { serverIPAddress = "", _resourceType } = entry;
  return [
    ...(isIP(serverIPAddress) === 0 ? [] : ([["WARC-IP-Address", serverIPAddress]] as Fields)),
    ...protocolField(entry),
    ...(_resourceType === undefined ? [] : ([["WARC-Resource-Type", _resourceType]] as Fields)),
  ];
}

const revisitFields = ({ id, uri, date }: Holder): Fields => [
  ["WARC-Profile", REVISIT],
  ["WARC-Refers-To", id],
  ["WARC-Refers-To-Target-URI", uri],
  ["WARC-Refers-To-Date", date],
];

/** Empty where the answer named none: what a HAR calls it then is no type. */
const namedMime = ({ headers, content }: HarEntry["response"]): string =>
  headerValue(headers, "content-type") ?? (headers.length === 0 ? content.mimeType : "");

function indexedAnswer(
  entry: HarEntry,
  { type, date }: WarcRecord,
  sha256: string,
  joined: boolean,
): Indexed | null {
  if (!isLookedUp(entry)) return null;
  const { request, response } = entry;
  const asked_mime = plainMime(headerValue(request.headers, "content-type") ?? "");
  const mime = type === "revisit" ? "warc/revisit" : plainMime(namedMime(response));
  return {
    url: asciiUrl(request.url),
    date,
    ...(mime === "" ? {} : { mime }),
    status: joined ? 200 : response.status,
    digest: digestOf(sha256),
    ...(request.method === "GET" ? {} : { asked: { method: request.method, mime: asked_mime } }),
  };
}

const whyOf = (body: EntryBody): string => {
  if (body.how === "unanswered") return "there was no answer";
  if (body.how === "missing") return "the body is not held";
  if (body.how === "joined") return "the answer was a range of the joined file";
  if (body.how === "pieces") return "some ranges of the file are held, one after the other";
  return "the body was cut, and its beginning is held";
};

const assetFields = (body: EntryBody): Record<string, string> =>
  "asset" in body
    ? {
        asset: body.asset.name,
        ...(body.asset.ranges.length > 0
          ? { ranges: body.asset.ranges.map(({ start, end }) => `${start}-${end}`).join(", ") }
          : {}),
      }
    : {};

/** A resource: what is no answer to a recorded request. */
interface Resource {
  seed: string;
  warcinfo_id: string;
  uri: string;
  date: string;
  mime: string;
  body: WarcBody;
}

export const resourceRecord = ({
  seed,
  warcinfo_id,
  uri,
  date,
  mime,
  body,
}: Resource): Planned => ({
  record: {
    type: "resource",
    id: recordId(`${seed} ${uri} ${date} ${body.sha256}`),
    date,
    content_type: mime,
    fields: targetFields(uri, warcinfo_id),
    head: NO_HEAD,
    body,
  },
  // A body that nobody has hashed is looked up by nobody.
  indexed:
    body.sha256 === null
      ? null
      : { url: asciiUrl(uri), date, mime: plainMime(mime), digest: digestOf(body.sha256) },
});
