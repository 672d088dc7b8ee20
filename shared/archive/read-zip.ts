import type { open as openFile } from "node:fs/promises";
import { crc32, createInflateRaw } from "node:zlib";
import { ArchiveError, quoteEntry } from "./archive-error.ts";
import { type Chunks, through } from "./streams.ts";

type File = Awaited<ReturnType<typeof openFile>>;

/** A file of a zip, as its directory says. */
export interface ZipFile {
  name: string;
  /** Unpacked. */
  size: number;
  /** Its bytes. @throws ArchiveError when they are not those that the directory announces. */
  read(): Chunks;
}

export interface ZipLimits {
  entries: number;
  /** Of the directory, which is held in memory. */
  directory_bytes: number;
}

interface Place {
  entries: number;
  size: number;
  offset: number;
}

const [END, END64, LOCATOR64, ENTRY, LOCAL] = [
  0x06054b50, 0x06064b50, 0x07064b50, 0x02014b50, 0x04034b50,
];
const END_BYTES = 22;
const LOCATOR_BYTES = 20;
const ENTRY_BYTES = 46;
const LOCAL_BYTES = 30;
const ZIP64_FIELD = 1;
/** What stands where a number has 64 bits. */
const [FULL16, FULL32] = [0xffff, 0xffffffff];
const ENCRYPTED = 1;
const [STORED, DEFLATED] = [0, 8];
const PIECE_BYTES = 256 * 1024;

/**
 * The files of a zip on disk, from its directory at the end. Hostile files are refused or end at what they announce:
 * nothing is trusted but the bytes that are there. `file` stays the caller's.
 * @throws ArchiveError
 */
export async function readZip(file: File, limits: ZipLimits): Promise<ZipFile[]> {
  const { size } = await file.stat();
  const place = await findDirectory(file, size);
  if (place.entries > limits.entries)
    throw new ArchiveError(`the zip has more than ${limits.entries} entries`, { too_large: true });
  if (place.size > limits.directory_bytes)
    throw new ArchiveError("the directory of the zip is too long", { too_large: true });
  const directory = await bytesAt(file, place.offset, place.size);
  const files: ZipFile[] = [];
  for (let at = 0, n = 0; n < place.entries; n += 1) {
    const entry = entryAt(directory, at);
    at = entry.next;
    files.push({ name: entry.name, size: entry.size, read: () => bodyOf(file, entry) });
  }
  return files;
}

/** @throws ArchiveError when the file ends before. */
async function bytesAt(file: File, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let got = 0;
  while (got < length) {
    const { bytesRead } = await file.read(buffer, got, length - got, at + got);
    if (bytesRead === 0) throw new ArchiveError("the zip ends too early");
    got += bytesRead;
  }
  return buffer;
}

async function findDirectory(file: File, size: number): Promise<Place> {
  // Before the end there may be a comment of 64 KiB.
  const length = Math.min(size, FULL16 + END_BYTES + LOCATOR_BYTES);
  const tail = await bytesAt(file, size - length, length);
  for (let at = length - END_BYTES; at >= 0; at -= 1) {
    if (tail.readUInt32LE(at) !== END) continue;
    const [entries, bytes, offset] = [10, 12, 16].map((field, n) =>
      n === 0 ? tail.readUInt16LE(at + field) : tail.readUInt32LE(at + field),
    ) as [number, number, number];
    const is_full = entries === FULL16 || bytes === FULL32 || offset === FULL32;
    const locator = at - LOCATOR_BYTES;
    if (!is_full || locator < 0 || tail.readUInt32LE(locator) !== LOCATOR64)
      return { entries, size: bytes, offset };
    const end = await bytesAt(file, number64(tail, locator + 8), 56);
    if (end.readUInt32LE(0) !== END64) break;
    return { entries: number64(end, 32), size: number64(end, 40), offset: number64(end, 48) };
  }
  throw new ArchiveError("the zip has no directory: it is cut off, or no zip");
}

