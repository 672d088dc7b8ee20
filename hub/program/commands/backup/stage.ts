import { chmod, chown, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readSnapshot } from "#hub/platform/db/sqlite-snapshot.ts";
import type { ArchiveFile } from "#shared/archive/read-tar.ts";
import { CommandRefused } from "../refused.ts";
import {
  DATABASE_ENTRY,
  DIR_MODE,
  FILE_MODE,
  KEY_ENTRY,
  type Manifest,
  OBJECTS_DIR,
  PLUGINS_DIR,
} from "./manifest.ts";
import type { Places } from "./places.ts";
import { readBackup } from "./read-backup.ts";
import { demandRoom } from "./room.ts";

/** Who owns the restored files of a place; null: the user who runs this. */
export type Owner = { uid: number; gid: number } | null;

/** Permissions that may be given: never world-writable, never a setuid bit that a forged manifest names. */
const MAX_MODE = 0o775;
const LEAST_FILE_MODE = 0o600;
const LEAST_DIR_MODE = 0o700;

/**
 * Unpacks the backup `file` to the places `staged`, every file synced, and verifies all of it: hashes, completeness, the
 * database, and that this program knows its schema. Permissions are those of the manifest.
 * @throws CommandRefused naming what is wrong, also when the backup is newer than this program.
 */
export async function stageBackup(
  file: string,
  staged: Places,
  owners: Record<keyof Places, Owner>,
): Promise<{ manifest: Manifest; key_id: string | null }> {
  const made = new Map<string, "file" | "directory">();
  const manifest = await readBackup(file, async (entry) => {
    const place = placeOf(entry.path);
    // Only their owner may read keys, whatever the manifest says.
    const mode = place === "key" ? LEAST_FILE_MODE : FILE_MODE;
    const as = { owner: owners[place], mode };
    await writeEntry(entry, pathIn(staged, entry.path), as, made);
  });
  await applyModes(manifest, staged, made);
  const { key_id } = await readSnapshot(staged.database).catch((err: Error) => {
    throw err.name === "ConfigError" ? new CommandRefused(`${file}: ${err.message}`) : err;
  });
  return { manifest, key_id };
}

const PLACES: Record<string, keyof Places> = {
  [DATABASE_ENTRY]: "database",
  [OBJECTS_DIR]: "objects",
  [PLUGINS_DIR]: "plugins",
  [KEY_ENTRY]: "key",
};

/** The reader has refused every other entry. */
const placeOf = ([top = ""]: string[]): keyof Places => PLACES[top] ?? "objects";

function pathIn(staged: Places, path: string[]): string {
  const top = staged[placeOf(path)];
  if (top === null)
    throw new CommandRefused(
      "the backup holds bodies, but SVC_OBJECTS_URL names a bucket: give --objects-url file:DIR to restore them into a directory",
    );
  return join(top, ...path.slice(1));
}

type Made = Map<string, "file" | "directory">;

/** A directory that existed before is not changed. */
async function makeDirs(dir: string, owner: Owner, made: Made): Promise<void> {
  if (made.has(dir)) return;
  const first = await mkdir(dir, { recursive: true });
  for (let at = dir; first !== undefined && at.length >= first.length; at = dirname(at)) {
    await chmod(at, DIR_MODE);
    if (owner) await chown(at, owner.uid, owner.gid);
    made.set(at, "directory");
  }
}

async function writeEntry(
  { body, size }: ArchiveFile,
  path: string,
  { owner, mode }: { owner: Owner; mode: number },
  made: Made,
): Promise<void> {
  await makeDirs(dirname(path), owner, made);
  await demandRoom(dirname(path), size);
  const file = await open(path, "wx", LEAST_FILE_MODE);
  try {
    for await (const chunk of body) await file.writeFile(chunk);
    if (owner) await file.chown(owner.uid, owner.gid);
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
  made.set(path, "file");
}

/** Applied only to what was unpacked, because a manifest may name anything. */
async function applyModes({ modes }: Manifest, staged: Places, made: Made): Promise<void> {
  for (const [name, mode] of modes) {
    const path = pathIn(staged, name.split("/"));
    const kind = made.get(path);
    if (kind === undefined || path === staged.key) continue;
    await chmod(path, (mode & MAX_MODE) | (kind === "file" ? LEAST_FILE_MODE : LEAST_DIR_MODE));
  }
}
