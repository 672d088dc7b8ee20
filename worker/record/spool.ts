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
import type { Clock } from "#shared/clock.ts";

/** A body in the spool, whole and closed. `sha256` lower-case hex. */
export interface SpooledBody {
  path: string;
  size: number;
  sha256: string;
}

/** The run's share of the disk is used up, or the disk itself is. */
export class SpoolFullError extends Error {
  constructor() {
    super("the spool of this run is full");
    this.name = "SpoolFullError";
  }
}

/** Bodies of one run on their way to the hub. Files are removed by whoever stores them. */
export interface Spool {
  /** A body whose bytes come one after the other. The file appears with the first byte. */
  open(): BodyFile;
  /** A body whose bytes come in any order. */
  openSparse(): SparseFile;
  /** Registers a file that something else writes (downloads), by its growth in bytes. */
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

/** How long a full spool stays full before the directory is measured again: uploads empty it. */
const MEASURE_EVERY_MS = 250;

export function createSpool(options: { dir: string; max_bytes: number; clock: Clock }): Spool {
  const { dir, max_bytes, clock } = options;
  let count = 0;
  let used = 0;
  let measured_at = Number.NEGATIVE_INFINITY;

  const nextPath = () => join(dir, `body-${++count}`);
  const reserve = (bytes: number) => {
    if (used + bytes > max_bytes) {
      const now = clock.now();
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
    open: () => openBody(nextPath, reserve),
    openSparse: () => openSparse(nextPath(), reserve),
  };
}

function openBody(nextPath: () => string, reserve: (bytes: number) => void): BodyFile {
  let hasher = new Bun.CryptoHasher("sha256");
  let file: { path: string; fd: number } | null = null;
  let size = 0;
  const close = () => {
    if (file) closeSync(file.fd);
  };
  return {
    get size() {
      return size;
    },
    write: (bytes) => {
      if (bytes.length === 0) return;
      reserve(bytes.length);
      if (!file) {
        const path = nextPath();
        file = { path, fd: openSync(path, "wx", 0o600) };
      }
      writeAll(file.fd, bytes, size);
      hasher.update(bytes);
      size += bytes.length;
    },
    restart: () => {
      if (file) ftruncateSync(file.fd, 0);
      hasher = new Bun.CryptoHasher("sha256");
      size = 0;
    },
    finish: () => {
      close();
      return file && { path: file.path, size, sha256: hasher.digest("hex") };
    },
    discard: () => {
      close();
      if (file) rmSync(file.path, { force: true });
      file = null;
    },
  };
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

/** Files may vanish while they are counted: the upload removes them. */
function directorySize(dir: string): number {
  let sum = 0;
  for (const name of readdirSync(dir))
    sum += statSync(join(dir, name), { throwIfNoEntry: false })?.blocks ?? 0;
  return sum * 512;
}
