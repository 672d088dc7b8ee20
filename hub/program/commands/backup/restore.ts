import { existsSync } from "node:fs";
import { chown, mkdir, readdir, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type HubConfig, loadHubConfig } from "#hub/platform/config.ts";
import { lockSqlite } from "#hub/platform/db/sqlite-snapshot.ts";
import { readKeyFile } from "#hub/platform/secrets/key-file.ts";
import { counted } from "#shared/kit/words.ts";
import { EXIT } from "../../cli/exit.ts";
import type { CommandDeps } from "../migrate.ts";
import { CommandRefused } from "../refused.ts";
import { bucketText, DIR_MODE, type Manifest } from "./manifest.ts";
import { bucketOf, type Places, pathsOf, placesOf } from "./places.ts";
import { type Owner, stageBackup } from "./stage.ts";
import { type Move, readJournal, swap } from "./swap.ts";

const STAGED = ".restore";
const ASIDE = ".before-restore";

const each = (places: Places, change: (path: string) => string): Places => ({
  database: change(places.database),
  objects: places.objects === null ? null : change(places.objects),
  plugins: change(places.plugins),
  key: change(places.key),
});

/**
 * `flotilla restore FILE`: verifies all of a backup next to the data and then exchanges the two; what was there is kept
 * as `….before-restore`. The hub must not run. If it is killed at any moment, it leaves the old data or, until it is
 * run again, a journal that keeps hubs from starting.
 * @returns the exit code (`EXIT`).
 */
export async function runRestore(
  [word = ""]: string[],
  { env, overrides, flags, terminal }: CommandDeps,
): Promise<number> {
  const config = loadHubConfig(env, overrides, "control");
  const configured = placesOf(config);
  const file = resolve(word);
  if (!(await stat(file).catch(() => null))?.isFile())
    throw new CommandRefused(`${file} is not a file`);
  const { database } = configured;
  await mkdir(dirname(database), { recursive: true, mode: DIR_MODE });
  const owners = await ownersOf(configured);
  const unlock = await lock(database);
  try {
    // The lock file outlives this command, and the hub must be able to take it.
    const { database: owner } = owners;
    if (owner) await chown(`${database}-lock`, owner.uid, owner.gid);
    const begun = await readJournal(database);
    if (begun !== null) {
      await swap(database, begun);
      terminal.out(`finished the interrupted restore of ${begun.backup}\n`);
      if (begun.backup === file) return EXIT.ok;
    }
    await refuseMountPoints(configured);
    if (flags.force === undefined) await refuseData(configured);
    const staged = each(configured, (path) => path + STAGED);
    await clear(staged);
    await rm(staged.key, { force: true });
    const { manifest, key_id } = await stageBackup(file, staged, owners)
      .then((found) => {
        if (flags["other-objects"] === undefined) refuseOtherObjects(found.manifest, config);
        return found;
      })
      .catch(async (err) => {
        await clear(staged);
        await rm(staged.key, { force: true });
        throw err;
      });
    // Bodies that are not in the backup stay as they are, wherever they are.
    const places = manifest.bucket === null ? configured : { ...configured, objects: null };
    const aside = each(places, (path) => path + ASIDE);
    await clear(aside);
    // A key that was put aside is dropped only for another one.
    if (existsSync(staged.key)) await rm(aside.key, { force: true });
    for (const end of ["-wal", "-shm"]) await rm(aside.database + end, { force: true });
    await swap(database, { backup: file, moves: movesOf(places, staged, aside) });
    terminal.out(
      `restored ${counted(manifest.files.length, "file")} of ${manifest.created_at}, written by version ${manifest.version}\n`,
    );
    if (places.objects === null)
      terminal.out(
        `the backup has no bodies, and those in ${bodiesOf(config)} are unchanged; flotilla doctor hub checks whether the ones that the database names are there\n`,
      );
    const kept = pathsOf(aside).filter((path) => existsSync(path));
    if (kept.length > 0)
      terminal.out(
        `the previous data are kept as ${kept.join(", ")}: delete them when all is well\n`,
      );
    const has_key = readKeyFile(configured.key)?.some(({ id }) => id === key_id);
    if (key_id !== null && has_key !== true)
      terminal.err(
        `flotilla: its cookies and profiles are encrypted with key ${key_id}, which ${configured.key} does not hold: put that key there before the hub starts, or give them up with flotilla secrets forget\n`,
      );
    if (manifest.missing.length > 0)
      terminal.err(
        `flotilla: ${manifest.missing.length} objects were gone when the backup was made\n`,
      );
    return EXIT.ok;
  } finally {
    unlock();
  }
}

