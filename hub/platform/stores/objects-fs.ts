import { mkdirSync, realpathSync } from "node:fs";
import { readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Log } from "#shared/kit/log.ts";
import { OWN_DIR, tightenMode } from "#shared/kit/own-dir.ts";
import { putBatch } from "./fs-batch.ts";
import { streamFile } from "./fs-read.ts";
import { createDirSync, makeDir } from "./fs-sync.ts";
import { openTempDir } from "./fs-temp.ts";
import { writeBody } from "./fs-write.ts";
import { keySegments } from "./object-keys.ts";
import type { ObjectStore } from "./objects.ts";
import { codeOf, toPutError } from "./put-error.ts";

/** A directory can vanish between its creation and the rename into it when its last object was just deleted. */
const PLACE_TRIES = 10;

/** Of a probe's file; what lies in free corners of a disk that is full is less. */
const PROBE_BYTES = 256 * 1024;

const isMissing = (err: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(codeOf(err));

/** Wherever it lies: what pages showed is nobody else's to read. Where another user owns it, that is theirs to say. */
function closeStore(root: string, log: Log): void {
  mkdirSync(root, { recursive: true, mode: OWN_DIR });
  try {
    const changed = tightenMode(realpathSync(root), OWN_DIR);
    if (changed) log.warn({ changed }, "others could read the object store: it was closed to them");
  } catch (err) {
    log.warn(
      { root, err: err instanceof Error ? err.message : err },
      "the object store may be open to other users: its permissions cannot be changed",
    );
  }
}

/** The object store on disk: the object `a/b` is the file `<dir>/a/b`. */
export async function openFsObjects(dir: string, { log }: { log: Log }): Promise<ObjectStore> {
  const root = resolve(dir);
  closeStore(root, log);
  const temp = await openTempDir(root, log);
  const syncDir = createDirSync();
  const pathOf = (key: string): string => join(root, ...keySegments(key));

  const move = async (from: string, to: string): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      try {
        // Nearly always the directory is there.
        if (tries > 1) await makeDir(dirname(to), syncDir);
        return await rename(from, to);
      } catch (err) {
        if (codeOf(err) !== "ENOENT" || tries >= PLACE_TRIES) throw err;
      }
    }
  };
  const syncPlaced = (dir: string): Promise<void> =>
    syncDir(dir).catch((err: unknown) => {
      // Placed and already deleted by somebody else.
      if (!isMissing(err)) throw err;
    });
  const place = async (from: string, to: string): Promise<void> => {
    await move(from, to);
    await syncPlaced(dirname(to));
  };
  /** Removes directories that became empty, upwards. */
  const prune = async (from: string): Promise<void> => {
    for (let empty = from; empty !== root && empty.startsWith(root); empty = dirname(empty)) {
      try {
        await rmdir(empty);
      } catch (err) {
        if (!isMissing(err)) return;
      }
    }
  };

  return {
    put: async (key, body, options = {}) => {
      const path = temp.path();
      try {
        const target = pathOf(key);
        const info = await writeBody(path, body, options);
        await options.confirm?.();
        await place(path, target);
        return info;
      } catch (err) {
        // What a read-only store says to this must not hide why.
        await rm(path, { force: true }).catch(() => {});
        if (body instanceof ReadableStream && !body.locked) await body.cancel(err).catch(() => {});
        throw toPutError(err, key);
      }
    },
    putMany: (objects, confirm) =>
      putBatch({ path: temp.path, pathOf, move, syncPlaced }, objects, confirm),
    stat: async (key) => {
      try {
        const found = await stat(pathOf(key));
        if (!found.isFile()) return null;
        const { size, mtimeMs, ino } = found;
        return { size, tag: `${ino.toString(36)}-${Math.round(mtimeMs * 1_000).toString(36)}` };
      } catch (err) {
        if (isMissing(err)) return null;
        throw err;
      }
    },
    read: async (key, range) => {
      const path = pathOf(key);
      try {
        return await streamFile(path, range);
      } catch (err) {
        if (isMissing(err)) return null;
        throw err;
      }
    },
    localFile: async (key) => {
      const path = pathOf(key);
      const found = await stat(path).catch(() => null);
      return found?.isFile() ? Bun.file(path) : null;
    },
    delete: async (key) => {
      const path = pathOf(key);
      const found = await stat(path).catch(() => null);
      if (!found?.isFile()) return;
      await rm(path, { force: true });
      await prune(dirname(path));
    },
    deletePrefix: async (prefix) => {
      const path = pathOf(prefix);
      const found = await stat(path).catch(() => null);
      if (!found?.isDirectory()) return;
      // Gone in one step for every reader; the files themselves are removed afterwards, by the next start if need be.
      const trash = temp.path();
      try {
        await rename(path, trash);
      } catch (err) {
        if (isMissing(err)) return;
        throw err;
      }
      await rm(trash, { recursive: true, force: true });
      await prune(dirname(path));
    },
    list: async (prefix) => {
      const keys: string[] = [];
      const walk = async (path: string, key: string): Promise<void> => {
        const entries = await readdir(path, { withFileTypes: true }).catch((err: unknown) => {
          if (isMissing(err)) return [];
          throw err;
        });
        for (const entry of entries) {
          if (entry.isDirectory()) await walk(join(path, entry.name), `${key}/${entry.name}`);
          else keys.push(`${key}/${entry.name}`);
        }
      };
      await walk(pathOf(prefix), prefix);
      return keys.sort();
    },
    probe: async () => {
      const path = temp.path();
      try {
        await writeBody(path, new Uint8Array(PROBE_BYTES), {});
        await rm(path, { force: true });
      } catch (err) {
        throw toPutError(err, "probe");
      }
    },
    close: () => temp.close(),
  };
}
