import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cookieSchemes, whyUnusable } from "#worker/browser/profile/cookie-db.ts";
import { readCookieFile } from "#worker/browser/profile/cookies.ts";
import { normaliseProfile } from "#worker/browser/profile/normalise.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-normal-"));
  mkdirSync(join(dir, "Default/Network"), { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));
const put = (name: string, value: unknown) =>
  writeFileSync(join(dir, name), typeof value === "string" ? value : JSON.stringify(value));
const get = (name: string) => Bun.file(join(dir, name)).json();

test("a copied profile starts as one that was closed properly (rules/profiles#profile-of-a-run)", async () => {
  put("Default/Preferences", {
    profile: { exit_type: "Crashed", name: "Ada" },
    session: { restore_on_startup: 4, startup_urls: ["http://a.test"] },
    download: { default_directory: "/home/ada", prompt_for_download: true },
    pinned_tabs: [{ url: "http://b.test" }],
    autofill: { kept: true },
  });
  put("Local State", {
    browser: { enabled_labs_experiments: ["x@1"] },
    profile: { last_used: "Profile 2", info_cache: { "Profile 2": {} } },
  });
  symlinkSync("/nowhere", join(dir, "SingletonLock"));
  await normaliseProfile(dir);
  expect(await get("Default/Preferences")).toMatchObject({
    profile: { exit_type: "Normal", exited_cleanly: true, name: "Ada" },
    session: { restore_on_startup: 5 },
    download: { prompt_for_download: false },
    autofill: { kept: true },
  });
  expect(JSON.stringify(await get("Default/Preferences"))).not.toMatch(/a\.test|b\.test|home/);
  expect(await get("Local State")).toMatchObject({
    profile: { last_used: "Default" },
    browser: {},
  });
  expect(JSON.stringify(await get("Local State"))).not.toMatch(/x@1|Profile 2/);
  expect(existsSync(join(dir, "SingletonLock"))).toBe(false);
});

test("what is installed in it is forgotten, and the rest of its preferences stays (rules/profiles#extensions)", async () => {
  const extensions = { settings: { abc: { preferences: { proxy: { mode: "direct" } } } } };
  for (const file of ["Default/Preferences", "Default/Secure Preferences"]) {
    put(file, { extensions, homepage: "http://a.test" });
    await normaliseProfile(dir);
    expect(await get(file)).not.toHaveProperty("extensions");
    expect(await get(file)).toHaveProperty("homepage", "http://a.test");
  }
  put("Default/Secure Preferences", "{ /* what only Chromium reads */ }");
  await normaliseProfile(dir);
  expect(existsSync(join(dir, "Default/Secure Preferences"))).toBe(false);
});

test("preferences that are none, of any shape, give way to plain ones (rules/profiles#profile-of-a-run)", async () => {
  for (const bad of ["", "[]", "null", "{", { profile: 5, session: [] }]) {
    put("Default/Preferences", bad);
    put("Local State", bad);
    await normaliseProfile(dir);
    expect((await get("Default/Preferences")).profile.exit_type).toBe("Normal");
  }
});

test("how a cookie database is encrypted is told by its bytes (rules/profiles#profile-of-a-run)", async () => {
  expect(await cookieSchemes(dir)).toBeNull();
  put("Default/Network/Cookies", "SQLite format 3");
  expect(await cookieSchemes(dir)).toEqual([]);
  put("Default/Network/Cookies", "SQLite format 3 v10 v20");
  expect(await cookieSchemes(dir)).toEqual(["v10", "v20"]);
  expect(whyUnusable(["v11"])).toContain("the desktop key store of the machine they come from");
});

test("a cookie file is read by its shape", async () => {
  const path = join(dir, "cookies.json");
  expect(await readCookieFile(path)).toEqual([]);
  const cookie = { name: "a", value: "b", domain: "a.test", path: "/", expires: -1 };
  put("cookies.json", [cookie, null, 5, { ...cookie, value: 5 }]);
  expect(await readCookieFile(path)).toMatchObject([cookie]);
  put("cookies.json", "{");
  expect(await readCookieFile(path).catch(String)).toContain("is damaged");
});
