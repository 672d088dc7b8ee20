import { existsSync } from "node:fs";
import { mkdtemp, open, readdir, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import { loadHubConfig } from "#hub/platform/config.ts";
import { readSnapshot, snapshotSqlite } from "#hub/platform/db/sqlite-snapshot.ts";
import { isProcessAlive } from "#hub/platform/process-alive.ts";
import { askVersions } from "#hub/platform/stores/s3-versions.ts";
import { writeTarGz } from "#shared/archive/write-tar.ts";
import { isoTime, systemClock } from "#shared/kit/clock.ts";
import { syncPath } from "#shared/kit/sync-path.ts";
import { counted, humanSize } from "#shared/kit/words.ts";
import { nodeVersion } from "#shared/protocol/version.ts";
import { EXIT, UsageError } from "../../cli/exit.ts";
import type { CommandDeps } from "../migrate.ts";
import { CommandRefused } from "../refused.ts";
import {
  BUCKET_FORMAT,
  type Bucket,
  bucketText,
  FORMAT,
  KEY_FORMAT,
  type Manifest,
} from "./manifest.ts";
import { type Contents, entriesOf } from "./pack.ts";
import { bucketOf, type Places, pathsOf, placesOf } from "./places.ts";
import { tellFull } from "./room.ts";
import { runVerify, verifyBackup } from "./verify.ts";
import { versionsRisk } from "./versions-risk.ts";

/** Names as `targetOf` gives them; they sort by time. */
const NAMED = /^flotilla-\d{8}T\d{6}Z\.tar\.gz$/;
const VERIFY = "verify";
const WORK_PREFIX = ".flotilla-backup-";
const HOST = hostname().replace(/[^A-Za-z0-9.]/g, "_");

/**
 * `flotilla backup FILE|DIR`: database, objects and plugins of a hub in SQLite mode, whether it runs or not, in one
 * tar.gz; in a directory the file is named after the time. The file appears complete and verified, or not at all.
 * Objects in a bucket stay there, with a warning about what the bucket does not keep.
 * `flotilla backup verify FILE`: checks whether it could be restored.
 * @returns the exit code (`EXIT`).
 */
export async function runBackup(
  [word = "", file_to_verify, ...more]: string[],
  deps: CommandDeps,
): Promise<number> {
  if (file_to_verify !== undefined && (word !== VERIFY || more.length > 0))
    throw new UsageError(`unexpected word "${more[0] ?? file_to_verify}" after backup`);
  if (file_to_verify !== undefined) return runVerify(file_to_verify, deps);
  if (word === VERIFY)
    throw new UsageError("backup verify needs FILE (to write a backup named verify, use ./verify)");
  return writeBackup(word, deps);
}

async function writeBackup(
  word: string,
  { env, overrides, flags, terminal }: CommandDeps,
): Promise<number> {
  const config = loadHubConfig(env, overrides, "control");
  const places = placesOf(config);
  const bucket = bucketOf(config.objects_url);
  if (!existsSync(places.database))
    throw new CommandRefused(
      `there is no database at ${places.database}: set --data-dir or SVC_DB_URL`,
    );
  const with_key = flags["with-key"] !== undefined;
  if (with_key && !existsSync(places.key))
    throw new CommandRefused(`--with-key: there is no key file at ${places.key}`);
  const keep = readKeep(flags.keep?.at(-1));
  const at = isoTime(systemClock.now());
  const file = await targetOf(word, at, keep === null);
  const dir = dirname(file);
  await removeLeftovers(dir);
  const work = await mkdtemp(join(dir, `${WORK_PREFIX}${HOST}-${process.pid}-`));
  try {
    const manifest = await write(
      { places, bucket, with_key },
      join(work, "db"),
      join(work, "out"),
      at,
    );
    await rm(join(work, "db"));
    await verifyBackup(join(work, "out"), work);
    await rename(join(work, "out"), file);
    await syncPath(dir);
    const removed = keep === null ? [] : await removeOldest(dir, keep);
    const { size } = await stat(file);
    const { files, missing } = manifest;
    const left =
      bucket === null
        ? null
        : { ...bucket, versions: await askVersions(config.objects_url, config.object_keys) };
    if (flags.json !== undefined)
      terminal.out(
        `${JSON.stringify({ file, size, files: files.length, missing, bucket: left, removed })}\n`,
      );
    else {
      terminal.out(`${file}: ${counted(files.length, "file")}, ${humanSize(size)}\n`);
      if (left !== null)
        terminal.out(
          `it holds the database and plugins; bodies stay in ${bucketText(left)}${left.versions.state === "enabled" ? ", which keeps versions" : ""}\n`,
        );
      for (const old of removed) terminal.out(`removed ${old}\n`);
    }
    const risk = left === null ? null : versionsRisk(left, left.versions);
    if (risk !== null) terminal.err(`flotilla: warning: ${risk.found}: ${risk.advice}\n`);
    if (missing.length > 0)
      terminal.err(
        `flotilla: ${missing.length} objects were deleted before or during the copy: ${missing.slice(0, 3).join(", ")}\n`,
      );
    return EXIT.ok;
  } catch (err) {
    await rm(work, { recursive: true, force: true });
    // While it is packed, the database takes its space twice.
    return await tellFull(err, dir, [places.database, ...pathsOf(places)]);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function readKeep(given: string | undefined): number | null {
  if (given === undefined) return null;
  const keep = Number(given);
  if (!Number.isInteger(keep) || keep < 1)
    throw new UsageError("--keep: must be a whole number, at least 1");
  return keep;
}

/** Removes old backups, of those named after their time; the newest `keep` stay. */
async function removeOldest(dir: string, keep: number): Promise<string[]> {
  const named = (await readdir(dir)).filter((name) => NAMED.test(name)).sort();
  const old = named.slice(0, Math.max(0, named.length - keep)).map((name) => join(dir, name));
  for (const file of old) await rm(file, { force: true });
  return old;
}

/** @param may_be_file if false, a missing directory (perhaps one that is not mounted) is not taken for a file name. */
async function targetOf(word: string, at: string, may_be_file: boolean): Promise<string> {
  const path = resolve(word);
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory()) return join(path, `flotilla-${at.replace(/[-:]|\.\d+/g, "")}.tar.gz`);
  const dir = may_be_file ? dirname(path) : path;
  if (!(await stat(dir).catch(() => null))?.isDirectory())
    throw new CommandRefused(`${dir} is not a directory`);
  return path;
}

/** Database first: the objects it names were there before it, and are copied afterwards. */
async function write(
  { places, bucket, with_key }: { places: Places; bucket: Bucket | null; with_key: boolean },
  snapshot_file: string,
  out: string,
  at: string,
): Promise<Manifest> {
  await snapshotSqlite(places.database, snapshot_file);
  const snapshot = await readSnapshot(snapshot_file);
  const contents: Contents = { files: [], modes: [], missing: [] };
  const format = with_key ? KEY_FORMAT : bucket === null ? FORMAT : BUCKET_FORMAT;
  const finish = (): Manifest => ({
    format,
    version: nodeVersion(undefined),
    created_at: at,
    migrations: snapshot.applied,
    ...contents,
    bucket,
  });
  // It holds cookies and password hashes.
  const file = await open(out, "wx", 0o600);
  try {
    const entries = entriesOf(places, snapshot_file, snapshot, contents, finish, with_key);
    for await (const chunk of writeTarGz(entries)) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
  return finish();
}

/** What a killed backup of this machine left in the directory, which several machines may share. */
async function removeLeftovers(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    const own = `${WORK_PREFIX}${HOST}-`;
    if (!name.startsWith(own)) continue;
    const pid = Number(name.slice(own.length).split("-")[0]);
    if (!isProcessAlive(pid)) await rm(join(dir, name), { recursive: true, force: true });
  }
}
