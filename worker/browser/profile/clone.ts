import { constants } from "node:fs";
import { copyFile, mkdir, readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { keepsFile, LOCAL_STATE } from "#shared/archive/profile-shape.ts";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import { ProfileError } from "./cache.ts";
import { type SeededProfile, seeded } from "./profiles.ts";

/** Browsers with Chromium's directories, by the name a job gives them; the first that has the profile is taken. */
const BROWSERS: Record<string, string> = {
  "google-chrome": "google-chrome",
  chromium: "chromium",
  "google-chrome-beta": "google-chrome-beta",
  "google-chrome-unstable": "google-chrome-unstable",
  brave: "BraveSoftware/Brave-Browser",
  "microsoft-edge": "microsoft-edge",
};
const MAX_CLONE_BYTES = 8 * 1024 ** 3;
/** A browser in use writes to its databases every few seconds, for a few milliseconds. */
const COPY_TRIES = 5;
const COPY_RETRY_MS = 50;

export interface FoundProfile {
  /** e.g. `chromium/Profile 1`. */
  name: string;
  /** The browser's user-data directory, and the profile's name in it. */
  root: string;
  directory: string;
}

/**
 * Copies the operator's browser profile `name` into a run's directory (rules/jobs#copy-the-operators-profile): the
 * original is only read, and may be in use.
 */
export function cloneProfile(
  config_dir: string,
  name: string,
  signal: AbortSignal,
  clock: Clock = systemClock,
): SeededProfile {
  return seeded(`clone of ${name}`, async (user_data) => {
    const found = await findProfile(config_dir, name);
    await copyTree(join(found.root, found.directory), join(user_data, "Default"), signal, clock);
    await copyFile(join(found.root, LOCAL_STATE), join(user_data, LOCAL_STATE)).catch(() => {});
  });
}

/**
 * Looks the profile up by the names of the directories that are there, so no name leads anywhere else.
 * @throws ProfileError listing what there is.
 */
export async function findProfile(config_dir: string, name: string): Promise<FoundProfile> {
  const [, browser, wanted = name] = /^([a-z-]+)\/(.*)$/s.exec(name) ?? [];
  const there: FoundProfile[] = [];
  const shown: FoundProfile[] = [];
  for (const [key, dir] of Object.entries(BROWSERS)) {
    if (browser !== undefined && browser !== key) continue;
    const root = join(config_dir, dir);
    const titles = await titlesIn(root);
    for (const directory of await profilesIn(root)) {
      const found = { name: `${key}/${directory}`, root, directory };
      there.push(found);
      if (titles[directory] === wanted) shown.push(found);
    }
  }
  const match = there.find((found) => found.directory === wanted) ?? shown[0];
  if (match) return match;
  const names = there.map((found) => found.name);
  throw new ProfileError(
    `there is no browser profile ${name} on this host; it has ${names.length === 0 ? "none" : names.slice(0, 20).join(", ")}`,
  );
}

async function profilesIn(root: string): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isDirectory() && /^(Default|Profile [0-9]+)$/.test(entry.name))
    .map((entry) => entry.name)
    .sort();
}

/** The names people gave their profiles, by directory. */
async function titlesIn(root: string): Promise<Record<string, unknown>> {
  try {
    const state = JSON.parse(await readFile(join(root, LOCAL_STATE), "utf8"));
    const titles = Object.entries(state.profile.info_cache as Record<string, { name?: unknown }>);
    return Object.fromEntries(titles.map(([directory, info]) => [directory, info.name]));
  } catch {
    return {};
  }
}

async function copyTree(
  from: string,
  to: string,
  signal: AbortSignal,
  clock: Clock,
): Promise<void> {
  let bytes = 0;
  const walk = async (path: string[]): Promise<void> => {
    signal.throwIfAborted();
    const entries = await readdir(join(from, ...path), { withFileTypes: true }).catch(() => []);
    const files: string[] = [];
    for (const entry of entries) {
      if (!keepsFile([...path, entry.name])) continue;
      if (entry.isDirectory()) await walk([...path, entry.name]);
      else if (entry.isFile()) files.push(entry.name);
    }
    for (const group of groupsOf(files)) {
      const pairs = group.map((file) => join(...path, file));
      bytes += await copyTogether(pairs, from, to, clock);
      if (bytes > MAX_CLONE_BYTES)
        throw new ProfileError(`the profile is larger than ${MAX_CLONE_BYTES} bytes`);
    }
  };
  await walk([]);
}

/** A SQLite database with its journal or log: separated from each other, they are a damaged database. */
function groupsOf(files: string[]): string[][] {
  const names = new Set(files);
  const side = (file: string) => /^(.*)-(journal|wal|shm)$/s.exec(file);
  return files.flatMap((file) => {
    const main = side(file)?.[1];
    if (main !== undefined && names.has(main)) return [];
    // The -shm file is an index that SQLite rebuilds.
    const others = [`${file}-journal`, `${file}-wal`].filter((other) => names.has(other));
    return [[file, ...others]];
  });
}

/** Copies files together; tries again a few times if one changes meanwhile. @returns their bytes. */
async function copyTogether(
  files: string[],
  from: string,
  to: string,
  clock: Clock,
): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const before = await stampOf(files, from);
    for (const file of files) {
      await mkdir(dirname(join(to, file)), { recursive: true, mode: 0o700 });
      // It is gone since it was listed: a journal whose transaction has ended, or a temporary file.
      await copyFile(join(from, file), join(to, file), constants.COPYFILE_FICLONE).catch(() => {});
    }
    const after = await stampOf(files, from);
    if (after.stamp === before.stamp || tries === COPY_TRIES) return after.bytes;
    await clock.sleep(COPY_RETRY_MS);
  }
}

async function stampOf(files: string[], from: string) {
  const stats = await Promise.all(files.map((file) => stat(join(from, file)).catch(() => null)));
  return {
    stamp: stats.map((s) => (s ? `${s.mtimeMs}:${s.size}` : "-")).join(),
    bytes: stats.reduce((sum, s) => sum + (s?.size ?? 0), 0),
  };
}
