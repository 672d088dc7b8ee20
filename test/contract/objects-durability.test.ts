import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { openObjects } from "#hub/platform/stores/open-objects.ts";
import { toPutError } from "#hub/platform/stores/put-error.ts";
import { silentLog } from "#shared/kit/log.ts";
import { bytes, contentOf, errorOf, filesIn, objectStores } from "#test/support/servers/objects.ts";

const stores = objectStores();
const { base, open } = stores;
const times = (n: number) => Array.from({ length: n }, (_, i) => i);

afterEach(stores.closeAll);
afterAll(stores.remove);

test("a full disk is told as unavailable (503), anything unknown as it was", () => {
  for (const code of ["ENOSPC", "EDQUOT"])
    expect(toPutError(Object.assign(new Error("no space"), { code }), "k")).toMatchObject({
      kind: "unavailable",
      status: 503,
      message: "the disk of the object store is full",
    });
  const other = new Error("other");
  expect(toPutError(other, "k")).toBe(other);
});

describe("all or nothing", () => {
  test("kill -9 in the middle of put leaves whole objects under final names, and the next start sweeps the rest", async () => {
    const dir = join(base, "store-killed");
    const size = 2_000_000;
    for (const round of times(6)) {
      const child = Bun.spawn(
        [
          process.execPath,
          join(import.meta.dir, "../support/clients/put-endlessly.ts"),
          dir,
          "jobs/k",
          String(size),
        ],
        { stdout: "pipe" },
      );
      const reader = child.stdout.getReader();
      // Each round is killed after another number of versions, at whatever byte the next one has reached by then.
      for (const _ of times(round + 1)) await reader.read();
      child.kill("SIGKILL");
      await child.exited;
      const { store } = await open(dir);
      const body = (await contentOf(store, "jobs/k")) ?? bytes("");
      expect(body.length).toBe(size);
      expect(new Set(body).size).toBe(1);
      expect(filesIn(dir)).toEqual(["jobs/k"]);
      await store.close();
    }
  }, 180_000);

  test("opening a store does not disturb the puts of another one on the same directory", async () => {
    const { store, dir } = await open();
    const gate = Promise.withResolvers<void>();
    const slow = new ReadableStream<Uint8Array>({
      start: async (controller) => {
        controller.enqueue(bytes("first "));
        await gate.promise;
        controller.enqueue(bytes("second"));
        controller.close();
      },
    });
    const put = store.put("k", slow);
    const { store: other } = await open(dir);
    gate.resolve();
    await put;
    expect(await contentOf(other, "k")).toEqual(bytes("first second"));
  });

  /** Half a body of a process, `PID-…@MACHINE`. */
  const leave = (dir: string, name: string): string => {
    const left = join(dir, ".tmp", name);
    mkdirSync(left, { recursive: true });
    writeFileSync(join(left, "1"), "half");
    return left;
  };
  /** Above what Linux gives. */
  const DEAD = 5_000_000;

  test("what earlier processes of this machine left is swept, also of the same pid (pid 1 in a container)", async () => {
    const dir = join(base, "store-earlier");
    const left = [process.pid, DEAD].map((pid) => leave(dir, `${pid}-left@${hostname()}`));
    await open(dir);
    expect(left.filter((path) => existsSync(path))).toEqual([]);
  });

  test("another machine's process keeps its directory, and loses what is too old to be on its way", async () => {
    const dir = join(base, "store-shared");
    // The second one is of a version that did not name its machine.
    for (const name of [`${DEAD}-left@elsewhere`, `${DEAD}-left`, `${process.pid}-left`]) {
      const left = leave(dir, name);
      writeFileSync(join(left, "2"), "of last month");
      const then = Date.now() / 1_000 - 30 * 86_400;
      utimesSync(join(left, "2"), then, then);
      await open(dir);
      expect(readdirSync(left)).toEqual(["1"]);
    }
  });

  test("a scratch directory that somebody has removed is back with the next probe", async () => {
    const { store, dir } = await open(join(base, "store-without-scratch"));
    rmSync(join(dir, ".tmp"), { recursive: true });
    expect(await errorOf(store.put("k", bytes("lost")))).toMatchObject({ code: "ENOENT" });
    await store.probe();
    await store.put("k", bytes("kept"));
    expect(await contentOf(store, "k")).toEqual(bytes("kept"));
  });
});

describe("directories", () => {
  test("an object cannot lie below or above another object", async () => {
    const { store, dir } = await open();
    await store.put("a/b", bytes("x"));
    expect(await errorOf(store.put("a/b/c", bytes("y")))).toMatchObject({ kind: "conflict" });
    expect(await errorOf(store.put("a", bytes("y")))).toMatchObject({ kind: "conflict" });
    expect(filesIn(dir)).toEqual(["a/b"]);
  });

  test("a refused put and a delete leave no empty folder", async () => {
    const { store, dir } = await open();
    const confirm = () => Promise.reject(new Error("not any more"));
    expect(String(await errorOf(store.put("b/new", bytes("new"), { confirm })))).toContain(
      "not any",
    );
    await store.put("a/b/c", bytes("x"));
    await store.delete("a/b/c");
    await store.put("jobs/1/deep/b", bytes("x"));
    await store.deletePrefix("jobs/1");
    expect(readdirSync(dir)).toEqual([".tmp"]);
  });

  test("no key leads out of the store's own", async () => {
    const { store, dir } = await open();
    for (const key of ["../out", "a/../../out", "/etc/out", "a\\..\\out", ".tmp/x"])
      expect(await errorOf(store.put(key, bytes("x")))).toMatchObject({ kind: "bad_request" });
    expect(readdirSync(base).filter((name) => !name.startsWith("store-"))).toEqual([]);
    expect(filesIn(dir)).toEqual([]);
  });
});

describe("SVC_OBJECTS_URL", () => {
  test("a directory that cannot be made is an error naming the variable", async () => {
    const { store, dir } = await open();
    await store.put("file", bytes("x"));
    const failed = await errorOf(openObjects(`file:${dir}/file/below`, { log: silentLog }));
    expect(String(failed)).toMatch(/^ConfigError: SVC_OBJECTS_URL: cannot use .*file.below/);
  });

  test("anything but file: and s3: is refused as unknown", async () => {
    for (const url of ["", "ftp://x", "file:", "/bare/path"])
      expect(String(await errorOf(openObjects(url, { log: silentLog })))).toMatch(
        /^ConfigError: SVC_OBJECTS_URL: .* not supported/,
      );
  });
});
