import {
  closeSync,
  ftruncateSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { Clock } from "#shared/kit/clock.ts";
import type { SpooledBody } from "#worker/upload/asset-sink.ts";

/** Discards a body that nobody stores. */
export function dropBody(body: SpooledBody): void {
  if (body.bytes) body.free?.();
  else rmSync(body.path, { force: true });
}

/** The run's share of the disk, or the disk itself, is used up. */
export class SpoolFullError extends Error {
  constructor() {
    super("the spool of this run is full");
    this.name = "SpoolFullError";
  }
}

/** Bodies of one run on their way to the hub. Files are removed by the code that stores them. */
export interface Spool {
  /** A body whose bytes come in order. The file appears with the first byte. */
  open(): BodyFile;
  /** A body whose bytes come in any order. */
  openSparse(): SparseFile;
  /** Counts the growth, in bytes, of a file that something else writes (downloads). */
  reserve(bytes: number): void;
  /** Path for a file of another writer. */
  nextPath(): string;
}

export interface BodyFile {
  /** @throws SpoolFullError */
  write(bytes: Uint8Array): void;
  readonly size: number;
  /** Empties the file. */
  restart(): void;
  /** Closes the file; null when nothing was written. */
  finish(): SpooledBody | null;
  discard(): void;
}

export interface SparseFile {
  readonly path: string;
  /** @throws SpoolFullError */
  writeAt(bytes: Uint8Array, position: number): void;
  /** @throws SpoolFullError */
  close(size: number): void;
  discard(): void;
}

/**
 * Creating, reading and removing a file cost a fifth of the worker's time on a page of 300 pictures: bodies up to this size
 * stay in memory, as long as they are fewer bytes than that together.
 */
const IN_MEMORY = { body: 64 * 1024, run: 4 * 1024 * 1024 };

/** How long a full spool stays full before the directory is measured again: uploads empty it. */
const MEASURE_EVERY_MS = 250;

export function createSpool(options: { dir: string; max_bytes: number; clock: Clock }): Spool {
  const { dir, max_bytes, clock } = options;
  let count = 0;
  let used = 0;
  let measured_at = Number.NEGATIVE_INFINITY;

  const memory = createMemory();
  const nextPath = () => join(dir, `body-${++count}`);
  const reserve = (bytes: number) => {
    if (used + bytes > max_bytes) {
      const now = clock.monotonic();
      if (now - measured_at < MEASURE_EVERY_MS) throw new SpoolFullError();
      measured_at = now;
      used = directorySize(dir);
      if (used + bytes > max_bytes) throw new SpoolFullError();
    }
    used += bytes;
  };
  return {
    nextPath,
    reserve,
    open: () => openBody(nextPath, reserve, memory),
    openSparse: () => openSparse(nextPath(), reserve),
  };
}

/** Limits the small bodies that are in memory at a time. */
interface Memory {
  take(bytes: number): boolean;
  give(bytes: number): void;
}

function createMemory(): Memory {
  let used = 0;
  return {
    take: (bytes) => {
      if (used + bytes > IN_MEMORY.run) return false;
      used += bytes;
      return true;
    },
    give: (bytes) => {
      used -= bytes;
    },
  };
}

function openBody(
  nextPath: () => string,
  reserve: (bytes: number) => void,
  memory: Memory,
): BodyFile {
  let hasher = new Bun.CryptoHasher("sha256");
  let file: { path: string; fd: number } | null = null;
  /** The body so far, while it is small; its bytes are counted in `memory`. */
  let held: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const letGo = () => {
    for (const chunk of held) memory.give(chunk.length);
    held = [];
  };
  const close = () => {
    if (file) closeSync(file.fd);
  };
  const writeFile = (bytes: Uint8Array, at: number) => {
    if (!file) {
      const path = nextPath();
      file = { path, fd: openSync(path, "wx", 0o600) };
    }
    writeAll(file.fd, bytes, at);
  };
  const hold = (bytes: Uint8Array): boolean => {
    if (file || size + bytes.length > IN_MEMORY.body || !memory.take(bytes.length)) return false;
    // The decoder reuses its buffer.
    held.push(new Uint8Array(bytes));
    return true;
  };
  const spill = () => {
    let at = 0;
    for (const chunk of held) {
      reserve(chunk.length);
      writeFile(chunk, at);
      at += chunk.length;
    }
    letGo();
  };
  return {
    get size() {
      return size;
    },
    write: (bytes) => {
      if (bytes.length === 0) return;
      if (!hold(bytes)) {
        spill();
        reserve(bytes.length);
        writeFile(bytes, size);
      }
      hasher.update(bytes);
      size += bytes.length;
    },
    restart: () => {
      if (file) ftruncateSync(file.fd, 0);
      letGo();
      hasher = new Bun.CryptoHasher("sha256");
      size = 0;
    },
    finish: () => {
      close();
      if (file) return { path: file.path, size, sha256: hasher.digest("hex") };
      if (held.length === 0) return null;
      const [only] = held;
      const bytes = only && held.length === 1 ? only : joined(held, size);
      return { path: "", bytes, size, sha256: hasher.digest("hex"), free: letGo };
    },
    discard: () => {
      close();
      letGo();
      if (file) rmSync(file.path, { force: true });
      file = null;
    },
  };
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function openSparse(path: string, reserve: (bytes: number) => void): SparseFile {
  let fd: number | null = openSync(path, "wx", 0o600);
  const closeOnce = () => {
    if (fd !== null) closeSync(fd);
    fd = null;
  };
  return {
    path,
    writeAt: (bytes, position) => {
      if (fd === null) return;
      reserve(bytes.length);
      writeAll(fd, bytes, position);
    },
    close: (size) => {
      if (fd !== null) ftruncateSync(fd, size);
      closeOnce();
    },
    discard: () => {
      closeOnce();
      rmSync(path, { force: true });
    },
  };
}

function writeAll(fd: number, bytes: Uint8Array, position: number): void {
  try {
    for (let done = 0; done < bytes.length; )
      done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  } catch (err) {
    if (err instanceof Error && "code" in err && (err.code === "ENOSPC" || err.code === "EDQUOT"))
      throw new SpoolFullError();
    throw err;
  }
}

/** Files may vanish while they are counted, because the upload removes them. */
function directorySize(dir: string): number {
  let sum = 0;
  for (const name of readdirSync(dir))
    sum += statSync(join(dir, name), { throwIfNoEntry: false })?.blocks ?? 0;
  return sum * 512;
}
