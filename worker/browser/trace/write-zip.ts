import type { open as openFile } from "node:fs/promises";
import { crc32, createDeflateRaw } from "node:zlib";
import { type Chunks, through } from "#shared/archive/streams.ts";

type File = Pick<Awaited<ReturnType<typeof openFile>>, "write">;

export interface ZipEntry {
  name: string;
  body: Chunks;
  /** Bodies that are compressed already gain nothing by it. */
  compress: boolean;
}

const [END, ENTRY, LOCAL] = [0x06054b50, 0x02014b50, 0x04034b50];
const [STORED, DEFLATED] = [0, 8];
const NEEDED = 20;
/** Names are UTF-8. */
const FLAGS = 1 << 11;
/** The first moment that the format can name: the same entries make the same bytes. */
const DATE = (1 << 5) | 1;
const MOST_ENTRIES = 65_535;
const MOST_BYTES = 0xffffffff;

interface Written {
  name: Buffer;
  method: number;
  crc: number;
  packed: number;
  size: number;
  offset: number;
}

/**
 * Writes a zip of these entries into an empty file, one after the other, in bounded memory. @returns its length
 * @throws Error beyond what a zip without 64-bit numbers can hold
 */
export async function writeZip(
  file: File,
  entries: AsyncIterable<ZipEntry> | Iterable<ZipEntry>,
): Promise<number> {
  const written: Written[] = [];
  let at = 0;
  for await (const { name, body, compress } of entries) {
    const entry: Written = {
      name: Buffer.from(name),
      offset: at,
      method: compress ? DEFLATED : STORED,
      crc: 0,
      packed: 0,
      size: 0,
    };
    const start = at + headOf(entry).length;
    const packed = compress
      ? through(counted(body, entry), createDeflateRaw())
      : counted(body, entry);
    for await (const chunk of packed) {
      await writeAt(file, chunk, start + entry.packed);
      entry.packed += chunk.length;
    }
    at = start + entry.packed;
    if (at > MOST_BYTES || entry.size > MOST_BYTES) throw new Error("the zip is too large");
    // Its numbers are known only now.
    await writeAt(file, headOf(entry), entry.offset);
    written.push(entry);
    if (written.length > MOST_ENTRIES) throw new Error("the zip has too many entries");
  }
  const directory = Buffer.concat(written.map(directoryEntry));
  const end = Buffer.alloc(22);
  end.writeUInt32LE(END, 0);
  for (const field of [8, 10]) end.writeUInt16LE(written.length, field);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  await writeAt(file, Buffer.concat([directory, end]), at);
  return at + directory.length + end.length;
}

async function* counted(body: Chunks, entry: Written): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    entry.crc = crc32(chunk, entry.crc);
    entry.size += chunk.length;
    yield chunk;
  }
}

/** A write may take a part alone. */
async function writeAt(file: File, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

function numbersOf({ method, crc, packed, size, name }: Written): Buffer {
  const numbers = Buffer.alloc(24);
  numbers.writeUInt16LE(FLAGS, 0);
  numbers.writeUInt16LE(method, 2);
  numbers.writeUInt16LE(DATE, 6);
  numbers.writeUInt32LE(crc, 8);
  numbers.writeUInt32LE(packed, 12);
  numbers.writeUInt32LE(size, 16);
  numbers.writeUInt16LE(name.length, 20);
  return numbers;
}

function headOf(entry: Written): Buffer {
  const head = Buffer.alloc(6);
  head.writeUInt32LE(LOCAL, 0);
  head.writeUInt16LE(NEEDED, 4);
  return Buffer.concat([head, numbersOf(entry), entry.name]);
}

function directoryEntry(entry: Written): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(ENTRY, 0);
  head.writeUInt16LE(NEEDED, 4);
  head.writeUInt16LE(NEEDED, 6);
  const tail = Buffer.alloc(14);
  tail.writeUInt32LE(entry.offset, 10);
  return Buffer.concat([head, numbersOf(entry), tail, entry.name]);
}
