import { createHash } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { AppError } from "#shared/kit/errors.ts";
import type { ObjectInfo, PutOptions } from "./objects.ts";
import { bodyTooLong, checkBody, chunksOf } from "./put-body.ts";

/**
 * Small chunks are gathered into writes of at least this many bytes; a body never takes much more memory than two of
 * them.
 */
const GATHER_BYTES = 256 * 1024;

/**
 * Writes the whole body to the new file `path` and checks it against `options`; when it resolves, the file is on disk.
 * On any failure the file is removed.
 */
export async function writeBody(
  path: string,
  body: ReadableStream<Uint8Array> | Uint8Array,
  options: PutOptions,
): Promise<ObjectInfo> {
  const handle = await open(path, "wx");
  try {
    const info = await writeAll(handle, chunksOf(body, options.signal), options);
    checkBody(info, options);
    await handle.datasync();
    await handle.close();
    return info;
  } catch (err) {
    await handle.close().catch(() => {});
    await rm(path, { force: true }).catch(() => {});
    throw err;
  }
}

async function writeAll(
  handle: FileHandle,
  chunks: AsyncIterable<Uint8Array>,
  { max_bytes = Number.POSITIVE_INFINITY }: PutOptions,
): Promise<ObjectInfo> {
  const hash = createHash("sha256");
  let size = 0;
  let gathered: Uint8Array[] = [];
  let waiting = 0;
  const flush = async () => {
    const [only] = gathered;
    if (!only) return;
    const block = gathered.length === 1 ? only : Buffer.concat(gathered, waiting);
    gathered = [];
    waiting = 0;
    // The disk works on this block while it is hashed here.
    const writing = writeWhole(handle, block);
    hash.update(block);
    await writing;
  };
  for await (const chunk of chunks) {
    size += chunk.byteLength;
    if (size > max_bytes) throw bodyTooLong(max_bytes);
    gathered.push(chunk);
    waiting += chunk.byteLength;
    if (waiting >= GATHER_BYTES) await flush();
  }
  await flush();
  return { size, sha256: hash.digest("hex") };
}

/** One write may take only a part, for example on a disk that is filling up. */
async function writeWhole(handle: FileHandle, block: Uint8Array): Promise<void> {
  for (let at = 0; at < block.byteLength; ) {
    const { bytesWritten } = await handle.write(block, at, block.byteLength - at);
    if (bytesWritten === 0) throw new AppError("unavailable", "the disk took no more bytes");
    at += bytesWritten;
  }
}
