import { createHash } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { contentHash, type HashedFile } from "#shared/archive/content-hash.ts";
import { type ArchiveFile, readTar } from "#shared/archive/read-tar.ts";
import { chunksOf } from "#shared/archive/streams.ts";
import type { Log } from "#shared/kit/log.ts";
import { createTurns } from "#shared/kit/turns.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { PLUGIN_LIMITS } from "#shared/protocol/schema/plugin.ts";
import type { PluginRef } from "#shared/protocol/schema/pull.ts";

/** A version of a plugin that can be run. */
type PluginVersion = Pick<PluginRef, "slug"> & { sha256: string };

export interface PluginCacheDeps {
  /** Used by this worker alone. */
  dir: string;
  log: Log;
  /** What `take` makes of the archive of a plugin, as the control plane serves it; it breaks off when it comes too slowly. */
  withArchive<T>(
    slug: string,
    take: (archive: ReadableStream<Uint8Array>) => Promise<T>,
  ): Promise<T>;
}

/** Folders of plugins on this worker's disk, by version. */
export interface PluginCache {
  /** The folder; fetched when it is not here. It stays until `release`. @throws when it cannot be fetched. */
  acquire(version: PluginVersion): Promise<{ path: string; release(): Promise<void> }>;
}

/** How many versions that nobody runs are kept, for going back. */
const KEPT_PER_PLUGIN = 2;
const FOLDER = /^([a-z0-9][a-z0-9_-]*)@([0-9a-f]{64})$/;
const folderOf = ({ slug, sha256 }: PluginVersion) => `${slug}@${sha256}`;

/** Opens the cache in `dir` and removes what an earlier process left half done. */
export async function openPluginCache(deps: PluginCacheDeps): Promise<PluginCache> {
  const { dir, log } = deps;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  for (const name of await readdir(dir))
    if (!FOLDER.test(name)) await rm(join(dir, name), { recursive: true, force: true });
  const users = new Map<string, number>();
  /** A folder is removed before or after somebody looks for it, never during the lookup. */
  const turns = createTurns<string>();
  /** One fetch for all slots that want a version. */
  const coming = new Map<string, Promise<void>>();

  const fetchInto = async (version: PluginVersion): Promise<void> => {
    const since = performance.now();
    const temp = join(dir, `${newToken()}.part`);
    try {
      const files = await deps.withArchive(version.slug, (archive) => unpack(archive, temp));
      // It has changed since the claim; the next claim names the current version.
      if (contentHash(files) !== version.sha256)
        throw new Error(`plugin ${version.slug} arrived in another version than announced`);
      await rename(temp, join(dir, folderOf(version)));
      const ms = Math.round(performance.now() - since);
      log.info({ plugin: version.slug, files: files.length, ms }, "plugin fetched");
    } finally {
      await rm(temp, { recursive: true, force: true });
    }
  };
  const fetchUnlessHere = async (version: PluginVersion): Promise<void> => {
    const now = new Date();
    const here = utimes(join(dir, folderOf(version)), now, now);
    // Its modification time records when it was last used.
    await here.catch(() => fetchInto(version));
  };
  const ensure = (version: PluginVersion): Promise<void> => {
    const name = folderOf(version);
    const fetching =
      coming.get(name) ??
      turns(version.slug, () => fetchUnlessHere(version)).finally(() => coming.delete(name));
    coming.set(name, fetching);
    return fetching;
  };
  /** Removes a plugin's least recently used versions. */
  const prune = async (slug: string): Promise<void> => {
    const idle: { path: string; used_at: number }[] = [];
    for (const name of await readdir(dir)) {
      if (FOLDER.exec(name)?.[1] !== slug || users.has(name)) continue;
      const path = join(dir, name);
      const found = await stat(path).catch(() => null);
      if (found) idle.push({ path, used_at: found.mtimeMs });
    }
    idle.sort((a, b) => b.used_at - a.used_at);
    for (const { path } of idle.slice(KEPT_PER_PLUGIN))
      await rm(path, { recursive: true, force: true });
  };
  return {
    acquire: async (version) => {
      const name = folderOf(version);
      // Counted before it exists, so that no other release removes it.
      users.set(name, (users.get(name) ?? 0) + 1);
      let held = true;
      const release = async () => {
        if (!held) return;
        held = false;
        const left = (users.get(name) ?? 1) - 1;
        if (left > 0) users.set(name, left);
        else users.delete(name);
        await turns(version.slug, () => prune(version.slug));
      };
      try {
        await ensure(version);
        return { path: join(dir, name), release };
      } catch (err) {
        await release();
        throw err;
      }
    },
  };
}

/** The files of an archive, written below the new directory `dir`. @throws ArchiveError */
async function unpack(archive: ReadableStream<Uint8Array>, dir: string): Promise<HashedFile[]> {
  const files: HashedFile[] = [];
  await mkdir(dir, { mode: 0o700 });
  const limits = {
    max_entries: PLUGIN_LIMITS.max_files,
    // Headers and padding of each file take up to 1,536 bytes.
    max_unpacked_bytes: PLUGIN_LIMITS.max_bytes + PLUGIN_LIMITS.max_files * 1_536,
  };
  for await (const file of readTar(chunksOf(archive), limits))
    files.push(await writeOne(dir, file));
  return files;
}

async function writeOne(dir: string, { path, body }: ArchiveFile): Promise<HashedFile> {
  const to = join(dir, ...path);
  const hash = createHash("sha256");
  let size = 0;
  const seen = async function* () {
    for await (const chunk of body) {
      hash.update(chunk);
      size += chunk.byteLength;
      yield chunk;
    }
  };
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await writeFile(to, seen(), { flag: "wx", mode: 0o600 });
  return { path: path.join("/"), size, sha256: hash.digest("hex") };
}
