import { existsSync } from "node:fs";
import { chown, mkdir, readdir, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { EXIT } from "../../cli/exit.ts";
import { loadHubConfig } from "../../config.ts";
import { lockSqlite } from "../../db/sqlite-snapshot.ts";
import type { CommandDeps } from "../migrate.ts";
import { CommandRefused } from "../refused.ts";
import { DIR_MODE } from "./manifest.ts";
import { type Places, placesOf } from "./places.ts";
import { type Owner, stageBackup } from "./stage.ts";
import { type Move, readJournal, swap } from "./swap.ts";

const STAGED = ".restore";
const ASIDE = ".before-restore";

const each = (places: Places, change: (path: string) => string): Places => ({
  ...{ database: change(places.database), objects: change(places.objects) },
  plugins: change(places.plugins),
});

/**
 * `flotilla restore FILE`: verifies all of a backup beside the data and then exchanges them; what was there is kept as
 * `….before-restore`. The hub must not run. Killed at any moment it leaves the old data or, until it is run again, a
 * journal that keeps hubs away.
 * @returns the exit code (`EXIT`).
 */
export async function runRestore(
  [word = ""]: string[],
  { env, overrides, flags, terminal }: CommandDeps,
): Promise<number> {
  const places = placesOf(loadHubConfig(env, overrides, "control"));
  const file = resolve(word);
  if (!(await stat(file).catch(() => null))?.isFile())
    throw new CommandRefused(`${file} is not a file`);
  const { database } = places;
  await mkdir(dirname(database), { recursive: true, mode: DIR_MODE });
  const owners = await ownersOf(places);
  const unlock = await lock(database);
  try {
    // The lock's file outlives this command, and the hub has to take it.
    const { database: owner } = owners;
    if (owner) await chown(`${database}-lock`, owner.uid, owner.gid);
    const begun = await readJournal(database);
    if (begun !== null) {
      await swap(database, begun);
      terminal.out(`finished the restore of ${begun.backup} that was cut off\n`);
      if (begun.backup === file) return EXIT.ok;
    }
    await refuseMountPoints(places);
    if (flags.force === undefined) await refuseData(places);
    const staged = each(places, (path) => path + STAGED);
    await clear(staged);
    const manifest = await stageBackup(file, staged, owners).catch(async (err) => {
      await clear(staged);
      throw err;
    });
    const aside = each(places, (path) => path + ASIDE);
    await clear(aside);
    for (const end of ["-wal", "-shm"]) await rm(aside.database + end, { force: true });
    await swap(database, { backup: file, moves: movesOf(places, staged, aside) });
    terminal.out(
      `restored ${manifest.files.length} files of ${manifest.created_at}, written by version ${manifest.version}\n`,
    );
    const kept = Object.values(aside).filter((path) => existsSync(path));
    if (kept.length > 0)
      terminal.out(`what was there is kept as ${kept.join(", ")}: delete it when all is well\n`);
    if (manifest.missing.length > 0)
      terminal.err(
        `flotilla: ${manifest.missing.length} objects were gone when the backup was made\n`,
      );
    return EXIT.ok;
  } finally {
    unlock();
  }
}

/** Root gives what it restores to whom the place or the directory around it belongs to: the service's user. */
async function ownersOf({
  database,
  objects,
  plugins,
}: Places): Promise<Record<keyof Places, Owner>> {
  if (process.getuid?.() !== 0) return { database: null, objects: null, plugins: null };
  const ownerOf = async (at: string): Promise<Owner> => {
    const found = await stat(at).catch(() => null);
    return found === null || found.uid === 0 ? null : { uid: found.uid, gid: found.gid };
  };
  const around = await ownerOf(dirname(database));
  const of = async (dir: string) => (await ownerOf(dir)) ?? (await ownerOf(dirname(dir))) ?? around;
  return { database: around, objects: await of(objects), plugins: await of(plugins) };
}

const lock = (database: string): Promise<() => void> =>
  lockSqlite(database).catch((err: unknown) => {
    throw new CommandRefused(
      `a hub uses ${database}: stop it first (${err instanceof Error ? err.message : err})`,
    );
  });

async function clear({ database, objects, plugins }: Places): Promise<void> {
  for (const path of [database, objects, plugins]) await rm(path, { recursive: true, force: true });
}

async function isFilled(dir: string): Promise<boolean> {
  const names = await readdir(dir).catch(() => []);
  return names.some((name) => !name.startsWith("."));
}

const hasData = async ({ database, objects, plugins }: Places): Promise<boolean> =>
  existsSync(database) || (await isFilled(objects)) || (await isFilled(plugins));

async function refuseData(places: Places): Promise<void> {
  if (await hasData(places))
    throw new CommandRefused(
      `there are data at ${dirname(places.database)}: --force puts the backup in their place and keeps them beside it`,
    );
}

/** What is exchanged by renaming must lie in its parent's file system. */
async function refuseMountPoints({ objects, plugins }: Places): Promise<void> {
  for (const path of [objects, plugins]) {
    const [own, parent] = await Promise.all(
      [path, dirname(path)].map((at) => stat(at).catch(() => null)),
    );
    if (own && parent && own.dev !== parent.dev)
      throw new CommandRefused(
        `${path} is a mount point, which cannot be exchanged: use a directory inside of it`,
      );
  }
}

function movesOf(places: Places, staged: Places, aside: Places): Move[] {
  const wal = { target: `${places.database}-wal`, staged: null, aside: `${aside.database}-wal` };
  const shm = { target: `${places.database}-shm`, staged: null, aside: `${aside.database}-shm` };
  const move = (name: keyof Places): Move => {
    const from = existsSync(staged[name]) ? staged[name] : null;
    return { target: places[name], staged: from, aside: aside[name] };
  };
  // The log of the old database must not lie beside the new one.
  return [wal, shm, move("database"), move("objects"), move("plugins")];
}
