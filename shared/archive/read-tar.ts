import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { extract, type Header } from "tar-stream";
import { errorMessage } from "#shared/kit/errors.ts";
import { limitText } from "#shared/kit/words.ts";
import { ArchiveError, quoteEntry } from "./archive-error.ts";
import { entryPath } from "./entry-path.ts";
import { type Chunks, through } from "./streams.ts";

export interface ArchiveLimits {
  /** Size of the uncompressed tar, headers and padding included. */
  max_unpacked_bytes: number;
  max_entries: number;
}

/** A regular file of an archive. `body` may be read once, before the next file is requested. */
export interface ArchiveFile {
  path: string[];
  size: number;
  body: Chunks;
}

/**
 * Links and sockets that a running Chromium leaves in its directory. They mean nothing elsewhere, so an archive of a
 * whole user-data directory may hold them; they are skipped.
 */
const RUNTIME_LINKS = /^(Singleton(Lock|Cookie|Socket)|RunningChromeVersion)$/;

/**
 * The regular files of a tar or tar.gz (told apart by the first bytes), one after the other, with flat memory. Every
 * entry is checked, even those that are skipped.
 * @throws ArchiveError naming the entry: not a plain path, a link, a device, a sparse file, the same file twice, cut
 * off, or beyond the limits.
 */
export async function* readTar(chunks: Chunks, limits: ArchiveLimits): AsyncGenerator<ArchiveFile> {
  const source = Readable.from(limited(await plainTar(chunks), limits.max_unpacked_bytes));
  const tar = extract();
  source.on("error", (err) => tar.destroy(err));
  tar.on("error", () => {});
  source.pipe(tar);
  const seen = createSeen();
  let entries = 0;
  let last = "";
  try {
    for await (const entry of tar) {
      const { header } = entry;
      entries += 1;
      last = header.name;
      if (entries > limits.max_entries)
        throw new ArchiveError(`the archive has more than ${limits.max_entries} entries`, {
          too_large: true,
        });
      const path = judge(header, limits);
      if (path === null || header.type === "directory") {
        if (path !== null) seen.addDirectory(path, header.name);
        entry.resume();
        continue;
      }
      seen.addFile(path, header.name);
      let read = false;
      const body = async function* () {
        read = true;
        try {
          for await (const chunk of entry) yield chunk as Uint8Array;
        } catch (err) {
          // The error reaches the reader of the body, not this loop.
          throw toArchiveError(err, header.name);
        }
      };
      yield { path, size: header.size ?? 0, body: body() };
      if (!read) entry.resume();
    }
  } catch (err) {
    throw toArchiveError(err, last);
  } finally {
    source.destroy();
    tar.destroy();
  }
  if (entries === 0) throw new ArchiveError("the archive is empty");
}

const GZIP = [0x1f, 0x8b];
/** @param head at least two bytes, if there are that many. */
export const isGzip = (head: Uint8Array): boolean => GZIP.every((byte, i) => head[i] === byte);

const TAR_MAGIC = { at: 257, text: "ustar" };
const TAR_BLOCK = 512;

async function plainTar(chunks: Chunks): Promise<Chunks> {
  const { head, whole } = await peek(chunks, TAR_BLOCK);
  if (isGzip(head)) return through(whole, createGunzip());
  const magic = head.subarray(TAR_MAGIC.at, TAR_MAGIC.at + TAR_MAGIC.text.length);
  if (Buffer.from(magic).toString("latin1") === TAR_MAGIC.text) return whole;
  await whole.return(undefined);
  throw new ArchiveError(
    head.length === 0 ? "the archive is empty" : "the body is neither a tar nor a tar.gz archive",
  );
}

/** The first `bytes` of the chunks, and a stream of all of them. */
async function peek(chunks: Chunks, bytes: number) {
  const source = chunks[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let size = 0;
  while (size < bytes) {
    const next = await source.next();
    if (next.done) break;
    first.push(next.value);
    size += next.value.byteLength;
  }
  async function* whole() {
    try {
      yield* first.splice(0);
      for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
    } finally {
      await source.return?.();
    }
  }
  return { head: Buffer.concat(first), whole: whole() };
}

async function* limited(chunks: Chunks, max_bytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.byteLength;
    if (size > max_bytes) throw unpacksTooMuch(max_bytes);
    yield chunk;
  }
}

export const unpacksTooMuch = (max_bytes: number) =>
  new ArchiveError(`the archive unpacks to more than ${limitText(max_bytes)}`, { too_large: true });

/** The path of an entry that may be in an archive, or null for one that is skipped. */
function judge(header: Header, limits: ArchiveLimits): string[] | null {
  const { name, type } = header;
  const path = entryPath(name);
  if (RUNTIME_LINKS.test(path.at(-1) ?? "")) return null;
  const sparse = Object.keys(header.pax ?? {}).some((key) => key.startsWith("GNU.sparse"));
  if (type === "file" || type === "contiguous-file" || type === "directory") {
    if (sparse) throw new ArchiveError(`${quoteEntry(name)} is a sparse file`);
    if (path.length === 0 && type !== "directory")
      throw new ArchiveError(`${quoteEntry(name)} is not a plain path`);
    if ((header.size ?? 0) > limits.max_unpacked_bytes)
      throw unpacksTooMuch(limits.max_unpacked_bytes);
    return path;
  }
  throw new ArchiveError(
    `${quoteEntry(name)} is ${KINDS[String(type)] ?? "of a kind that is not accepted (a sparse file?)"}`,
  );
}

const KINDS: Record<string, string> = {
  link: "a hard link",
  symlink: "a symbolic link",
  "character-device": "a device",
  "block-device": "a device",
  fifo: "a named pipe",
};

/** Which paths are files or directories. Hashes keep 200,000 long names within a few megabytes. */
function createSeen() {
  const kinds = new Map<string, "file" | "directory">();
  const keyOf = (path: string[]) => Bun.hash(path.join("/")).toString(36);
  const addDirectory = (path: string[], name: string) => {
    for (let depth = path.length; depth > 0; depth -= 1) {
      const key = keyOf(path.slice(0, depth));
      const there = kinds.get(key);
      if (there === "directory") return;
      if (there === "file") throw new ArchiveError(`${quoteEntry(name)} lies below a file`);
      kinds.set(key, "directory");
    }
  };
  return {
    addDirectory,
    addFile: (path: string[], name: string) => {
      addDirectory(path.slice(0, -1), name);
      const key = keyOf(path);
      if (kinds.has(key)) throw new ArchiveError(`${quoteEntry(name)} is in the archive twice`);
      kinds.set(key, "file");
    },
  };
}

/** Rewords the libraries' errors for the sender; errors that are not about the archive stay unchanged. */
function toArchiveError(err: unknown, last: string): unknown {
  if (err instanceof ArchiveError) return err;
  const where = last === "" ? "at its first entry" : `after ${quoteEntry(last)}`;
  const text = errorMessage(err);
  if (/unexpected end/i.test(text))
    return new ArchiveError(`the archive is cut off ${where}`, { cause: err });
  if (/tar header|Invalid header|Header exceeds|Invalid tar/i.test(text))
    return new ArchiveError(`the archive is damaged ${where}: ${text}`, { cause: err });
  if (err instanceof Error && "code" in err && /^Z_/.test(String(err.code)))
    return new ArchiveError(`the gzip data is damaged ${where}`, { cause: err });
  return err;
}
