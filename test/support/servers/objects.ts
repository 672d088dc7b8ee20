import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadHubConfig } from "#hub/platform/config.ts";
import type { ObjectStore } from "#hub/platform/stores/objects.ts";
import { openObjects } from "#hub/platform/stores/open-objects.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startS3, type TestS3 } from "./s3.ts";

export type StoreKind = "fs" | "s3";

export interface OpenStore {
  store: ObjectStore;
  /** Its directory; "" for one in a bucket. */
  dir: string;
  /** Everything that lies there, with what is half there: temporary files, uploads in parts that are open. */
  left(): Promise<string[]>;
}

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
    open: async (dir = newDir()): Promise<OpenStore> => {
      const store = await openObjects(`file:${dir}`, { log: silentLog });
      opened.push(store);
      return { store, dir, left: async () => filesIn(dir) };
    },
    closeAll: async () => {
      for (const store of opened.splice(0)) await store.close();
    },
    remove: async () => rmSync(base, { recursive: true }),
  };
}

/** The same on an S3 server of their own, each below a prefix of its own. */
export function s3Stores() {
  const opened: ObjectStore[] = [];
  let server: Promise<TestS3> | undefined;
  let count = 0;
  const start = () => {
    server ??= startS3();
    return server;
  };
  const openAt = async (prefix: string) => {
    const { SVC_OBJECTS_URL = "", ...env } = (await start()).env(prefix);
    const { object_keys: keys } = loadHubConfig({ ...env, SVC_OBJECTS_URL });
    const store = await openObjects(SVC_OBJECTS_URL, { log: silentLog, keys });
    opened.push(store);
    return store;
  };
  return {
    server: start,
    open: async (): Promise<OpenStore> => {
      count += 1;
      const prefix = `store-${count}`;
      const [store, whole] = [await openAt(prefix), await openAt("")];
      const left = async () => {
        const { uploads, tidy } = await (await start()).state();
        const keys = await whole.list(prefix);
        const half = uploads.map((key) => `upload of ${key}`);
        return [
          ...keys.map((key) => key.slice(prefix.length + 1)),
          ...half,
          ...(tidy ? [] : ["bodies"]),
        ];
      };
      return { store, dir: "", left };
    },
    closeAll: async () => {
      for (const store of opened.splice(0)) await store.close();
    },
    remove: async () => (await server)?.stop(),
  };
}

/** Keys below a prefix of a hub's store, without it. */
export const storedBelow = async (
  hub: { ctx: { objects: ObjectStore } },
  prefix: string,
): Promise<string[]> =>
  (await hub.ctx.objects.list(prefix)).map((key) => key.slice(prefix.length + 1));

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
  store: Pick<ObjectStore, "read">,
  key: string,
  range?: { start: number; end: number },
): Promise<Uint8Array | null> {
  const stream = await store.read(key, range);
  return stream && new Uint8Array(await new Response(stream).arrayBuffer());
}
