import { createHash } from "node:crypto";
import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Snapshot } from "#hub/platform/db/sqlite-snapshot.ts";
import { entryPath } from "#shared/archive/entry-path.ts";
import type { ArchiveFile } from "#shared/archive/read-tar.ts";
import {
  DATABASE_ENTRY,
  DIR_MODE,
  FILE_MODE,
  KEY_ENTRY,
  MANIFEST_ENTRY,
  type Manifest,
  OBJECTS_DIR,
  PLUGINS_DIR,
} from "./manifest.ts";
import type { Places } from "./places.ts";

const READ_BYTES = 1024 * 1024;

const isGone = (err: unknown): boolean =>
  err instanceof Error && "code" in err && ["ENOENT", "ENOTDIR"].includes(String(err.code));

/** Regular files below `dir`, sorted, relative to it; names with a leading dot are the store's own. */
async function* walk(dir: string, below: string[] = []): AsyncGenerator<string[]> {
  const entries = await readdir(join(dir, ...below), { withFileTypes: true }).catch((err) => {
    if (isGone(err)) return [];
    throw err;
  });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = [...below, entry.name];
    if (entry.name.startsWith(".") && below.length === 0) continue;
    if (entry.isDirectory()) yield* walk(dir, path);
    else if (entry.isFile()) yield path;
  }
}

export type Contents = Pick<Manifest, "files" | "modes" | "missing">;

const PERMISSIONS = 0o777;

function noteMode({ modes }: Contents, path: string[], mode: number, usual: number): void {
  const bits = mode & PERMISSIONS;
  if (bits !== usual) modes.push([path.join("/"), bits]);
}

/** Permissions of the directories from `top` down to that of `path`, each noted once. */
function dirNoter(top: string, dir: string, contents: Contents) {
  const noted = new Set<string>();
  return async (path: string[]): Promise<void> => {
    for (let depth = 0; depth < path.length; depth += 1) {
      const below = path.slice(0, depth);
      const at = join(dir, ...below);
      if (noted.has(at)) continue;
      noted.add(at);
      const found = await stat(at).catch(() => null);
      if (found) noteMode(contents, [top, ...below], found.mode, DIR_MODE);
    }
  };
}

/**
 * The entries of a backup: the snapshot, then the objects (unless they are in a bucket) and plugins in the order found,
 * then the manifest. What is deleted in the meantime is left out and noted; `contents` is filled as the entries are
 * read.
 */
export async function* entriesOf(
  places: Places,
  database: string,
  snapshot: Snapshot,
  contents: Contents,
  finish: () => Manifest,
  with_key = false,
): AsyncGenerator<ArchiveFile> {
  // The snapshot itself has the permissions of a new file.
  const { mode } = await stat(places.database);
  yield* readEntry([DATABASE_ENTRY], database, contents, mode);
  if (places.objects !== null) yield* objectEntries(places.objects, snapshot, contents);
  const notePlugins = dirNoter(PLUGINS_DIR, places.plugins, contents);
  for await (const path of walk(places.plugins)) {
    await notePlugins(path);
    yield* readEntry([PLUGINS_DIR, ...path], join(places.plugins, ...path), contents);
  }
  if (with_key) yield* readEntry([KEY_ENTRY], places.key, contents);
  const text = new TextEncoder().encode(`${JSON.stringify(finish())}\n`);
  yield { path: [MANIFEST_ENTRY], size: text.length, body: chunksOfText(text) };
}

async function* objectEntries(
  dir: string,
  snapshot: Snapshot,
  contents: Contents,
): AsyncGenerator<ArchiveFile> {
  const seen = new Set<string>();
  const noteObjects = dirNoter(OBJECTS_DIR, dir, contents);
  for await (const path of walk(dir)) {
    // Jobs created after the snapshot would be files without a row.
    if (path[0] === "jobs" && !snapshot.job_ids.has(path[1] ?? "")) continue;
    await noteObjects(path);
    for await (const entry of readEntry([OBJECTS_DIR, ...path], join(dir, ...path), contents)) {
      seen.add(path.join("/"));
      yield entry;
    }
  }
  contents.missing.push(...snapshot.named.filter((key) => !seen.has(key)).sort());
}

async function* chunksOfText(text: Uint8Array): AsyncGenerator<Uint8Array> {
  yield text;
}

/** One entry, or none if the file is gone. An open file keeps its bytes when it is replaced or deleted. */
async function* readEntry(
  path: string[],
  file: string,
  contents: Contents,
  as_mode?: number,
): AsyncGenerator<ArchiveFile> {
  entryPath(path.join("/"));
  const handle = await open(file, "r").catch((err) => {
    if (isGone(err)) return null;
    throw err;
  });
  if (handle === null) return;
  try {
    const { size, mode } = await handle.stat();
    const hash = createHash("sha256");
    yield { path, size, body: readAll(handle, size, hash, path.join("/")) };
    contents.files.push([path.join("/"), size, hash.digest("hex")]);
    noteMode(contents, path, as_mode ?? mode, FILE_MODE);
  } finally {
    await handle.close();
  }
}

async function* readAll(
  handle: FileHandle,
  size: number,
  hash: ReturnType<typeof createHash>,
  name: string,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const buffer = Buffer.alloc(Math.min(READ_BYTES, size - at));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) throw new Error(`${name} became shorter while it was read`);
    const chunk = buffer.subarray(0, bytesRead);
    hash.update(chunk);
    at += bytesRead;
    yield chunk;
  }
}
