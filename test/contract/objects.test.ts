import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { ObjectStore } from "#hub/stores/objects.ts";
import { openObjects } from "#hub/stores/open-objects.ts";
import { silentLog } from "#shared/log.ts";
import { isSafeName } from "#shared/names.ts";

const base = mkdtempSync(join(tmpdir(), "flotilla-objects-"));
const opened: ObjectStore[] = [];
let stores = 0;

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});
afterAll(() => rmSync(base, { recursive: true }));

const newDir = () => {
  stores += 1;
  return join(base, `store-${stores}`);
};

async function open(dir = newDir()): Promise<{ store: ObjectStore; dir: string }> {
  const store = await openObjects(`file:${dir}`, { log: silentLog });
  opened.push(store);
  return { store, dir };
}

const times = (n: number) => Array.from({ length: n }, (_, i) => i);
const bytes = (text: string) => new TextEncoder().encode(text);
const sha256 = (body: Uint8Array) => createHash("sha256").update(body).digest("hex");
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "no error",
    (err: unknown) => err,
  );
/** Every file below the store's directory, temporary ones too. */
const files = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1));

const openFiles = () => readdirSync("/proc/self/fd").length;

const streamOf = (...chunks: (Uint8Array | Error)[]) => {
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
};
async function contentOf(store: ObjectStore, key: string, range?: { start: number; end: number }) {
  const stream = await store.read(key, range);
  return stream && new Uint8Array(await new Response(stream).arrayBuffer());
}

describe("put and read", () => {
  test("a body comes back as it was, from bytes and from a stream, with its size and sha256", async () => {
    const { store } = await open();
    const body = new Uint8Array(1_000_003).map((_, i) => (i * 31) % 251);
    const info = { size: body.length, sha256: sha256(body) };
    expect(await store.put("a/bytes", body)).toEqual(info);
    expect(
      await store.put(
        "a/stream",
        streamOf(
          body.slice(0, 10),
          body.slice(10, 700_000),
          new Uint8Array(0),
          body.slice(700_000),
        ),
      ),
    ).toEqual(info);
    for (const key of ["a/bytes", "a/stream"]) {
      expect(await store.stat(key)).toEqual({ size: body.length });
      expect(sha256((await contentOf(store, key)) ?? bytes(""))).toBe(info.sha256);
    }
  });

  test("an empty body is an object", async () => {
    const { store } = await open();
    expect(await store.put("empty", streamOf())).toEqual({ size: 0, sha256: sha256(bytes("")) });
    expect(await contentOf(store, "empty")).toEqual(bytes(""));
  });

  test("ranges name both ends, and end at the end of the object", async () => {
    const { store } = await open();
    await store.put("r", bytes("0123456789"));
    const part = async (start: number, end: number) =>
      new TextDecoder().decode((await contentOf(store, "r", { start, end })) ?? undefined);
    expect([await part(0, 0), await part(3, 5), await part(8, 99), await part(10, 20)]).toEqual([
      "0",
      "345",
      "89",
      "",
    ]);
    for (const [start, end] of [
      [-1, 2],
      [3, 2],
      [0.5, 2],
    ] as const)
      expect(await errorOf(store.read("r", { start, end }))).toMatchObject({ kind: "bad_request" });
  });

  test("any range of any body is that part of it", async () => {
    const { store } = await open();
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 2_000 }),
        fc.nat(2_100),
        fc.nat(2_100),
        async (body, a, b) => {
          await store.put("any", body);
          const [start, end] = [Math.min(a, b), Math.max(a, b)];
          expect(await contentOf(store, "any", { start, end })).toEqual(body.slice(start, end + 1));
        },
      ),
      { numRuns: 50 },
    );
  });

  test("what is not there is null, a folder too", async () => {
    const { store } = await open();
    await store.put("a/b/c", bytes("x"));
    for (const key of ["nope", "a", "a/b", "a/b/c/d"]) {
      expect(await store.stat(key)).toBeNull();
      expect(await store.read(key)).toBeNull();
    }
  });

  test("a reader keeps the object it opened while it is replaced and deleted", async () => {
    const { store } = await open();
    await store.put("k", bytes("old"));
    const first = await store.read("k");
    await store.put("k", bytes("new one"));
    const second = await store.read("k");
    await store.delete("k");
    expect(await new Response(first).text()).toBe("old");
    expect(await new Response(second).text()).toBe("new one");
  });

  test("a stream given up half-way closes its file", async () => {
    const { store } = await open();
    await store.put("k", new Uint8Array(2_000_000));
    const before = openFiles();
    for (const _ of times(50)) {
      const reader = (await store.read("k"))?.getReader();
      await reader?.read();
      await reader?.cancel();
    }
    expect(openFiles()).toBeLessThan(before + 10);
  });

  test("a stream that is never read neither keeps its file open nor breaks anything", async () => {
    const { store } = await open();
    await store.put("k", new Uint8Array(100));
    const before = openFiles();
    for (const _ of times(100)) await store.read("k");
    // Which streams a collection finds is up to the engine; most of them within a few rounds.
    for (let round = 0; round < 100 && openFiles() >= before + 75; round += 1) {
      Bun.gc(true);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(openFiles()).toBeLessThan(before + 75);
  });
});

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
        expect(files(dir)).toEqual(["k"]);
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
    expect(files(dir)).toEqual([]);
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
    expect(files(dir)).toEqual([]);
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
    expect(files(dir)).toEqual([]);
    await server.stop(true);
  });
});

