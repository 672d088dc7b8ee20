import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { type ArchiveLimits, readTar } from "#shared/archive/read-tar.ts";
import { syncPath } from "#shared/kit/sync-path.ts";
import {
  hashFiles,
  isSource,
  readSources,
  type SourceFile,
  VERSION_FILE,
} from "#shared/protocol/version.ts";
import { hasPackage } from "./packages.ts";

/** Maximum size of the archive, and of its unpacked content (rules/updates#what-a-worker-refuses). */
export const MAX_ARCHIVE_BYTES = 50 * 1024 ** 2;
const LIMITS: ArchiveLimits = { max_unpacked_bytes: MAX_ARCHIVE_BYTES, max_entries: 5_000 };

/** The shape of a version that can be staged, and the name of its directory. */
const VERSION = /^[0-9a-f]{12}$/;

/** Unfinished directories; anyone who finds one may remove it. */
const UNFINISHED = ".staging-";

/** An update that is refused; its message says why. */
export class UpdateRefused extends Error {
  override readonly name = "UpdateRefused";
}

const pathOf = (dir: string, version: string) => join(dir, version);

/** Paths of files that the sources themselves name, with their SHA-256. */
const NAMED_FILE = /"([^"]+)":\s*"([0-9a-f]{64})"/g;
/** Versions in the field look for it at exactly this path. */
const NAMED_IN = "shared/carried-files.ts";

/** Files that the sources name in addition to themselves; the archive may hold no other files that are not sources. */
function carriedFiles(sources: readonly SourceFile[]): Map<string, string> {
  const list = sources.find(({ path }) => path === NAMED_IN);
  const text = list === undefined ? "" : Buffer.from(list.body).toString();
  return new Map(
    [...text.matchAll(NAMED_FILE)].map(([, path = "", sha256 = ""]) => [path, sha256]),
  );
}

const sha256 = (body: Uint8Array) => createHash("sha256").update(body).digest("hex");

/** @throws UpdateRefused unless the files are those of `version` and nothing more. */
function checkFiles(files: readonly SourceFile[], version: string): void {
  const sources = files.filter(({ path }) => isSource(path));
  const found = hashFiles(sources);
  if (found !== version)
    throw new UpdateRefused(`the sources hash to ${found}, not to the expected version ${version}`);
  const carried = carriedFiles(sources);
  for (const { path, body } of files) {
    if (isSource(path) || path === VERSION_FILE) continue;
    if (carried.get(path) !== sha256(body))
      throw new UpdateRefused(`${path} does not match the sources`);
  }
  for (const path of carried.keys())
    if (!files.some((file) => file.path === path)) throw new UpdateRefused(`${path} is missing`);
}

/**
 * @throws UpdateRefused naming a package that the worker's modules import and this program does not have
 * (rules/updates#what-is-propagated).
 */
function checkPackages(files: readonly SourceFile[]): void {
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  for (const { path, body } of files) {
    if (!/^(worker|shared)\/.*\.ts$/.test(path) || path.endsWith(".d.ts")) continue;
    for (const { path: wanted } of transpiler.scanImports(Buffer.from(body)))
      if (/^[^.#/]/.test(wanted) && !hasPackage(wanted))
        throw new UpdateRefused(
          `${path} needs the package ${wanted}, which this program does not have: install the new one`,
        );
  }
}

/** Every file of the archive in memory: at most `MAX_ARCHIVE_BYTES`. @throws UpdateRefused, ArchiveError */
async function readArchive(archive: string): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  for await (const { path, body } of readTar(createReadStream(archive), LIMITS)) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    files.push({ path: path.join("/"), body: Buffer.concat(chunks) });
  }
  return files;
}