/** Root gives what it restores to the owner of the place or of the directory around it: the service's user. */
async function ownersOf({
  database,
  objects,
  plugins,
  key,
}: Places): Promise<Record<keyof Places, Owner>> {
  if (process.getuid?.() !== 0) return { database: null, objects: null, plugins: null, key: null };
  const ownerOf = async (at: string): Promise<Owner> => {
    const found = await stat(at).catch(() => null);
    return found === null || found.uid === 0 ? null : { uid: found.uid, gid: found.gid };
  };
  const around = await ownerOf(dirname(database));
  const of = async (dir: string) => (await ownerOf(dir)) ?? (await ownerOf(dirname(dir))) ?? around;
  return {
    database: around,
    objects: objects === null ? null : await of(objects),
    plugins: await of(plugins),
    key: (await ownerOf(dirname(key))) ?? around,
  };
}

const bodiesOf = ({ objects_url }: Pick<HubConfig, "objects_url">): string => {
  const bucket = bucketOf(objects_url);
  return bucket === null ? objects_url.replace(/^file:(\/\/)?/i, "") : bucketText(bucket);
};

/** A database must be restored to the bodies that it names. */
function refuseOtherObjects({ bucket }: Manifest, config: HubConfig): void {
  const theirs = bucket === null ? "in itself" : `in ${bucketText(bucket)}`;
  const own = bucketOf(config.objects_url);
  if (isDeepStrictEqual(bucket, own)) return;
  throw new CommandRefused(
    `the backup has its bodies ${theirs}, but SVC_OBJECTS_URL names ${bodiesOf(config)}: name the same place, or give --other-objects if the bodies are there now`,
  );
}

const lock = (database: string): Promise<() => void> =>
  lockSqlite(database).catch((err: unknown) => {
    throw new CommandRefused(
      `a hub uses ${database}: stop it first (${err instanceof Error ? err.message : err})`,
    );
  });

async function clear(places: Places): Promise<void> {
  for (const path of pathsOf(places)) await rm(path, { recursive: true, force: true });
}

async function isFilled(dir: string): Promise<boolean> {
  const names = await readdir(dir).catch(() => []);
  return names.some((name) => !name.startsWith("."));
}

const hasData = async ({ database, objects, plugins }: Places): Promise<boolean> =>
  existsSync(database) ||
  (objects !== null && (await isFilled(objects))) ||
  (await isFilled(plugins));

async function refuseData(places: Places): Promise<void> {
  if (await hasData(places))
    throw new CommandRefused(
      `there are data at ${dirname(places.database)}: --force replaces them with the backup and keeps them next to it`,
    );
}

/** What is exchanged by renaming must be in the same file system as its parent. */
async function refuseMountPoints({ objects, plugins }: Places): Promise<void> {
  for (const path of [objects, plugins].filter((dir) => dir !== null)) {
    const [own, parent] = await Promise.all(
      [path, dirname(path)].map((at) => stat(at).catch(() => null)),
    );
    if (own && parent && own.dev !== parent.dev)
      throw new CommandRefused(
        `${path} is a mount point, which cannot be exchanged: use a directory inside it`,
      );
  }
}

function movesOf(places: Places, staged: Places, aside: Places): Move[] {
  const wal = { target: `${places.database}-wal`, staged: null, aside: `${aside.database}-wal` };
  const shm = { target: `${places.database}-shm`, staged: null, aside: `${aside.database}-shm` };
  const move = (name: keyof Places): Move[] => {
    const [target, from, to] = [places[name], staged[name], aside[name]];
    if (target === null || from === null || to === null) return [];
    return [{ target, staged: existsSync(from) ? from : null, aside: to }];
  };
  // A backup without keys leaves the existing ones in place.
  const key = existsSync(staged.key) ? move("key") : [];
  // The old database's log must not stay next to the new database.
  return [wal, shm, ...key, ...move("database"), ...move("objects"), ...move("plugins")];
}
