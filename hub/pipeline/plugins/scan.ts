import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { contentHash } from "#shared/archive/content-hash.ts";
import { entryPath } from "#shared/archive/entry-path.ts";
import { limitText } from "#shared/kit/words.ts";
import { PLUGIN_LIMITS, type PluginManifest } from "#shared/protocol/schema/plugin.ts";
import { Slug } from "#shared/protocol/schema/workload.ts";
import { isMadeName } from "../code/code-plugin.ts";
import { readManifest } from "./manifest.ts";
import type { PluginFile, PluginFolder } from "./plugin-folder.ts";

type Files = PluginFolder["files"];

const isLeftOut = (name: string): boolean =>
  name.startsWith(".") || name === "__pycache__" || name.endsWith(".pyc");

/**
 * The plugins in `dir`, by slug; none when there is no such directory. Files that have not changed since `before` are
 * not read again, and a plugin without errors none of whose files has changed is the one of `before`.
 */
export async function scanPlugins(
  dir: string,
  before: ReadonlyMap<string, PluginFolder>,
): Promise<Map<string, PluginFolder>> {
  const found = new Map<string, PluginFolder>();
  const names = await readdir(dir).catch((err: NodeJS.ErrnoException) => {
    if (err.code === "ENOENT") return [];
    throw err;
  });
  for (const name of names.sort()) {
    const path = join(dir, name);
    // The folder itself may be a link, so that people can work on a plugin elsewhere.
    const is_folder = (await stat(path).catch(() => null))?.isDirectory() ?? false;
    if (!is_folder || name.startsWith(".")) continue;
    found.set(name, await scanFolder(name, path, before.get(name)));
  }
  return found;
}

async function scanFolder(
  slug: string,
  path: string,
  before: PluginFolder | undefined,
): Promise<PluginFolder> {
  const errors: string[] = [];
  const files = new Map<string, PluginFile>();
  const found = { files, errors, bytes: 0 };
  let manifest: PluginManifest | null = null;
  if (!Slug.safeParse(slug).success)
    errors.push("the folder's name is not a slug (a-z, 0-9, hyphen and underscore)");
  if (isMadeName(slug))
    errors.push("names that begin with code-of- or code-draft- are kept for code of workloads");
  try {
    await walk(path, "", before?.files, found);
    if (before?.sha256 && errors.length === 0 && areSame(files, before.files)) return before;
    manifest = await readManifest(join(path, "plugin.json"), slug, files, errors);
  } catch (err) {
    errors.push(err instanceof Error ? err.message : String(err));
  }
  const sha256 = errors.length === 0 ? contentHash(files.values()) : null;
  return { slug, path, manifest, errors, files, sha256 };
}

/** A file that has not changed is the one of the last scan. */
const areSame = (files: Files, before: Files): boolean =>
  files.size === before.size && [...files].every(([path, file]) => before.get(path) === file);

async function walk(
  root: string,
  below: string,
  known: Files | undefined,
  found: { files: Map<string, PluginFile>; errors: string[]; bytes: number },
): Promise<void> {
  const entries = await readdir(join(root, below), { withFileTypes: true });
  for (const entry of entries) {
    if (isLeftOut(entry.name)) continue;
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    const problem = problemOf(entry, path);
    if (problem !== null) found.errors.push(problem);
    else if (entry.isDirectory()) await walk(root, path, known, found);
    else {
      const file = await seeFile(join(root, path), path, known?.get(path));
      found.files.set(path, file);
      found.bytes += file.size;
      // After each file: a folder put here by mistake is not read to its end.
      if (found.bytes > PLUGIN_LIMITS.max_bytes) throw tooLarge();
      if (found.files.size > PLUGIN_LIMITS.max_files)
        throw new Error(`the folder holds more than ${PLUGIN_LIMITS.max_files} files`);
    }
  }
}

function problemOf(entry: Dirent, path: string): string | null {
  if (entry.isSymbolicLink()) return `${path} is a symbolic link`;
  if (!entry.isFile() && !entry.isDirectory()) return `${path} is not a regular file`;
  try {
    entryPath(path);
    return null;
  } catch (err) {
    if (err instanceof ArchiveError) return err.message;
    throw err;
  }
}

async function seeFile(
  path: string,
  name: string,
  known: PluginFile | undefined,
): Promise<PluginFile> {
  const { size, mtimeMs, ctimeMs, ino } = await stat(path);
  const seen = `${size}.${mtimeMs}.${ctimeMs}.${ino}`;
  if (known?.seen === seen) return known;
  // Counted before it is read: one huge file must not be read to be refused.
  if (size > PLUGIN_LIMITS.max_bytes) throw tooLarge();
  const hash = new Bun.CryptoHasher("sha256");
  let read = 0;
  for await (const chunk of Bun.file(path).stream()) {
    hash.update(chunk);
    read += chunk.byteLength;
  }
  return { path: name, size: read, sha256: hash.digest("hex"), seen };
}

const tooLarge = () =>
  new Error(`the folder holds more than ${limitText(PLUGIN_LIMITS.max_bytes)}`);
