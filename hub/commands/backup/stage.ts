import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chown, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { type ArchiveFile, readTar } from "#shared/archive/read-tar.ts";
import { errorMessage } from "#shared/errors.ts";
import { readSnapshot } from "../../db/sqlite-snapshot.ts";
import { CommandRefused } from "../refused.ts";
import {
  DATABASE_ENTRY,
  FORMAT,
  MANIFEST_ENTRY,
  Manifest,
  OBJECTS_DIR,
  PLUGINS_DIR,
} from "./manifest.ts";
import type { Places } from "./places.ts";

/** The backup is the operator's own: bounds only against a broken file. */
const LIMITS = { max_unpacked_bytes: 2 ** 50, max_entries: 2 ** 31 };

/** Who the restored files belong to; null: whoever runs this. */
export type Owner = { uid: number; gid: number } | null;

const MAX_MANIFEST_BYTES = 2 ** 30;

/**
 * Unpacks the backup `file` to the places `staged`, every file synced, and verifies all of it: hashes, completeness, the
 * database, and that this program knows its schema.
 * @throws CommandRefused naming what is wrong; ConfigError when the backup is newer than this program.
 */
export async function stageBackup(file: string, staged: Places, owner: Owner): Promise<Manifest> {
  const found = new Map<string, { size: number; sha256: string }>();
  let manifest: Manifest | null = null;
  try {
    for await (const entry of readTar(createReadStream(file), LIMITS)) {
      const name = entry.path.join("/");
      if (name === MANIFEST_ENTRY) manifest = await readManifest(entry);
      else found.set(name, await writeEntry(entry, placeOf(entry.path, staged), owner));
    }
  } catch (err) {
    if (err instanceof CommandRefused || (err instanceof Error && "syscall" in err)) throw err;
    if (err instanceof ArchiveError) throw new CommandRefused(`${file}: ${err.message}`);
    // The libraries tell a stream that ended too early in several ways.
    throw new CommandRefused(`${file}: is damaged or cut off (${errorMessage(err)})`);
  }
  if (manifest === null)
    throw new CommandRefused(`${file}: is no whole backup: it does not end with ${MANIFEST_ENTRY}`);
  compare(file, manifest, found);
  await readSnapshot(staged.database).catch((err: Error) => {
    throw err.name === "ConfigError" ? new CommandRefused(`${file}: ${err.message}`) : err;
  });
  return manifest;
}

function placeOf(path: string[], staged: Places): string {
  const [top, ...rest] = path;
  if (path.length === 1 && top === DATABASE_ENTRY) return staged.database;
  if (top === OBJECTS_DIR && rest.length > 0) return join(staged.objects, ...rest);
  if (top === PLUGINS_DIR && rest.length > 0) return join(staged.plugins, ...rest);
  throw new CommandRefused(
    `the archive is no backup of flotilla: it holds ${JSON.stringify(path.join("/"))}`,
  );
}

async function readManifest({ body, size }: ArchiveFile): Promise<Manifest> {
  if (size > MAX_MANIFEST_BYTES)
    throw new CommandRefused("the manifest of the backup is too large");
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const read = Manifest.safeParse(parse(text));
  if (!read.success) throw new CommandRefused("the manifest of the backup cannot be read");
  if (read.data.format > FORMAT)
    throw new CommandRefused(
      `the backup was written by a newer version (${read.data.version}): restore it with that one`,
    );
  return read.data;
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

function compare(
  file: string,
  { files }: Manifest,
  found: Map<string, { size: number; sha256: string }>,
): void {
  for (const [name, size, sha256] of files) {
    const entry = found.get(name);
    if (entry?.size !== size || entry.sha256 !== sha256)
      throw new CommandRefused(
        `${file}: ${name} is not what the manifest says: the backup is damaged`,
      );
  }
  if (found.size !== files.length || !found.has(DATABASE_ENTRY))
    throw new CommandRefused(`${file}: holds other files than its manifest names`);
}

/** Directories that were made, so that each is made and given away once. */
const made = new Set<string>();

async function makeDirs(dir: string, owner: Owner): Promise<void> {
  if (made.has(dir)) return;
  const first = await mkdir(dir, { recursive: true });
  for (let at = dir; first !== undefined && at.length >= first.length; at = dirname(at))
    if (owner) await chown(at, owner.uid, owner.gid);
  made.add(dir);
}

async function writeEntry({ body }: ArchiveFile, path: string, owner: Owner) {
  await makeDirs(dirname(path), owner);
  const hash = createHash("sha256");
  let size = 0;
  const file = await open(path, "wx", 0o640);
  try {
    for await (const chunk of body) {
      hash.update(chunk);
      size += chunk.byteLength;
      await file.writeFile(chunk);
    }
    if (owner) await file.chown(owner.uid, owner.gid);
    await file.sync();
  } finally {
    await file.close();
  }
  return { size, sha256: hash.digest("hex") };
}
