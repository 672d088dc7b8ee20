import { createGunzip } from "node:zlib";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { type Chunks, through } from "#shared/archive/streams.ts";
import { type ByteReader, createByteReader } from "./byte-reader.ts";

/** A record as it comes in. */
export interface ReadableRecord {
  type: string;
  /** The first value of a field; its name in lower case. */
  field(name: string): string | undefined;
  /** What follows the fields, to be read before the next record is asked for; what is left is skipped. */
  block: AsyncGenerator<Uint8Array>;
}

export interface WarcLimits {
  records: number;
  /** Fields of one record. */
  field_bytes: number;
  /** Counts what comes out of the compression; throws when it is enough. */
  onBytes(bytes: number): void;
}

const GZIP = Buffer.from([0x1f, 0x8b]);
const VERSION = /^WARC\/(0\.1[78]|1\.[01])\r?\n/;
/** A field may go on in the next line. */
const FOLDED = /\r?\n[ \t]+/g;
/** Whether a field's name is one; others are passed over. */
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;

/**
 * The records of a WARC file of version 1.0 or 1.1, plain or compressed record by record. Nothing of it is trusted: every
 * size is bounded, and a record that ends too early ends the reading.
 * @throws ArchiveError
 */
export async function* readWarc(
  chunks: Chunks,
  limits: WarcLimits,
): AsyncGenerator<ReadableRecord> {
  const packed = createByteReader(chunks);
  const is_packed = GZIP.equals(await packed.peek(GZIP.length));
  const raw = packed.take(Number.POSITIVE_INFINITY);
  const reader = createByteReader(counted(is_packed ? unpacked(raw) : raw, limits.onBytes));
  let count = 0;
  try {
    for (;;) {
      const head = await nextHead(reader, limits.field_bytes);
      if (head === null) return;
      count += 1;
      if (count > limits.records)
        throw new ArchiveError(`the archive has more than ${limits.records} records`, {
          too_large: true,
        });
      yield* oneRecord(reader, head, count);
    }
  } finally {
    await reader.close();
    await packed.close();
  }
}

async function* oneRecord(
  reader: ByteReader,
  head: string,
  count: number,
): AsyncGenerator<ReadableRecord> {
  const fields = fieldsOf(head, count);
  const field = (name: string) => fields.get(name);
  const length = Number(field("content-length"));
  if (!/^\d{1,15}$/.test(field("content-length") ?? ""))
    throw new ArchiveError(`record ${count} of the archive does not say how long it is`);
  let left = length;
  const block = (async function* () {
    for await (const chunk of reader.take(length)) {
      left -= chunk.length;
      yield chunk;
    }
    if (left > 0) throw new ArchiveError(`the archive ends within record ${count}`);
  })();
  yield { type: field("warc-type") ?? "", field, block };
  // A block that was given up begins no more, so the rest is read past it.
  await block.return(undefined);
  for await (const chunk of reader.take(left)) left -= chunk.length;
  if (left > 0) throw new ArchiveError(`the archive ends within record ${count}`);
}

/** Blank lines stand between records; at the end of the file there may be any number. */
async function nextHead(reader: ByteReader, max_bytes: number): Promise<string | null> {
  for (;;) {
    const [byte] = await reader.peek(1);
    if (byte === undefined) return null;
    if (byte !== 0x0d && byte !== 0x0a) break;
    for await (const _blank of reader.take(1));
  }
  const head = await reader.until("\r\n\r\n", max_bytes, "the head of a record");
  return head === null ? null : head.toString("utf8");
}

function fieldsOf(head: string, count: number): Map<string, string> {
  if (!VERSION.test(`${head}\n`))
    throw new ArchiveError(
      count === 1
        ? "this is no WARC file of version 1.0 or 1.1"
        : `what follows record ${count - 1} of the archive is no record`,
    );
  const fields = new Map<string, string>();
  for (const line of head.replace(FOLDED, " ").split(/\r?\n/).slice(1)) {
    const [, name, value = ""] = FIELD.exec(line) ?? [];
    const key = name?.toLowerCase();
    if (key !== undefined && !fields.has(key)) fields.set(key, value);
  }
  return fields;
}

async function* unpacked(chunks: Chunks): AsyncGenerator<Uint8Array> {
  try {
    yield* through(chunks, createGunzip());
  } catch (cause) {
    if (cause instanceof ArchiveError) throw cause;
    throw new ArchiveError("the archive cannot be decompressed: it is damaged or cut off", {
      cause,
    });
  }
}

async function* counted(
  chunks: Chunks,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    onBytes(chunk.length);
    yield chunk;
  }
}
