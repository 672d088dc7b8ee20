import { expect, test } from "bun:test";
import { eachDialect } from "#test/support/servers/db.ts";

const times = (n: number) => Array.from({ length: n }, (_, i) => i);
const profile = (name: string, created_at = 1) => ({
  name,
  size: 2 ** 31 + 5,
  files: 12,
  sha256: "a".repeat(64),
  source_browser: null,
  created_at,
  updated_at: created_at,
});

eachDialect((open) => {
  test("a profile is stored under its name; a second upload keeps created_at and the default (rules/profiles#upload-a-profile)", async () => {
    const db = await open();
    expect(await db.profiles.put(profile("work", 5))).toEqual({
      ...profile("work", 5),
      is_default: false,
    });
    await db.profiles.setDefault("work");
    const again = { ...profile("work", 9), sha256: "b".repeat(64), source_browser: "Chrome/156" };
    expect(await db.profiles.put(again)).toEqual({ ...again, created_at: 5, is_default: true });
    expect(await db.profiles.list()).toHaveLength(1);
  });

  test("the list is ordered by name; get and delete tell when there is none (rules/profiles#profile-record)", async () => {
    const db = await open();
    for (const name of ["b", "a", "c"]) await db.profiles.put(profile(name));
    expect((await db.profiles.list()).map((row) => row.name)).toEqual(["a", "b", "c"]);
    expect(await db.profiles.get("a")).toMatchObject({ name: "a", size: 2 ** 31 + 5 });
    expect(await db.profiles.get("x")).toBeNull();
    expect(await db.profiles.delete("a")).toMatchObject({ name: "a" });
    expect(await db.profiles.delete("a")).toBeNull();
  });

  test("there is one default at most, and an unknown name changes nothing (rules/profiles#default-profile)", async () => {
    const db = await open();
    for (const name of ["a", "b"]) await db.profiles.put(profile(name));
    expect(await db.profiles.getDefault()).toBeNull();
    expect(await db.profiles.setDefault("a")).toMatchObject({ name: "a", is_default: true });
    expect(await db.profiles.setDefault("b")).toMatchObject({ name: "b", is_default: true });
    for (const none of ["x", "a\u0000b", "\ud800"])
      expect(await db.profiles.setDefault(none)).toBeNull();
    expect((await db.profiles.list()).map((row) => row.is_default)).toEqual([false, true]);
    await db.profiles.clearDefault();
    expect(await db.profiles.getDefault()).toBeNull();
  });

  test("ten defaults set at once, over and over, leave one (rules/profiles#default-profile)", async () => {
    const db = await open();
    for (const i of times(10)) await db.profiles.put(profile(`p${i}`));
    for (const _ of times(5)) {
      await Promise.all(times(10).map((i) => db.profiles.setDefault(`p${i}`)));
      const defaults = (await db.profiles.list()).filter((row) => row.is_default);
      expect(defaults).toHaveLength(1);
    }
  });
});
