import { ArchiveError } from "#shared/archive/archive-error.ts";
import { streamOf } from "#shared/archive/streams.ts";
import { JOB_DOCUMENTS } from "#shared/protocol/documents.ts";
import { MAX_DOCUMENT_BYTES } from "#shared/protocol/limits.ts";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import { collectUpTo } from "../archive/byte-reader.ts";
import {
  entryOfAnswer,
  factsOf,
  nameIn,
  type RecordFacts,
  requestOfRecord,
} from "../archive/har-of-warc.ts";
import { headerValue } from "../archive/http-head.ts";
import { codingsOf, decodedBody, type HttpMessage, readMessage } from "../archive/read-http.ts";
import { type ReadableRecord, readWarc } from "../archive/read-warc.ts";
import type { FleetContext } from "../context.ts";
import { documentKey } from "../jobs/stored-files.ts";
import { type Bodies, createBodies } from "./bodies.ts";
import { createEntries, type Entries, type Filled } from "./entries.ts";
import { IMPORT_LIMITS } from "./limits.ts";
import type { ArchiveSources } from "./sources.ts";
import { addTold, markPartial, readTold, type ToldEntry } from "./told-entry.ts";

/** What an archive was found to hold. Its bodies are in the object store. */
export interface Gathered {
  entries: ReturnType<Entries["done"]>;
  bodies: Bodies;
  /** Entries whose body is an asset of another record, by its name. */
  told: Map<string, ToldEntry[]>;
  /** The URL whose `page.html` is in the store; null when the archive has none. */
  page_url: string | null;
  /** Of the page at its end. */
  pictures: { screenshot: boolean; thumbnail: boolean };
  software: string | null;
  records: number;
  /** Records that a job has no place for, by what they are. */
  left_out: Record<string, number>;
  /** Bodies that could not be decoded, and bodies in a coding that is not known here. */
  undecodable: number;
  unknown_coding: number;
}

interface Gathering extends Omit<Gathered, "entries"> {
  ctx: Pick<FleetContext, "objects">;
  job_id: string;
  signal: AbortSignal;
  found: Entries;
  count: (bytes: number) => void;
}

