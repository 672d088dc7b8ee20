import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { type ArchiveFile, readTar } from "#shared/archive/read-tar.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { CommandRefused } from "../refused.ts";
import {
  DATABASE_ENTRY,
  KEY_ENTRY,
  KEY_FORMAT,
  MANIFEST_ENTRY,
  Manifest,
  OBJECTS_DIR,
  PLUGINS_DIR,
} from "./manifest.ts";

/** The backup is the operator's own: these bounds only guard against a broken file. */
const LIMITS = { max_unpacked_bytes: 2 ** 50, max_entries: 2 ** 31 };
const MAX_MANIFEST_BYTES = 2 ** 30;

/** Handles an entry; it must read the body to the end. */
export type TakeEntry = (entry: ArchiveFile) => Promise<void>;

/**
 * Reads the whole backup `file`, gives each entry but the manifest to `take`, and compares what it read with the manifest:
 * every path, size and hash. The caller checks what is in the database.
 * @throws CommandRefused naming what is wrong.
 */
export async function readBackup(file: string, take: TakeEntry): Promise<Manifest> {
  const found = new Map<string, { size: number; sha256: string }>();
  let manifest: Manifest | null = null;
  try {
    for await (const entry of readTar(createReadStream(file), LIMITS)) {
      const name = entry.path.join("/");
      if (name === MANIFEST_ENTRY) {
        manifest = await readManifest(entry);
        continue;
      }
      refuseStranger(entry.path);
      const { body, result } = hashed(entry.body);
      await take({ ...entry, body });
      found.set(name, result());
    }
  } catch (err) {
    if (err instanceof CommandRefused || (err instanceof Error && "syscall" in err)) throw err;
    if (err instanceof ArchiveError) throw new CommandRefused(`${file}: ${err.message}`);
    // The libraries report a stream that ended too early in several ways.
    throw new CommandRefused(`${file}: is damaged or cut off (${errorMessage(err)})`);
  }
  if (manifest === null)
    throw new CommandRefused(
      `${file}: is not a complete backup: it does not end with ${MANIFEST_ENTRY}`,
    );
  compare(file, manifest, found);
  return manifest;
}

function refuseStranger(path: string[]): void {
  const [top] = path;
  const known =
    path.length === 1
      ? top === DATABASE_ENTRY || top === KEY_ENTRY
      : top === OBJECTS_DIR || top === PLUGINS_DIR;
  if (known) return;
  throw new CommandRefused(
    `the archive is not a backup of flotilla: it holds ${JSON.stringify(path.join("/"))}`,
  );
}

/** Passes the body through; counts and hashes what was read of it. */
function hashed(chunks: ArchiveFile["body"]) {
  const hash = createHash("sha256");
  let size = 0;
  const body = async function* () {
    for await (const chunk of chunks) {
      hash.update(chunk);
      size += chunk.byteLength;
      yield chunk;
    }
  };
  return { body: body(), result: () => ({ size, sha256: hash.digest("hex") }) };
}

async function readManifest({ body, size }: ArchiveFile): Promise<Manifest> {
  if (size > MAX_MANIFEST_BYTES)
    throw new CommandRefused("the manifest of the backup is too large");
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const read = Manifest.safeParse(parse(text));
  if (!read.success) throw new CommandRefused("the manifest of the backup cannot be read");
  if (read.data.format > KEY_FORMAT)
    throw new CommandRefused(
      `the backup was written by a newer version (${read.data.version}): restore it with that version`,
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
  { files, missing, bucket }: Manifest,
  found: Map<string, { size: number; sha256: string }>,
): void {
  for (const [name, size, sha256] of files) {
    const entry = found.get(name);
    if (entry?.size !== size || entry.sha256 !== sha256)
      throw new CommandRefused(
        `${file}: ${name} does not match the manifest: the backup is damaged`,
      );
  }
  const has_objects = files.some(([name]) => name.startsWith(`${OBJECTS_DIR}/`));
  if (bucket !== null && (has_objects || missing.length > 0))
    throw new CommandRefused(
      `${file}: contains bodies, although its manifest leaves them to a bucket`,
    );
  if (found.size !== files.length || !found.has(DATABASE_ENTRY))
    throw new CommandRefused(`${file}: does not hold exactly the files that its manifest names`);
}
