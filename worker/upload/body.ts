import {
  closeSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import type { SpooledBody } from "./asset-sink.ts";

const CHUNK = 256 * 1024;
/** Bodies up to this size are sent from memory, several in one request. */
export const SMALL = CHUNK;

/** The content of one request body. */
export interface UploadBody {
  content: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** Bytes handed over so far. */
  sent(): number;
  /** Closes the file; to be called when the request is over. */
  close(): Promise<void>;
}

/** The file in the spool is gone or has another size: no retry can help. */
export class SpoolError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "SpoolError";
  }
}

/** A body that is already in memory. */
export const memoryBody = (content: Uint8Array<ArrayBuffer>): UploadBody => ({
  content,
  sent: () => content.length,
  close: async () => {},
});

/** Opens a body wherever it is. @throws SpoolError */
export async function openBody(body: SpooledBody): Promise<UploadBody> {
  if (body.bytes) return memoryBody(body.bytes);
  const { path, size } = body;
  return openSpoolBody(path, size).catch((err: unknown) => {
    // It was moved between the call and the system's answer.
    if (body.path !== path) return openSpoolBody(body.path, size);
    throw err;
  });
}

/**
 * Makes `path` the body's file, in the same file system. @throws the file system's error; then the body is where it
 * was.
 */
export function moveSpooled(body: SpooledBody, path: string): void {
  if (body.bytes) {
    writeFileSync(path, body.bytes, { mode: 0o600 });
    body.bytes = undefined;
    body.free?.();
  } else renameSync(body.path, path);
  body.path = path;
}

/**
 * Opens a spool file of `size` bytes as a request body in bounded memory. `Bun.file` is not handed to fetch itself:
 * over TLS Bun 1.4.5 reads the whole file first (1.1 GB of memory for a 512 MB file).
 * @throws SpoolError
 */
async function openSpoolBody(path: string, size: number): Promise<UploadBody> {
  const file = await open(path).catch((err) => {
    throw new SpoolError("could not open the spool file", err);
  });
  try {
    const { size: held } = await file.stat();
    if (held !== size) throw new SpoolError(`the spool file has ${held} bytes instead of ${size}`);
    if (size > SMALL) return fileBody(file, size);
    const content = new Uint8Array(size);
    await readFull(file, content);
    await file.close();
    return memoryBody(content);
  } catch (err) {
    await file.close();
    throw err;
  }
}

async function readFull(file: FileHandle, into: Uint8Array): Promise<void> {
  for (let at = 0; at < into.length; ) {
    const { bytesRead } = await file.read(into, at, into.length - at, null);
    if (bytesRead === 0) throw new SpoolError("the spool file became shorter");
    at += bytesRead;
  }
}

function fileBody(file: FileHandle, size: number): UploadBody {
  let sent = 0;
  // The number of a closed file is reused immediately: no read may be under way when it is closed.
  let reading: Promise<void> = Promise.resolve();
  const content = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const chunk = new Uint8Array(Math.min(CHUNK, size - sent));
        const read = readFull(file, chunk);
        reading = read.catch(() => {});
        await read;
        sent += chunk.length;
        controller.enqueue(chunk);
        if (sent === size) controller.close();
      },
    },
    { highWaterMark: 1 },
  );
  return {
    content,
    sent: () => sent,
    close: async () => {
      await reading;
      await file.close();
    },
  };
}

/** Fills `into` with a small spool file; false when the file is gone or has another size. */
export function readSmallFile(path: string, into: Uint8Array): boolean {
  let fd: number | null = null;
  try {
    // It was written a moment ago, so it is in the page cache: a round trip through the thread pool would cost ten
    // times the read.
    fd = openSync(path, "r");
    if (fstatSync(fd).size !== into.length) return false;
    let at = 0;
    for (let count = 1; count > 0 && at < into.length; at += count)
      count = readSync(fd, into, at, into.length - at, at);
    return at === into.length;
  } catch {
    return false;
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

/** Removes what was uploaded or given up; never rejects. */
export async function removeSpooled(path: string, size: number): Promise<void> {
  try {
    // Freeing the blocks of a large file may take a while.
    if (size > SMALL) await rm(path, { force: true });
    else rmSync(path, { force: true });
  } catch {
    // The run's directory is removed with the run.
  }
}
