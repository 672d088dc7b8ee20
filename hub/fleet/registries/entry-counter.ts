import { ArchiveError } from "#shared/archive/archive-error.ts";
import type { ArchiveLimits } from "#shared/archive/read-tar.ts";

/** Counts the headers of a plain tar as its bytes pass; skips the bodies. */
export interface EntryCounter {
  /** @throws ArchiveError when there are more entries, or headers that belong to them, than there may be. */
  push(chunk: Uint8Array): void;
  /** Headers seen, including those that only extend the next entry. */
  readonly headers: number;
}

const BLOCK = 512;
const NAME = 100;
const SIZE = { at: 124, length: 12 };
const MAGIC = { at: 257, bytes: [...Buffer.from("ustar")] };
const TYPE = 156;

const DIRECTORY = "5";
const PLAIN_FILE = ["0", "\0"];
/** Records of the next entry: of POSIX, for one and for all, and long names of GNU. */
const RECORDS = "x";
const RECORDS_OF_ALL = "g";
const EXTRA = [RECORDS, RECORDS_OF_ALL, "K", "L", "N"];
/** The most that the reader takes of one of these; its error names this limit. */
const MAX_EXTRA_BYTES = 4 * 1024 * 1024;
/** An entry has records, and a long name or two, or neither. */
const HEADERS_PER_ENTRY = 3;

const ZERO = "0".charCodeAt(0);
const SPACE = " ".charCodeAt(0);

/** Sizes from 8 GB on are written in binary. */
function sizeOf(block: Uint8Array): number {
  const end = SIZE.at + SIZE.length;
  let size = 0;
  if (block[SIZE.at] === 0x80) {
    for (let i = SIZE.at + 1; i < end; i += 1) size = size * 256 + (block[i] ?? 0);
    return size;
  }
  let at = SIZE.at;
  while (at < end && block[at] === SPACE) at += 1;
  for (; at < end; at += 1) {
    const digit = (block[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 7) break;
    size = size * 8 + digit;
  }
  return size;
}

/** Of POSIX and of GNU; the reader takes no other. Its checksum is the reader's to judge: it costs more than all of this. */
const isHeader = (block: Uint8Array): boolean =>
  MAGIC.bytes.every((byte, i) => block[MAGIC.at + i] === byte);

function isDirectory(block: Uint8Array, type: string): boolean {
  if (type === DIRECTORY) return true;
  const end = block.indexOf(0);
  const last = block[(end === -1 || end > NAME ? NAME : end) - 1];
  return PLAIN_FILE.includes(type) && last === "/".charCodeAt(0);
}

/** The size that records give the next entry; null when they give none. */
function recordedSize(records: Buffer): number | null {
  const size = /(?:^|\n)\d+ size=(\d+)\n/.exec(records.toString("latin1"))?.[1];
  return size === undefined ? null : Number(size);
}

const padded = (size: number): number => Math.ceil(size / BLOCK) * BLOCK;

/** What POSIX records say of the sizes of the entries behind them. */
function createRecords() {
  /** Records that are being read, and how much of them is still to come. */
  let reading: { type: string; parts: Uint8Array[]; left: number } | null = null;
  let size_for_all: number | null = null;
  let size_for_next: number | null | undefined;
  return {
    begin: (type: string, size: number): void => {
      if (type === RECORDS || type === RECORDS_OF_ALL) reading = { type, parts: [], left: size };
    },
    take: (body: Uint8Array): void => {
      if (reading === null) return;
      const part = body.subarray(0, Math.min(reading.left, body.length));
      reading.parts.push(part.slice());
      reading.left -= part.length;
    },
    end: (): void => {
      if (reading === null) return;
      const size = recordedSize(Buffer.concat(reading.parts));
      // Those for all count only where an entry has its own.
      if (reading.type === RECORDS_OF_ALL) size_for_all = size;
      else size_for_next = size ?? size_for_all;
      reading = null;
    },
    /** The size given to the next entry, which is asked for once. */
    takeSize: (): number | null => {
      const size = size_for_next ?? null;
      size_for_next = undefined;
      return size;
    },
  };
}

/** Blocks of 512 bytes, however the bytes are cut. */
function createBlocks(see: (block: Uint8Array) => void) {
  /** A block that came in pieces. */
  const pieces = new Uint8Array(BLOCK);
  let held = 0;
  /** Takes bytes of one block from the beginning of `chunk`; how many. */
  return (chunk: Uint8Array): number => {
    if (held === 0 && chunk.length >= BLOCK) {
      see(chunk.subarray(0, BLOCK));
      return BLOCK;
    }
    const part = chunk.subarray(0, BLOCK - held);
    pieces.set(part, held);
    held += part.length;
    if (held === BLOCK) {
      held = 0;
      see(pieces);
    }
    return part.length;
  };
}

export function createEntryCounter({ max_entries }: ArchiveLimits): EntryCounter {
  let entries = 0;
  let headers = 0;
  let left_of_body = 0;
  const records = createRecords();
  /** The reader reports what is not a header: from there on nothing is counted. */
  let lost = false;

  const refuseTooMany = (): void => {
    if (entries > max_entries)
      throw new ArchiveError(`the archive has more than ${max_entries} entries`, {
        too_large: true,
      });
    if (headers > HEADERS_PER_ENTRY * max_entries)
      throw new ArchiveError(`the archive has more headers than ${max_entries} entries can have`, {
        too_large: true,
      });
  };
  const seeExtra = (type: string, size: number): void => {
    if (size > MAX_EXTRA_BYTES) lost = true;
    left_of_body = padded(size);
    records.begin(type, size);
  };
  const seeHeader = (block: Uint8Array): void => {
    if (!isHeader(block)) {
      // Blocks of zeros are its end.
      lost = block[0] !== 0;
      return;
    }
    headers += 1;
    const type = String.fromCharCode(block[TYPE] ?? 0);
    if (EXTRA.includes(type)) seeExtra(type, sizeOf(block));
    else {
      entries += 1;
      const size = records.takeSize() ?? sizeOf(block);
      // Of a directory, the reader takes only the padding.
      left_of_body = isDirectory(block, type) ? padded(size) - size : padded(size);
    }
    refuseTooMany();
  };
  const takeBody = (chunk: Uint8Array): number => {
    const body = chunk.subarray(0, left_of_body);
    left_of_body -= body.length;
    records.take(body);
    if (left_of_body === 0) records.end();
    return body.length;
  };
  const takeHeader = createBlocks(seeHeader);
  return {
    push: (chunk) => {
      for (let at = 0; at < chunk.length && !lost; ) {
        const rest = chunk.subarray(at);
        at += left_of_body > 0 ? takeBody(rest) : takeHeader(rest);
      }
    },
    get headers() {
      return headers;
    },
  };
}