/** Reads every record of the archive, and stores its bodies as assets of the job. @throws ArchiveError */
export async function gather(
  ctx: Pick<FleetContext, "config" | "objects">,
  job_id: string,
  { warcs, software }: ArchiveSources,
  count: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Gathered> {
  const to: Gathering = {
    ctx,
    job_id,
    signal,
    count,
    software,
    found: createEntries(),
    bodies: createBodies(ctx, job_id, count, signal),
    pictures: { screenshot: false, thumbnail: false },
    told: new Map<string, ToldEntry[]>(),
    page_url: null,
    records: 0,
    left_out: {},
    undecodable: 0,
    unknown_coding: 0,
  };
  for await (const warc of warcs) {
    const { records, field_bytes } = IMPORT_LIMITS;
    const limits = { records: records - to.records, field_bytes, onBytes: count };
    for await (const record of readWarc(warc, limits)) {
      to.records += 1;
      await takeRecord(to, record);
    }
  }
  const entries = to.found.done();
  await repeatBodies(to.bodies, entries.repeated);
  await to.bodies.flush();
  return { ...to, entries };
}

/** A capture keeps a body for each URL, so that it is found by any of them. */
async function repeatBodies(bodies: Bodies, repeated: readonly Filled[]): Promise<void> {
  const keyOf = (url: string, sha256: string) => `${sha256} ${url}`;
  const known = new Map(bodies.assets.map((one) => [keyOf(one.source_url, one.sha256), one]));
  for (const filled of repeated) {
    const { asset, entry } = filled;
    if (!asset) continue;
    const { url } = entry.request;
    const key = keyOf(url, asset.sha256);
    const facts = { url, mime: asset.mime, page_url: "", status: entry.response.status };
    const copy = known.get(key) ?? (await bodies.repeat(asset, facts));
    if (copy) known.set(key, copy);
    filled.asset = copy;
  }
}

const leaveOut = ({ left_out }: Gathering, what: string): void => {
  left_out[what] = (left_out[what] ?? 0) + 1;
};

const TYPES = new Set([
  ...["response", "revisit", "request", "metadata", "resource"],
  ...["conversion", "continuation"],
]);

async function takeRecord(to: Gathering, record: ReadableRecord): Promise<void> {
  const facts = factsOf(record);
  if (facts.url.length > IMPORT_LIMITS.url_chars) return leaveOut(to, "too long a URL");
  const is_http = /^https?:/.test(facts.url);
  const has_message = /^application\/http\b/i.test(record.field("content-type") ?? "");
  switch (record.type) {
    case "warcinfo":
      to.software ??= /^software: *(.{1,200})/im.exec(await textOf(record))?.[1]?.trim() ?? null;
      return;
    case "response":
      if (is_http && has_message) return takeResponse(to, record, facts);
      break;
    case "revisit":
      if (is_http) return takeRevisit(to, record, facts);
      break;
    case "request":
      if (is_http && has_message) return takeRequest(to, record, facts);
      break;
    case "metadata":
      if (is_http) return takeMetadata(to, record, facts);
      break;
    case "resource":
      return takeResource(to, record, facts);
  }
  leaveOut(to, TYPES.has(record.type) ? record.type : "unknown");
}

const textOf = async ({ block }: ReadableRecord): Promise<string> =>
  (await collectUpTo(block, IMPORT_LIMITS.text_bytes, "a record of text")).toString("utf8");

const digestIn = (record: ReadableRecord): string =>
  nameIn(record, "warc-payload-digest").toLowerCase();

const messageIn = (record: ReadableRecord) => readMessage(record.block, IMPORT_LIMITS.field_bytes);

/** Answers that have no body by nature (rules/capture#bodies-without-a-body). */
const hasNoBody = ({ response }: HarEntry): boolean =>
  response.redirectURL !== "" || response.status < 200 || [204, 205, 304].includes(response.status);

async function takeResponse(to: Gathering, record: ReadableRecord, facts: RecordFacts) {
  const message = await messageIn(record);
  const entry = message && entryOfAnswer(facts, message);
  if (!message || !entry) return leaveOut(to, "response without HTTP");
  const asset = hasNoBody(entry) ? null : await storeBody(to, facts, entry, message);
  const reason = record.field("warc-truncated");
  if (reason !== undefined && !entry._error) entry._error = `truncated: ${reason.slice(0, 100)}`;
  if (asset && reason !== undefined) {
    asset.partial = true;
    asset.ranges = [{ start: 0, end: asset.size - 1 }];
  }
  to.found.answer(facts, digestIn(record), { entry, asset });
}

async function storeBody(
  to: Gathering,
  { url }: RecordFacts,
  entry: HarEntry,
  message: HttpMessage,
) {
  const codings = codingsOf(message.headers);
  if (codings === null) to.unknown_coding += 1;
  const { status, headers } = entry.response;
  const mime = headerValue(headers, "content-type") ?? "";
  try {
    const body = decodedBody(message, codings ?? []);
    const asset = await to.bodies.store({ url, mime, page_url: "", status }, body);
    if (asset) markRange(asset, entry);
    return asset;
  } catch (err) {
    const refusal = err instanceof Error && err.cause instanceof ArchiveError ? err.cause : err;
    if (!(refusal instanceof ArchiveError) || refusal.too_large) throw refusal;
    to.undecodable += 1;
    entry._error = refusal.message;
    return null;
  }
}

/** An answer to a range of a file, of which the archive has no more. */
function markRange(asset: NonNullable<Awaited<ReturnType<Bodies["store"]>>>, entry: HarEntry) {
  if (entry.response.status !== 206) return;
  const range = headerValue(entry.response.headers, "content-range") ?? "";
  const [, start = "", , total] = /^bytes (\d{1,15})-(\d+)\/(\d+|\*)$/i.exec(range) ?? [];
  if (start === "" || total === String(asset.size)) return;
  asset.partial = true;
  asset.ranges = [{ start: Number(start), end: Number(start) + asset.size - 1 }];
}

async function takeRevisit(to: Gathering, record: ReadableRecord, facts: RecordFacts) {
  const message = (await messageIn(record)) ?? { start: "HTTP/1.1 200", headers: [] };
  const entry = entryOfAnswer(facts, { ...message, body: record.block });
  if (!entry) return leaveOut(to, "revisit without HTTP");
  const of = record.field("warc-refers-to-target-uri") ?? "";
  to.found.repetition(facts, digestIn(record), of, entry);
}

async function takeRequest(to: Gathering, record: ReadableRecord, facts: RecordFacts) {
  const message = await messageIn(record);
  if (!message) return leaveOut(to, "request without HTTP");
  to.found.request(facts, requestOfRecord(facts, message));
}

async function takeMetadata(to: Gathering, record: ReadableRecord, facts: RecordFacts) {
  const told = readTold(facts, nameIn(record, "warc-refers-to"), await textOf(record));
  if (!told) return leaveOut(to, "metadata");
  to.found.weigh(BYTES_OF_RANGE * told.ranges.length);
  addTold(to.found, told);
  const { about, asset_name } = told;
  if (about !== "" || asset_name === "") return;
  const others = to.told.get(asset_name);
  if (others) others.push(told);
  else to.told.set(asset_name, [told]);
}

/** In memory, about. */
const BYTES_OF_RANGE = 64;
const PICTURE = /^urn:(view|thumbnail|fullpage):(https?:.*)$/i;
/** Pictures of the page at its end that a job has as documents (rules/documents#final-state). */
const DOCUMENTS = {
  fullpage: { name: "screenshot.png", kind: "screenshot" },
  thumbnail: { name: "thumbnail.webp", kind: "thumbnail" },
} as const;

/** False for a picture that is no such document: of another type, too large, or not the first. */
async function keptAsDocument(to: Gathering, record: ReadableRecord, what: string) {
  if (what !== "fullpage" && what !== "thumbnail") return false;
  const { name, kind } = DOCUMENTS[what];
  const { mime, max_bytes } = JOB_DOCUMENTS[name];
  const is_fit =
    record.field("content-type") === mime && Number(record.field("content-length")) <= max_bytes;
  if (!is_fit || to.pictures[kind]) return false;
  const { ctx, job_id, signal } = to;
  await ctx.objects.put(documentKey(job_id, name), streamOf(record.block), { max_bytes, signal });
  to.pictures[kind] = true;
  return true;
}

/** What is no answer: a page as it was at the end, pictures of it, and files of their own (rules/documents#web-archive). */
async function takeResource(to: Gathering, record: ReadableRecord, { url, date }: RecordFacts) {
  const mime = record.field("content-type") ?? "";
  to.found.weigh(2 * url.length);
  const body = record.block;
  const [, dom_url] = /^urn:dom:(https?:.*)$/.exec(url) ?? [];
  if (dom_url !== undefined) return to.page_url === null ? storePage(to, dom_url, body) : undefined;
  // It is made from the page.
  if (url.startsWith("urn:text:")) return;
  const [, what = "", picture_of] = PICTURE.exec(url) ?? [];
  if (await keptAsDocument(to, record, what.toLowerCase())) return;
  const [, asset_name] = /^urn:asset:(.+)$/.exec(url) ?? [];
  const facts = { url, mime, page_url: "", status: null };
  if (picture_of !== undefined) {
    const name = `screenshot-${date.replace(/[-:.]/g, "")}`;
    await to.bodies.store({ ...facts, url: picture_of, page_url: picture_of, name }, body);
  } else if (asset_name !== undefined) {
    const asset = await to.bodies.store({ ...facts, name: asset_name }, body);
    const [told] = to.told.get(asset_name) ?? [];
    if (told) markPartial(asset, told);
  } else if (/^https?:/.test(url)) await to.bodies.store(facts, body);
  else leaveOut(to, "resource");
}

async function storePage(to: Gathering, url: string, body: AsyncGenerator<Uint8Array>) {
  const { ctx, job_id, count, signal } = to;
  const counted = (async function* () {
    for await (const chunk of body) {
      count(chunk.length);
      yield chunk;
    }
  })();
  await ctx.objects.put(documentKey(job_id, "page.html"), streamOf(counted), {
    max_bytes: MAX_DOCUMENT_BYTES,
    signal,
  });
  to.page_url = url;
}
