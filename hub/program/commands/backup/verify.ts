import { createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { pendingOf } from "#hub/platform/db/schema-state.ts";
import { readSnapshot } from "#hub/platform/db/sqlite-snapshot.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { counted, humanSize } from "#shared/kit/words.ts";
import { EXIT } from "../../cli/exit.ts";
import type { CommandDeps } from "../migrate.ts";
import { CommandRefused } from "../refused.ts";
import {
  type Bucket,
  bucketText,
  DATABASE_ENTRY,
  KEY_ENTRY,
  type Manifest,
  OBJECTS_DIR,
  PLUGINS_DIR,
} from "./manifest.ts";
import { readBackup } from "./read-backup.ts";
import { demandRoom } from "./room.ts";

interface Part {
  files: number;
  /** Bytes before compression. */
  size: number;
}

/** What a verified backup holds. */
export interface BackupContents {
  created_at: string;
  /** Version of the program that wrote it. */
  version: string;
  /** `pending`: migrations that the next start would apply after a restore with this program. */
  database: { size: number; migrations: number; pending: string[]; jobs: number };
  objects: Part;
  /** The bucket with its bodies; null: they are in the backup. */
  bucket: Bucket | null;
  plugins: Part;
  /**
   * The key that cookies and profiles are encrypted with, and whether the backup has it; null: they are not encrypted.
   */
  key: { id: string; included: boolean } | null;
  /** Keys of objects that rows name and that are not in the backup. */
  missing: string[];
}

/** `flotilla backup verify FILE`. @returns the exit code (`EXIT`): 1 for a backup that `restore` would refuse. */
export async function runVerify(
  word: string,
  { flags, terminal }: Pick<CommandDeps, "flags" | "terminal">,
): Promise<number> {
  const file = resolve(word);
  const json = flags.json !== undefined;
  const tell = (found: object) => terminal.out(`${JSON.stringify({ file, ...found })}\n`);
  try {
    const contents = await verifyBackup(file);
    if (json) tell({ ok: true, ...contents });
    else terminal.out(linesOf(file, contents));
    return EXIT.ok;
  } catch (err) {
    if (!json) throw err;
    tell({ ok: false, error: errorMessage(err) });
    return EXIT.failed;
  }
}

/**
 * Everything that `restore` verifies, without restoring: the database is unpacked below `scratch`, and of everything
 * else only size and hash are computed. The whole database is checked, including its indexes.
 * @throws CommandRefused naming what is wrong.
 */
export async function verifyBackup(file: string, scratch = tmpdir()): Promise<BackupContents> {
  if (!(await stat(file).catch(() => null))?.isFile())
    throw new CommandRefused(`${file} is not a file`);
  const dir = await mkdtemp(join(scratch, "flotilla-verify-"));
  try {
    const database = join(dir, "db");
    const manifest = await readBackup(file, async ({ path, size, body }) => {
      if (path.join("/") === DATABASE_ENTRY) {
        await demandRoom(dir, size);
        await pipeline(body, createWriteStream(database, { flags: "wx", mode: 0o600 }));
      } else for await (const _ of body);
    });
    const snapshot = await readSnapshot(database, { thorough: true }).catch((err: unknown) => {
      throw new CommandRefused(`${file}: ${errorMessage(err)}`);
    });
    const { applied, job_ids, named, key_id } = snapshot;
    const included = manifest.files.some(([path]) => path === KEY_ENTRY);
    return {
      created_at: manifest.created_at,
      version: manifest.version,
      database: {
        size: partOf(manifest, DATABASE_ENTRY).size,
        migrations: applied.length,
        pending: pendingOf({ dialect: "sqlite", applied }),
        jobs: job_ids.size,
      },
      objects: partOf(manifest, OBJECTS_DIR),
      plugins: partOf(manifest, PLUGINS_DIR),
      bucket: manifest.bucket,
      key: key_id === null ? null : { id: key_id, included },
      missing: missingOf(manifest, named),
    };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function partOf({ files }: Manifest, top: string): Part {
  const part = { files: 0, size: 0 };
  for (const [path, size] of files) {
    if (path !== top && !path.startsWith(`${top}/`)) continue;
    part.files += 1;
    part.size += size;
  }
  return part;
}

function missingOf({ files, bucket }: Manifest, named: string[]): string[] {
  if (bucket !== null) return [];
  const there = new Set(files.map(([path]) => path));
  return named.filter((key) => !there.has(`${OBJECTS_DIR}/${key}`)).sort();
}

const SHOWN = 3;

function linesOf(file: string, contents: BackupContents): string {
  const { created_at, version, database, objects, plugins, bucket, key, missing } = contents;
  const part = ({ files, size }: Part) => `${counted(files, "file")}, ${humanSize(size)}`;
  const schema =
    database.pending.length === 0
      ? "up to date"
      : `${database.pending.length} behind this program: the first start after a restore will apply them`;
  const lines = [
    `${file} is complete: written at ${created_at} by version ${version}`,
    `database: SQLite, ${humanSize(database.size)}, ${database.jobs} jobs, ${database.migrations} migrations, ${schema}`,
    `objects:  ${bucket === null ? part(objects) : `not in the backup; they are in ${bucketText(bucket)}`}`,
    `plugins:  ${part(plugins)}`,
  ];
  if (key !== null)
    lines.push(
      `secrets:  encrypted with key ${key.id}, which is ${key.included ? "included" : "not included: keep a copy of SVC_SECRET_KEY_FILE elsewhere"}`,
    );
  if (missing.length > 0)
    lines.push(
      `missing:  ${missing.length} objects were already gone when it was written: ${missing.slice(0, SHOWN).join(", ")}${missing.length > SHOWN ? ", …" : ""}`,
    );
  return `${lines.join("\n")}\n`;
}
