import { afterAll, afterEach, describe, expect, test } from "bun:test";
import type { ObjectStore } from "#hub/platform/stores/objects.ts";
import {
  bytes,
  contentOf,
  errorOf,
  objectStores,
  type StoreKind,
  s3Stores,
  sha256,
  streamOf,
} from "#test/support/servers/objects.ts";

const all = { fs: objectStores(), s3: s3Stores() };
const kinds: StoreKind[] = ["fs", "s3"];
const times = (n: number) => Array.from({ length: n }, (_, i) => i);

afterEach(async () => {
  for (const kind of kinds) await all[kind].closeAll();
});
afterAll(async () => {
  for (const kind of kinds) await all[kind].remove();
});

describe.each(kinds)("%s: a put that is refused or fails leaves nothing behind", (kind) => {
  const { open } = all[kind];
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
      const { store, left } = await open();
      for (const source of [() => body, () => streamOf(body.slice(0, 2), body.slice(2))]) {
        await store.put("k", bytes("before"));
        expect(await errorOf(store.put("k", source(), options()))).toMatchObject(error);
        expect(await errorOf(store.put("new/k", source(), options()))).toMatchObject(error);
        expect(await contentOf(store, "k")).toEqual(bytes("before"));
        expect(await left()).toEqual(["k"]);
      }
    });

  test("exactly max_bytes, the announced size and the announced sha256 in upper case are fine", async () => {
    const { store } = await open();
    const options = { max_bytes: 5, size: 5, sha256: sha256(body).toUpperCase() };
    expect((await store.put("k", body, options)).size).toBe(5);
  });

  test("a stream that breaks off half-way is a bad request", async () => {
    const { store, left } = await open();
    const broken = () => streamOf(new Uint8Array(600_000), new Error("connection reset"));
    expect(await errorOf(store.put("a/k", broken()))).toMatchObject({ kind: "bad_request" });
    expect(await left()).toEqual([]);
  });

  test("an abort while the source says nothing ends the put and the source", async () => {
    const { store, left } = await open();
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
    expect(await left()).toEqual([]);
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
    const { store, left } = await open();
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
    expect(await left()).toEqual([]);
    await server.stop(true);
  });

  test("30 puts of one key at once: each reader sees one of them whole", async () => {
    const { store, left } = await open();
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
    expect(await left()).toEqual(["k"]);
  });
});
