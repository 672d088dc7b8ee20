import { mkdirSync, realpathSync } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Log } from "#shared/kit/log.ts";
import { OWN_DIR, tightenMode } from "#shared/kit/own-dir.ts";
import { putBatch } from "./fs-batch.ts";
import { listKeys } from "./fs-list.ts";
import { createPlaces } from "./fs-place.ts";
import { streamFile } from "./fs-read.ts";
import { openTempDir } from "./fs-temp.ts";
import { writeBody } from "./fs-write.ts";
import { keySegments } from "./object-keys.ts";
import type { ObjectStore } from "./objects.ts";
import { isMissing, toPutError } from "./put-error.ts";

/** Size of a probe's file; a full disk has less space in its free corners. */
const PROBE_BYTES = 256 * 1024;

/** Wherever it lies, others must not read what pages showed. Where another user owns it, that user decides. */
function closeStore(root: string, log: Log): void {
  mkdirSync(root, { recursive: true, mode: OWN_DIR });
  try {
    const changed = tightenMode(realpathSync(root), OWN_DIR);
    if (changed)
      log.warn({ changed }, "others could read the object store: their access was removed");
  } catch (err) {
    log.warn(
      { root, err: err instanceof Error ? err.message : err },
      "the object store may be open to other users: its permissions cannot be changed",
    );
  }
}

interface Deletions {
  pathOf(key: string): string;
  prune(from: string): Promise<void>;
  /** A path for objects that are being deleted. */
  trash(): string;
}

function deletions({
  pathOf,
  prune,
  trash,
}: Deletions): Pick<ObjectStore, "delete" | "deletePrefix"> {
  return {
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
      // The objects are gone in one step for every reader; the files are removed afterwards, by the next start if need
      // be.
      const gone = trash();
      try {
        await rename(path, gone);
      } catch (err) {
        if (isMissing(err)) return;
        throw err;
      }
      await rm(gone, { recursive: true, force: true });
      await prune(dirname(path));
    },
  };
}

/** The object store on disk: the object `a/b` is the file `<dir>/a/b`. */
export async function openFsObjects(dir: string, { log }: { log: Log }): Promise<ObjectStore> {
  const root = resolve(dir);
  closeStore(root, log);
  const temp = await openTempDir(root, log);
  const pathOf = (key: string): string => join(root, ...keySegments(key));

  const { move, place, prune, syncPlaced } = createPlaces(root);

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
        // A read-only store's error here must not hide the reason.
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
    ...deletions({ pathOf, prune, trash: temp.path }),
    list: async (prefix) => listKeys(pathOf(prefix), prefix),
    probe: async () => {
      const path = temp.path();
      try {
        // A hub of an older version, on another machine, removes it as a leftover when it starts.
        await temp.ensure();
        await writeBody(path, new Uint8Array(PROBE_BYTES), {});
        await rm(path, { force: true });
      } catch (err) {
        throw toPutError(err, "probe");
      }
    },
    close: () => temp.close(),
  };
}
