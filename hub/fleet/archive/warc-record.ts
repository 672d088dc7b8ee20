import { createHash } from "node:crypto";
import { createGzip, gzipSync } from "node:zlib";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { type Chunks, through } from "#shared/archive/streams.ts";

type WarcType = "warcinfo" | "request" | "response" | "revisit" | "resource" | "metadata";

/** A body that is read when its record is written. */
export interface WarcBody {
  size: number;
  /** In hex; null where nobody has computed it yet. */
  sha256: string | null;
  /** Images, video, fonts and the like, which a second compression would not make smaller. */
  is_compressed: boolean;
  read(): Promise<Chunks>;
}

/** One record of WARC 1.1 (ISO 28500:2017). */
export interface WarcRecord {
  type: WarcType;
  /** `<urn:uuid:…>` */
  id: string;
  date: string;
  content_type: string;
  /** Fields beside those that every record has and the digests. */
  fields: readonly (readonly [name: string, value: string])[];
  /** The HTTP header block of requests, responses and revisits, or a whole block that is in memory. */
  head: Uint8Array;
  /** What follows the head: the payload. */
  body: WarcBody | null;
  /** The digest of a payload that the record does not hold, which is the case for a revisit. */
  payload_digest?: string;
}

/** Bodies up to this size are held in memory and read once; compressing one takes a few milliseconds. */
const SMALL_BYTES = 256 * 1024;
/**
 * The digest of a block stands before it, so a body up to this size is read twice. Reading more would keep the reader
 * waiting without a byte; the digest of the payload is known, and that of the block is optional.
 */
const READ_TWICE_BYTES = 256 * 1024 * 1024;
/** As in `write-tar.ts`: level 6 takes twice the time. */
const LEVEL = 4;
const NO_COMPRESSION = 0;
const END = "\r\n\r\n";
const encoder = new TextEncoder();

export const digestOf = (sha256: string): string => `sha256:${sha256}`;

export const bytesOf = (text: string): Uint8Array => encoder.encode(text);

/** A body that is in memory. */
export const bodyOf = (bytes: Uint8Array): WarcBody => ({
  size: bytes.length,
  sha256: createHash("sha256").update(bytes).digest("hex"),
  is_compressed: false,
  read: async () => once(bytes),
});

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/**
 * The record as a gzip member, so that a reader can begin at any record.
 * @throws ArchiveError when a body has another length than announced.
 */
export async function* writeRecord(
  record: WarcRecord,
  read_twice_bytes = READ_TWICE_BYTES,
): AsyncGenerator<Uint8Array> {
  const { body, head } = record;
  const level = body?.is_compressed ? NO_COMPRESSION : LEVEL;
  if (!body || body.size <= SMALL_BYTES) {
    const payload = body ? Buffer.concat(await collect(checked(body))) : Buffer.alloc(0);
    const sha256 = createHash("sha256").update(payload).digest("hex");
    const block = createHash("sha256").update(head).update(payload).digest("hex");
    const whole = [headerOf(record, { block, payload: sha256 }), head, payload, bytesOf(END)];
    yield gzipSync(Buffer.concat(whole), { level });
    return;
  }
  const once = body.sha256 !== null && body.size > read_twice_bytes;
  const digests = once ? { block: null, payload: body.sha256 } : await digestsOf(head, body);
  const header = headerOf(record, digests);
  yield* through(joined([header, head], body), createGzip({ level }));
}

/** In hex; null where a record has none. */
interface Digests {
  block: string | null;
  payload: string | null;
}

async function digestsOf(head: Uint8Array, body: WarcBody): Promise<Digests> {
  const payload = createHash("sha256");
  const block = createHash("sha256").update(head);
  for await (const chunk of checked(body)) {
    block.update(chunk);
    // One that is known was verified when the body came in.
    if (body.sha256 === null) payload.update(chunk);
  }
  return { block: block.digest("hex"), payload: body.sha256 ?? payload.digest("hex") };
}

async function collect(chunks: Chunks): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

async function* joined(before: Uint8Array[], body: WarcBody): AsyncGenerator<Uint8Array> {
  yield* before;
  yield* checked(body);
  yield bytesOf(END);
}

/** The body's bytes, as many as were announced: `Content-Length` stands before them. */
async function* checked({ size, read }: WarcBody): AsyncGenerator<Uint8Array> {
  let left = size;
  for await (const chunk of await read()) {
    left -= chunk.length;
    if (left < 0) break;
    yield chunk;
  }
  if (left !== 0) throw new ArchiveError(`a body is not the announced ${size} bytes long`);
}

function headerOf(record: WarcRecord, { block, payload }: Digests): Uint8Array {
  const { type, id, date, content_type, fields, head, body } = record;
  const own = body && payload !== null ? digestOf(payload) : undefined;
  const payload_digest = record.payload_digest ?? own;
  const lines = [
    ["WARC-Type", type],
    ["WARC-Record-ID", id],
    ["WARC-Date", date],
    ...fields,
    ...(payload_digest === undefined ? [] : [["WARC-Payload-Digest", payload_digest]]),
    ...(block === null ? [] : [["WARC-Block-Digest", digestOf(block)]]),
    ["Content-Type", content_type],
    ["Content-Length", String(head.length + (body?.size ?? 0))],
  ].map(([name, value]) => `${name}: ${oneLine(value ?? "")}\r\n`);
  return bytesOf(`WARC/1.1\r\n${lines.join("")}\r\n`);
}

/** A value that holds a line break would begin another field. */
const oneLine = (value: string): string => value.replace(/\p{Cc}/gu, " ");

/** A record's name: the same for the same seed, so that an archive that is made twice has the same bytes. */
export function recordId(seed: string): string {
  const bytes = createHash("sha256").update(seed).digest().subarray(0, 16);
  // RFC 9562: version 8, the bits of which are the maker's own.
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex");
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ];
  return `<urn:uuid:${parts.join("-")}>`;
}

/** A block of `application/warc-fields`. */
export const warcFields = (fields: Readonly<Record<string, string>>): Uint8Array =>
  bytesOf(
    Object.entries(fields)
      .map(([name, value]) => `${name}: ${oneLine(value)}\r\n`)
      .join(""),
  );
