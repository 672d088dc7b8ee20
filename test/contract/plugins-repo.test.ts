import { describe, expect, test } from "bun:test";
import { eachDialect } from "#test/support/servers/db.ts";

const state = (value: unknown, updated_at = 5, key = "k") => ({
  slug: "p",
  key,
  value,
  updated_at,
});
const blob = (object_key: string, key = "k") => ({
  slug: "p",
  key,
  object_key,
  mime: "image/png",
  size: 3,
  sha256: "0".repeat(64),
  updated_at: 5,
});

eachDialect((open) => {
  describe("plugin state (rules/pipeline-plugins#state)", () => {
    test("keeps any JSON value with its type, also null, and tells when there is none", async () => {
      const { plugins } = await open();
      expect(await plugins.getState("p", "k")).toBeNull();
      for (const value of [null, "123", "true", "", 0, false, [], { a: [null, "x", 1.5] }]) {
        await plugins.putState(state(value));
        expect((await plugins.getState("p", "k"))?.value).toEqual({ value });
      }
    });

    test("keys are told apart by plugin, case and slashes", async () => {
      const { plugins } = await open();
      const keys = ["a/b", "a%2Fb", "A/b", "a/b/", "ä", "💥", "' or 1=1"];
      for (const key of keys) await plugins.putState(state(key, 1, key));
      await plugins.putState({ ...state("other", 1, "a/b"), slug: "q" });
      for (const key of keys)
        expect((await plugins.getState("p", key))?.value).toEqual({ value: key });
    });

    test("the version grows with every write, also when the clock stands still or went back", async () => {
      const { plugins } = await open();
      const versions: (number | undefined)[] = [];
      for (const now of [5, 5, 3, 100])
        versions.push((await plugins.putState(state(now, now)))?.updated_at);
      expect(versions).toEqual([5, 6, 7, 100]);
    });

    test("of 20 writers that expect the same version one wins, and of 20 that expect none one", async () => {
      const { plugins } = await open();
      const race = async (expected: number | null) => {
        const writers = Array.from({ length: 20 }, (_, i) =>
          plugins.putState(state(i, 10), expected),
        );
        return (await Promise.all(writers)).filter((row) => row !== null);
      };
      const [first, ...others] = await race(null);
      expect(others).toEqual([]);
      const again = await race(first?.updated_at ?? 0);
      expect(again).toHaveLength(1);
      expect(await plugins.getState("p", "k")).toEqual(again[0] ?? null);
    });

    test("keys are listed in pages, those of one plugin, with a prefix taken as it is", async () => {
      const { plugins } = await open();
      for (const key of ["a/1", "a/2", "a/3", "b", "a%", "A/4"])
        await plugins.putState(state(1, 1, key));
      await plugins.putState({ ...state(1, 1, "a/other"), slug: "q" });
      const keys = async (prefix: string, after: string | null, limit = 10) =>
        (await plugins.listState("p", { prefix, after, limit })).map(({ key }) => key);
      expect(await keys("a/", null)).toEqual(["a/1", "a/2", "a/3"]);
      expect(await keys("a/", "a/1", 1)).toEqual(["a/2"]);
      expect(await keys("a%", null)).toEqual(["a%"]);
      expect((await keys("", null)).sort()).toEqual(["A/4", "a%", "a/1", "a/2", "a/3", "b"]);
      expect(await keys("none", null)).toEqual([]);
    });

    test("delete tells whether there was one", async () => {
      const { plugins } = await open();
      await plugins.putState(state(1));
      expect(await plugins.deleteState("p", "other")).toBe(false);
      expect(await plugins.deleteState("p", "k")).toBe(true);
      expect(await plugins.deleteState("p", "k")).toBe(false);
    });
  });

  describe("plugin blobs (rules/pipeline-plugins#blobs)", () => {
    test("a blob is stored, replaced and deleted, each time telling the object that nobody needs any more", async () => {
      const { plugins } = await open();
      expect(await plugins.putBlob(blob("one"))).toBeNull();
      expect(await plugins.putBlob({ ...blob("two"), mime: "text/plain" })).toBe("one");
      expect(await plugins.getBlob("p", "k")).toEqual({ ...blob("two"), mime: "text/plain" });
      expect(await plugins.getBlob("p", "other")).toBeNull();
      await plugins.putBlob(blob("three", "k2"));
      expect((await plugins.blobObjects()).sort()).toEqual(["three", "two"]);
      expect(await plugins.deleteBlob("p", "k")).toBe("two");
      expect(await plugins.deleteBlob("p", "k")).toBeNull();
    });

    test("of 20 writers at once each object but the last is told to exactly one of them", async () => {
      const { plugins } = await open();
      const names = Array.from({ length: 20 }, (_, i) => `object-${i}`);
      const replaced = await Promise.all(names.map((name) => plugins.putBlob(blob(name))));
      const last = (await plugins.getBlob("p", "k"))?.object_key;
      const told = replaced.filter((name) => name !== null);
      expect([...told, last].sort()).toEqual([...names].sort());
    });
  });
});