async function writeFiles(root: string, files: readonly SourceFile[]): Promise<void> {
  const dirs = new Set(files.map(({ path }) => dirname(join(root, path))));
  for (const dir of dirs) await mkdir(dir, { recursive: true });
  const write = async ({ path, body }: SourceFile) => {
    const file = await open(join(root, path), "wx", 0o644);
    try {
      await file.writeFile(body);
      await file.sync();
    } finally {
      await file.close();
    }
  };
  // File systems write simultaneous flushes to the disk together.
  for (let i = 0; i < files.length; i += AT_ONCE)
    await Promise.all(files.slice(i, i + AT_ONCE).map(write));
  await Promise.all([...dirs].map(syncPath));
}

const AT_ONCE = 64;

/** The version that an archive claims to hold; `stageArchive` verifies it. */
export async function versionInside(archive: string): Promise<string> {
  const file = (await readArchiveAs(archive)).find(({ path }) => path === VERSION_FILE);
  if (!file) throw new UpdateRefused(`the archive has no ${VERSION_FILE}`);
  return Buffer.from(file.body).toString().trim();
}

async function readArchiveAs(archive: string): Promise<SourceFile[]> {
  try {
    return await readArchive(archive);
  } catch (err) {
    if (err instanceof ArchiveError)
      throw new UpdateRefused(`the archive is refused: ${err.message}`, { cause: err });
    throw err;
  }
}

/**
 * Unpacks an archive next to the other versions. Everything in it is judged before anything is written, and the
 * directory is renamed atomically when all of it is on the disk.
 * @throws UpdateRefused saying why it is refused; errors of the file system unchanged.
 */
export async function stageArchive(dir: string, archive: string, version: string): Promise<void> {
  if (!VERSION.test(version))
    throw new UpdateRefused(`${JSON.stringify(version)} is not a hash of sources`);
  // A complete version may be running: leave it as it is.
  if ((await findStaged(dir, version)) !== null) return;
  const files = await readArchiveAs(archive);
  checkFiles(files, version);
  checkPackages(files);
  await checkRoom(dir, files);
  const unfinished = await mkdtemp(join(dir, UNFINISHED));
  try {
    await writeFiles(unfinished, files);
    await rm(pathOf(dir, version), { recursive: true, force: true });
    await rename(unfinished, pathOf(dir, version));
    await syncPath(dir);
  } catch (err) {
    await rm(unfinished, { recursive: true, force: true }).catch(() => {});
    throw err;
  }
}

/** A disk that fills up halfway would leave no room for the running jobs. */
async function checkRoom(dir: string, files: readonly SourceFile[]): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  const needed = files.reduce((sum, { body }) => sum + body.byteLength + bsize, 0);
  if (bavail * bsize < needed)
    throw new UpdateRefused(`the disk has no room for ${Math.ceil(needed / 1024)} KiB in ${dir}`);
}

/** Directory of a complete staged version, or null. */
export async function findStaged(dir: string, version: string): Promise<string | null> {
  const root = pathOf(dir, version);
  try {
    const entries = await readdir(root, { withFileTypes: true });
    const dirs = entries.filter((e) => e.isDirectory()).map((e) => e.name);
    const sources = readSources(root, dirs);
    const carried = await Promise.all(
      [...carriedFiles(sources).keys()].map(async (path) => ({
        path,
        body: await readFile(join(root, path)),
      })),
    );
    checkFiles([...sources, ...carried], version);
    return root;
  } catch {
    return null;
  }
}

/** Removes every version except those to `keep`, and unfinished ones. */
export async function pruneVersions(dir: string, keep: readonly (string | null)[]): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const unfinished = entry.name.startsWith(UNFINISHED);
    const old = entry.isDirectory() && VERSION.test(entry.name) && !keep.includes(entry.name);
    if (unfinished || old) await rm(join(dir, entry.name), { recursive: true, force: true });
  }
}

/** A name for a download that `pruneVersions` removes when it is left behind. */
export const downloadPath = (dir: string): string => join(dir, `${UNFINISHED}${Date.now()}.tar.gz`);
