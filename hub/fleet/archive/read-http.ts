import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { type Chunks, through } from "#shared/archive/streams.ts";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import { type ByteReader, createByteReader } from "./byte-reader.ts";
import { headerValue } from "./http-head.ts";

type Header = HarEntry["response"]["headers"][number];

/** An HTTP message as a record has it. */
export interface HttpMessage {
  /** Its first line. */
  start: string;
  headers: Header[];
  /** What follows, as it stands in the record. */
  body: Chunks;
}

const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;
/** More codings around one body are made to cost, not to carry. */
const MAX_CODINGS = 3;
/** The size of a chunk with its extensions. */
const CHUNK_HEAD_BYTES = 4_096;

/**
 * The message in a record's block; null when there is none. Lines that are no headers are passed over.
 * @throws ArchiveError when its head is longer than `max_bytes`.
 */
export async function readMessage(block: Chunks, max_bytes: number): Promise<HttpMessage | null> {
  const reader = createByteReader(block);
  // A head alone may lack its blank line.
  const head = await reader.until("\r\n\r\n", max_bytes, "the head of an HTTP message", true);
  if (head === null) return null;
  const [start = "", ...lines] = head
    .toString("latin1")
    .replace(/\r?\n[ \t]+/g, " ")
    .split(/\r?\n/);
  const headers = lines.flatMap((line) => {
    const [, name, value = ""] = HEADER.exec(line) ?? [];
    return name === undefined ? [] : [{ name, value: utf8(value) }];
  });
  return { start, headers, body: reader.take(Number.POSITIVE_INFINITY) };
}

/** Headers are bytes: UTF-8 where they can be that, Latin-1 otherwise. */
function utf8(latin1: string): string {
  if (!/[\x80-\xff]/.test(latin1)) return latin1;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(latin1, "latin1"));
  } catch {
    return latin1;
  }
}

/** How a body is coded for the wire; null for a coding that is not known here. */
export function codingsOf(headers: readonly Header[]): string[] | null {
  const codings = (headerValue(headers, "content-encoding") ?? "")
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  const is_known = codings.length <= MAX_CODINGS && codings.every(isCoding);
  return is_known ? codings : null;
}

/**
 * A body without the codings of the wire: what a browser makes of it. Archives are not always true to their headers, so
 * that a body which is plainly not coded is left as it is.
 * @throws ArchiveError when it cannot be decoded
 */
export async function* decodedBody(
  { headers, body }: HttpMessage,
  codings: readonly string[],
): AsyncGenerator<Uint8Array> {
  const is_chunked = /\bchunked\b/i.test(headerValue(headers, "transfer-encoding") ?? "");
  let chunks: Chunks = is_chunked ? unchunked(createByteReader(body)) : body;
  for (const coding of codings.toReversed()) chunks = decoded(chunks, coding);
  yield* chunks;
}

const DECODERS = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  br: createBrotliDecompress,
  deflate: createInflate,
  zstd: createZstdDecompress,
} as const;

const isCoding = (coding: string): coding is keyof typeof DECODERS =>
  Object.hasOwn(DECODERS, coding);

async function* decoded(chunks: Chunks, coding: string): AsyncGenerator<Uint8Array> {
  if (!isCoding(coding)) return yield* chunks;
  const reader = createByteReader(chunks);
  const [first, second] = await reader.peek(2);
  const rest = reader.take(Number.POSITIVE_INFINITY);
  if (first === undefined) return;
  const is_gzip = first === 0x1f && second === 0x8b;
  if ((coding === "gzip" || coding === "x-gzip") && !is_gzip) return yield* rest;
  // Half of the servers send it without the header that the standard asks for.
  const is_bare = coding === "deflate" && (first & 0x0f) !== 8;
  try {
    yield* through(rest, is_bare ? createInflateRaw() : DECODERS[coding]());
  } catch (cause) {
    if (cause instanceof ArchiveError) throw cause;
    throw new ArchiveError(`a body that should be ${coding} is not`, { cause });
  }
}

async function* unchunked(reader: ByteReader): AsyncGenerator<Uint8Array> {
  for (let is_first = true; ; is_first = false) {
    if (is_first && !(await startsAsChunk(reader)))
      return yield* reader.take(Number.POSITIVE_INFINITY);
    const head = await reader.until("\r\n", CHUNK_HEAD_BYTES, "the head of a chunk");
    const length = Number.parseInt(head?.toString("latin1") ?? "0", 16);
    if (!Number.isSafeInteger(length) || length < 0)
      throw new ArchiveError("a chunk of a body does not say how long it is");
    if (length === 0) return;
    let left = length;
    for await (const chunk of reader.take(length)) {
      left -= chunk.length;
      yield chunk;
    }
    if (left > 0) throw new ArchiveError("a body ends within a chunk");
    await reader.until("\r\n", 2, "the end of a chunk");
  }
}

const startsAsChunk = async (reader: ByteReader): Promise<boolean> =>
  /^[0-9a-f]{1,8}[ \t]*(;|\r\n)/i.test((await reader.peek(16)).toString("latin1"));