/** @throws ArchiveError beyond what a number can say exactly. */
function number64(bytes: Buffer, at: number): number {
  const value = at + 8 <= bytes.length ? Number(bytes.readBigUInt64LE(at)) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw new ArchiveError("the zip has an impossible size");
  return value;
}

interface Entry {
  name: string;
  method: number;
  crc: number;
  packed: number;
  size: number;
  offset: number;
  next: number;
}

function entryAt(directory: Buffer, at: number): Entry {
  const is_there = at + ENTRY_BYTES <= directory.length && directory.readUInt32LE(at) === ENTRY;
  if (!is_there) throw new ArchiveError("the directory of the zip is damaged");
  const [name_bytes, extra_bytes, comment_bytes] = [28, 30, 32].map((field) =>
    directory.readUInt16LE(at + field),
  ) as [number, number, number];
  const name_at = at + ENTRY_BYTES;
  const extra_at = name_at + name_bytes;
  const next = extra_at + extra_bytes + comment_bytes;
  if (next > directory.length) throw new ArchiveError("the directory of the zip is damaged");
  const name = directory.toString("utf8", name_at, extra_at);
  if (directory.readUInt16LE(at + 8) & ENCRYPTED)
    throw new ArchiveError(`${quoteEntry(name)} is encrypted`);
  const entry = {
    name,
    method: directory.readUInt16LE(at + 10),
    crc: directory.readUInt32LE(at + 16),
    packed: directory.readUInt32LE(at + 20),
    size: directory.readUInt32LE(at + 24),
    offset: directory.readUInt32LE(at + 42),
    next,
  };
  return withLongNumbers(entry, directory.subarray(extra_at, extra_at + extra_bytes));
}

/** Zip64: the numbers that did not fit follow in an extra field, in this order. */
function withLongNumbers(entry: Entry, extra: Buffer): Entry {
  for (let at = 0; at + 4 <= extra.length; ) {
    const length = extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === ZIP64_FIELD) {
      const numbers = extra.subarray(at + 4, at + 4 + length);
      const long = { ...entry };
      let taken = 0;
      for (const name of ["size", "packed", "offset"] as const) {
        if (entry[name] !== FULL32) continue;
        long[name] = number64(numbers, taken);
        taken += 8;
      }
      return long;
    }
    at += 4 + length;
  }
  return entry;
}

async function* bodyOf(file: File, entry: Entry): AsyncGenerator<Uint8Array> {
  const { name, method, offset, packed, size, crc } = entry;
  const named = quoteEntry(name);
  if (method !== STORED && method !== DEFLATED)
    throw new ArchiveError(`${named} is compressed in a way that is not read here`);
  const local = await bytesAt(file, offset, LOCAL_BYTES);
  if (local.readUInt32LE(0) !== LOCAL) throw new ArchiveError(`${named} is not where it should be`);
  const start = offset + LOCAL_BYTES + local.readUInt16LE(26) + local.readUInt16LE(28);
  const pieces = piecesOf(file, start, packed);
  let left = size;
  let sum = 0;
  for await (const chunk of method === STORED ? pieces : inflated(named, pieces)) {
    left -= chunk.length;
    if (left < 0) break;
    sum = crc32(chunk, sum);
    yield chunk;
  }
  if (left !== 0 || sum !== crc)
    throw new ArchiveError(`${named} is not what the directory of the zip announces`);
}

async function* piecesOf(file: File, start: number, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < length; at += PIECE_BYTES)
    yield await bytesAt(file, start + at, Math.min(PIECE_BYTES, length - at));
}

async function* inflated(named: string, pieces: Chunks): AsyncGenerator<Uint8Array> {
  try {
    yield* through(pieces, createInflateRaw());
  } catch (cause) {
    if (cause instanceof ArchiveError) throw cause;
    throw new ArchiveError(`${named} cannot be decompressed`, { cause });
  }
}
