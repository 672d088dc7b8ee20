import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ObjectStore } from "#hub/stores/objects.ts";
import { toPutError } from "#hub/stores/put-error.ts";
import {
  bytes,
  contentOf,
  errorOf,
  filesIn,
  objectStores,
  sha256,
  streamOf,
} from "#test/support/objects.ts";

const stores = objectStores();
const { base, open } = stores;
const times = (n: number) => Array.from({ length: n }, (_, i) => i);

afterEach(stores.closeAll);
afterAll(stores.remove);

describe("a put that is refused or fails leaves nothing behind", () => {
  const body = bytes("hello");
  const cases: [string, () => Parameters<ObjectStore["put"]>[2], object][] = [
    ["another size", () => ({ size: 4 }), { kind: "invalid" }],
    ["another sha256", () => ({ sha256: "0".repeat(64) }), { kind: "invalid" }],
    ["more than max_bytes", () => ({ max_bytes: 4 }), { kind: "too_large" }],
    [
      "an aborted signal",
      () => ({ signal: AbortSignal.abort(new Error("gave up")) }),
      { message: "gave up" },
    ],
  ];
  for (const [name, options, error] of cases)
    test(`${name}: the object before stays`, async () => {
      const { store, dir } = await open();
      for (const source of [() => body, () => streamOf(body.slice(0, 2), body.slice(2))]) {
        await store.put("k", bytes("before"));
        expect(await errorOf(store.put("k", source(), options()))).toMatchObject(error);
        expect(await errorOf(store.put("new/k", source(), options()))).toMatchObject(error);
        expect(await contentOf(store, "k")).toEqual(bytes("before"));
        expect(filesIn(dir)).toEqual(["k"]);
      }
    });

  test("exactly max_bytes, the announced size and the announced sha256 in upper case are fine", async () => {
    const { store } = await open();
    const options = { max_bytes: 5, size: 5, sha256: sha256(body).toUpperCase() };
    expect((await store.put("k", body, options)).size).toBe(5);
  });

  test("a stream that breaks off half-way is a bad request", async () => {
    const { store, dir } = await open();
    const broken = () => streamOf(new Uint8Array(600_000), new Error("connection reset"));
    expect(await errorOf(store.put("a/k", broken()))).toMatchObject({ kind: "bad_request" });
    expect(filesIn(dir)).toEqual([]);
  });

  test("an abort while the source says nothing ends the put and the source", async () => {
    const { store, dir } = await open();
    const abort = new AbortController();
    const cancelled = Promise.withResolvers<unknown>();
    const started = Promise.withResolvers<void>();
    const silent = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(10)),
      pull: () => {
        started.resolve();
        return new Promise<void>(() => {});
      },
      cancel: cancelled.resolve,
    });
    const put = errorOf(store.put("k", silent, { signal: abort.signal }));
    await started.promise;
    abort.abort(new Error("client left"));
    expect(await put).toMatchObject({ message: "client left" });
    expect(await cancelled.promise).toMatchObject({ message: "client left" });
    expect(filesIn(dir)).toEqual([]);
  });

  test("a source longer than max_bytes is told to stop", async () => {
    const { store } = await open();
    const cancelled = Promise.withResolvers<void>();
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1_000)),
      cancel: () => cancelled.resolve(),
    });
    expect(await errorOf(store.put("k", endless, { max_bytes: 10_000 }))).toMatchObject({
      kind: "too_large",
    });
    await cancelled.promise;
  });

  test("a request body that the client cuts off half-way", async () => {
    const { store, dir } = await open();
    const outcome = Promise.withResolvers<unknown>();
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        outcome.resolve(
          await errorOf(
            store.put("k", request.body ?? new Uint8Array(0), { signal: request.signal }),
          ),
        );
        return new Response("done");
      },
    });
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: server.port ?? 0,
      socket: { data() {} },
    });
    socket.write("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n");
    socket.write(new Uint8Array(300_000));
    socket.end();
    expect(await outcome.promise).toBeInstanceOf(Error);
    expect(filesIn(dir)).toEqual([]);
    await server.stop(true);
  });
});

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
  test("30 puts of one key at once: each reader sees one of them whole", async () => {
    const { store, dir } = await open();
    const version = (i: number) => new Uint8Array(200_000 + i).fill(i);
    await store.put("k", version(0));
    const isWhole = async () => {
      const body = (await contentOf(store, "k")) ?? bytes("");
      const i = body[0] ?? -1;
      return body.length === 200_000 + i && body.every((byte) => byte === i);
    };
    const puts = Promise.all(
      times(30).map((i) =>
        store.put("k", streamOf(version(i).slice(0, 100_000), version(i).slice(100_000))),
      ),
    );
    const reads = Promise.all(times(30).map(isWhole));
    await puts;
    expect((await reads).every(Boolean)).toBe(true);
    expect(await isWhole()).toBe(true);
    expect(filesIn(dir)).toEqual(["k"]);
  });

  test("kill -9 in the middle of put leaves whole objects under final names, and the next start sweeps the rest", async () => {
    const dir = join(base, "store-killed");
    const size = 2_000_000;
    for (const round of times(6)) {
      const child = Bun.spawn(
        [
          process.execPath,
          join(import.meta.dir, "../support/put-endlessly.ts"),
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
  }, 60_000);

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

  test("what an earlier process of the same pid left is swept (pid 1 in a container)", async () => {
    const dir = join(base, "store-same-pid");
    const left = join(dir, ".tmp", `${process.pid}-left`);
    mkdirSync(left, { recursive: true });
    writeFileSync(join(left, "1"), "half");
    await open(dir);
    expect(existsSync(left)).toBe(false);
  });
});
