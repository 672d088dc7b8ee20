import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ObjectStore } from "#hub/stores/objects.ts";
import { openObjects } from "#hub/stores/open-objects.ts";
import { silentLog } from "#shared/log.ts";

/** Object stores on disk, each in a directory of its own below `base`. */
export function objectStores() {
  const base = mkdtempSync(join(tmpdir(), "flotilla-objects-"));
  const opened: ObjectStore[] = [];
  let count = 0;
  const newDir = () => {
    count += 1;
    return join(base, `store-${count}`);
  };
  return {
    base,
    open: async (dir = newDir()): Promise<{ store: ObjectStore; dir: string }> => {
      const store = await openObjects(`file:${dir}`, { log: silentLog });
      opened.push(store);
      return { store, dir };
    },
    closeAll: async () => {
      for (const store of opened.splice(0)) await store.close();
    },
    remove: () => rmSync(base, { recursive: true }),
  };
}

export const bytes = (text: string) => new TextEncoder().encode(text);
export const sha256 = (body: Uint8Array) => createHash("sha256").update(body).digest("hex");

/** What `promise` rejects with. */
export const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "no error",
    (err: unknown) => err,
  );

/** Every file below the store's directory, temporary ones too. */
export const filesIn = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1));

/** A body that comes in these chunks, or breaks off with the error among them. */
export function streamOf(...chunks: (Uint8Array | Error)[]): ReadableStream<Uint8Array> {
  const queue = [...chunks];
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const next = queue.shift();
        if (next === undefined) controller.close();
        else if (next instanceof Error) controller.error(next);
        else controller.enqueue(next);
      },
    },
    { highWaterMark: 0 },
  );
}

export async function contentOf(
  store: ObjectStore,
  key: string,
  range?: { start: number; end: number },
): Promise<Uint8Array | null> {
  const stream = await store.read(key, range);
  return stream && new Uint8Array(await new Response(stream).arrayBuffer());
}