describe("keys", () => {
  test("made of safe names only: anything else is a bad request and touches nothing (fast-check)", async () => {
    const { store, dir } = await open();
    const outside = join(base, "outside");
    mkdirSync(outside);
    const piece = fc.constantFrom(
      "..",
      ".",
      "",
      "a",
      "/",
      "\\",
      "\0",
      "~",
      "%2e%2e",
      ".tmp",
      "C:",
      "con",
      "ü",
      "\n",
      " ",
      "x".repeat(300),
    );
    const key = fc.oneof(
      fc.array(piece, { maxLength: 6 }).map((parts) => parts.join("/")),
      fc.array(piece, { maxLength: 6 }).map((parts) => parts.join("")),
      fc.string({ unit: "binary", maxLength: 60 }),
    );
    await fc.assert(
      fc.asyncProperty(key, async (hostile) => {
        const fine = hostile.split("/").every(isSafeName) && Buffer.byteLength(hostile) <= 1_024;
        const results = await Promise.all([
          errorOf(store.put(hostile, bytes("x"))),
          errorOf(store.stat(hostile)),
          errorOf(store.read(hostile)),
          errorOf(store.list(hostile)),
          errorOf(store.delete(hostile)),
          errorOf(store.deletePrefix(hostile)),
        ]);
        if (!fine)
          for (const result of results) expect(result).toMatchObject({ kind: "bad_request" });
        else for (const result of results.slice(1)) expect(result).toBe("no error");
      }),
      { numRuns: 400 },
    );
    expect(existsSync(outside)).toBe(true);
    expect(readdirSync(base).filter((name) => !name.startsWith("store-"))).toEqual(["outside"]);
    for (const file of files(dir)) expect(file.split("/").every(isSafeName)).toBe(true);
  });

  test("an object cannot lie below or above another object", async () => {
    const { store, dir } = await open();
    await store.put("a/b", bytes("x"));
    expect(await errorOf(store.put("a/b/c", bytes("y")))).toMatchObject({ kind: "conflict" });
    expect(await errorOf(store.put("a", bytes("y")))).toMatchObject({ kind: "conflict" });
    expect(files(dir)).toEqual(["a/b"]);
  });
});

describe("list and delete", () => {
  test("list is sorted, deep, and only below the prefix", async () => {
    const { store } = await open();
    for (const key of ["jobs/1/b", "jobs/1/a/z", "jobs/10/a", "jobs/1.x", "other"])
      await store.put(key, bytes(key));
    expect(await store.list("jobs/1")).toEqual(["jobs/1/a/z", "jobs/1/b"]);
    expect(await store.list("jobs")).toEqual(["jobs/1.x", "jobs/1/a/z", "jobs/1/b", "jobs/10/a"]);
    expect(await store.list("nothing")).toEqual([]);
    expect(await store.list("other")).toEqual([]);
  });

  test("deletePrefix takes everything below, nothing beside, and prunes empty folders", async () => {
    const { store, dir } = await open();
    for (const key of ["jobs/1/a", "jobs/1/deep/b", "jobs/12/a"]) await store.put(key, bytes("x"));
    await store.deletePrefix("jobs/1");
    await store.deletePrefix("jobs/1");
    expect(await store.list("jobs")).toEqual(["jobs/12/a"]);
    await store.deletePrefix("jobs/12/a");
    expect(await store.list("jobs")).toEqual(["jobs/12/a"]);
    await store.deletePrefix("jobs/12");
    expect(readdirSync(dir)).toEqual([".tmp"]);
  });

  test("delete prunes empty folders and is fine for what is not there", async () => {
    const { store, dir } = await open();
    await store.put("a/b/c", bytes("x"));
    await store.delete("a/b");
    await store.delete("a/x");
    expect(await store.list("a")).toEqual(["a/b/c"]);
    await store.delete("a/b/c");
    expect(readdirSync(dir)).toEqual([".tmp"]);
  });

  test("puts into a folder that is deleted again and again all succeed", async () => {
    const { store } = await open();
    const puts = times(100).map((i) => store.put(`jobs/x/${i}`, bytes(String(i))));
    const deletes = times(30).map(() => store.deletePrefix("jobs/x"));
    await Promise.all([...puts, ...deletes]);
    await store.put("jobs/x/last", bytes("last"));
    for (const key of await store.list("jobs/x"))
      expect(await contentOf(store, key)).not.toBeNull();
  });
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
    expect(files(dir)).toEqual(["k"]);
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
      expect(files(dir)).toEqual(["jobs/k"]);
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

describe("SVC_OBJECTS_URL", () => {
  test("s3 is refused clearly in this version, anything else as unknown", async () => {
    const open = (url: string) => errorOf(openObjects(url, { log: silentLog }));
    expect(String(await open("s3://bucket"))).toMatch(
      /^ConfigError: SVC_OBJECTS_URL: this version keeps objects on disk/,
    );
    for (const url of ["", "ftp://x", "file:", "/bare/path"])
      expect(String(await open(url))).toMatch(/^ConfigError: SVC_OBJECTS_URL: .* not supported/);
  });
});
