import { describe, expect, test } from "bun:test";
import type { HostRow } from "#hub/platform/db/rows.ts";
import { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import { LoginRecipe, Recipe } from "#shared/protocol/schema/recipe.ts";
import { eachDialect } from "#test/support/servers/db.ts";

const times = (n: number) => Array.from({ length: n }, (_, i) => i);
const NOW = 1_700_000_000_000;
const LIMITS = { max: 500, max_chars: 8_000_000 };
const recipe = (pattern: string) => Recipe.parse({ pattern });
const cookie = (name: string, more: Partial<StoredCookie> = {}) =>
  StoredCookie.parse({ name, value: `v-${name}`, domain: "a.test", ...more });
const row = (host: string, more: Partial<HostRow> = {}): Omit<HostRow, "cookies"> => ({
  host,
  recipes: [],
  login_recipe: null,
  popup_policy: "allow",
  notes: "",
  proxy: null,
  record: null,
  browser_options: null,
  updated_at: NOW,
  ...more,
});
const names = (r: HostRow | null) => r?.cookies.map((c) => c.name);

eachDialect((open) => {
  describe("hosts (rules/hosts#host-record)", () => {
    test("put replaces everything but the cookies", async () => {
      const db = await open();
      const first = row("a.test", { recipes: [recipe("/x")], notes: "n", popup_policy: "block" });
      expect(await db.hosts.put(first)).toEqual({ ...first, cookies: [] });
      await db.hosts.mergeCookies({ "a.test": [cookie("sid")] }, 10, NOW);
      const second = row("a.test", {
        login_recipe: LoginRecipe.parse({ actions: [] }),
        updated_at: NOW + 5,
      });
      expect(await db.hosts.put(second)).toEqual({ ...second, cookies: [cookie("sid")] });
      expect(await db.hosts.list()).toHaveLength(1);
      expect(await db.hosts.get("b.test")).toBeNull();
      expect(await db.hosts.find(["a.test", "b.test"])).toHaveLength(1);
      expect(await db.hosts.find([])).toEqual([]);
      expect(await db.hosts.delete("a.test")).toBe(true);
      expect(await db.hosts.delete("a.test")).toBe(false);
    });

    test("40 recipes appended at once to an unknown host are all there", async () => {
      const db = await open();
      await Promise.all(
        times(40).map((i) => db.hosts.addRecipe("a.test", recipe(`/p${i}`), LIMITS, NOW + i)),
      );
      const patterns = (await db.hosts.get("a.test"))?.recipes.map((r) => r.pattern);
      expect(patterns?.toSorted()).toEqual(
        times(40)
          .map((i) => `/p${i}`)
          .toSorted(),
      );
    });

    test("a recipe beyond the number or the length a host may have changes nothing", async () => {
      const db = await open();
      await db.hosts.addRecipe("a.test", recipe("/1"), LIMITS, NOW);
      expect(
        await db.hosts.addRecipe("a.test", recipe("/2"), { ...LIMITS, max: 1 }, NOW),
      ).toBeNull();
      expect(
        await db.hosts.addRecipe("a.test", recipe("/2"), { ...LIMITS, max_chars: 200 }, NOW),
      ).toBeNull();
      expect((await db.hosts.get("a.test"))?.recipes).toEqual([recipe("/1")]);
    });

    test("a recipe with quotes, backslashes and every kind of text comes back as it was", async () => {
      const db = await open();
      const odd = Recipe.parse({
        pattern: "*",
        actions: [{ kind: "evaluate", code: `a["'\\n"] = "\u{1f600}\u2028ü"; // $[0] ? :x` }],
      });
      await db.hosts.addRecipe("a.test", recipe("/1"), LIMITS, NOW);
      expect((await db.hosts.addRecipe("a.test", odd, LIMITS, NOW))?.recipes[1]).toEqual(odd);
    });

    test("recipes are removed by their index; an index beyond the end is nothing", async () => {
      const db = await open();
      for (const p of ["/1", "/2", "/3"])
        await db.hosts.addRecipe("a.test", recipe(p), LIMITS, NOW);
      const left = await db.hosts.removeRecipe("a.test", 1, NOW + 1);
      expect(left?.recipes.map((r) => r.pattern)).toEqual(["/1", "/3"]);
      expect(await db.hosts.removeRecipe("a.test", 2, NOW)).toBeNull();
      expect(await db.hosts.removeRecipe("b.test", 0, NOW)).toBeNull();
    });

    test("a login recipe makes the host and leaves the rest alone", async () => {
      const db = await open();
      const login = LoginRecipe.parse({ actions: [{ kind: "press", key: "Enter" }] });
      expect((await db.hosts.setLoginRecipe("a.test", login, NOW)).login_recipe).toEqual(login);
      await db.hosts.addRecipe("a.test", recipe("/1"), LIMITS, NOW);
      const again = LoginRecipe.parse({ actions: [] });
      expect(await db.hosts.setLoginRecipe("a.test", again, NOW)).toMatchObject({
        login_recipe: again,
        recipes: [recipe("/1")],
      });
    });

    test("merging twice is safe: the last write wins by name, domain and path, expired ones go (rules/hosts#cookie-sync)", async () => {
      const db = await open();
      const old = [cookie("a"), cookie("b"), cookie("gone", { expires: NOW / 1_000 + 5 })];
      expect(
        await db.hosts.mergeCookies({ "a.test": old, "b.test": [cookie("x")] }, 10, NOW),
      ).toEqual({ "a.test": 3, "b.test": 1 });
      expect(await db.hosts.mergeCookies({ "a.test": old }, 10, NOW)).toEqual({ "a.test": 3 });
      const later = [
        cookie("a", { value: "new" }),
        cookie("a", { domain: ".a.test" }),
        cookie("a", { path: "/p" }),
        cookie("dead", { expires: 5 }),
        cookie("a", { path: "/p", value: "last" }),
      ];
      expect(await db.hosts.mergeCookies({ "a.test": later }, 10, NOW + 9_000)).toEqual({
        "a.test": 4,
      });
      const stored = (await db.hosts.get("a.test"))?.cookies.map((c) => [
        c.domain,
        c.path,
        c.value,
      ]);
      expect(stored).toEqual([
        ["a.test", "/", "v-b"],
        ["a.test", "/", "new"],
        [".a.test", "/", "v-a"],
        ["a.test", "/p", "last"],
      ]);
    });

    test("merges at once lose nothing, and a host keeps its newest cookies", async () => {
      const db = await open();
      await Promise.all(
        times(20).map((i) =>
          db.hosts.mergeCookies(
            { "b.test": [cookie(`b${i}`)], "a.test": [cookie(`a${i}`)] },
            100,
            NOW,
          ),
        ),
      );
      expect(names(await db.hosts.get("a.test"))).toHaveLength(20);
      expect(names(await db.hosts.get("b.test"))).toHaveLength(20);
      await db.hosts.mergeCookies({ "c.test": [cookie("1"), cookie("2"), cookie("3")] }, 3, NOW);
      await db.hosts.mergeCookies({ "c.test": [cookie("4")] }, 3, NOW);
      expect(names(await db.hosts.get("c.test"))).toEqual(["2", "3", "4"]);
      expect(await db.hosts.mergeCookies({}, 3, NOW)).toEqual({});
    });

    test("put cookies replaces them, and a masked value keeps the stored value", async () => {
      const db = await open();
      expect(
        names(
          await db.hosts.putCookies(
            "a.test",
            [cookie("a"), cookie("m", { value: "***" })],
            "***",
            NOW,
          ),
        ),
      ).toEqual(["a"]);
      const next = [
        cookie("b"),
        cookie("a", { value: "***" }),
        cookie("unknown", { value: "***" }),
        cookie("a", { value: "***", path: "/p" }),
      ];
      expect((await db.hosts.putCookies("a.test", next, "***", NOW)).cookies).toEqual([
        cookie("b"),
        cookie("a"),
      ]);
      const changed = [cookie("a", { value: "***", secure: true, expires: 5e9 })];
      expect((await db.hosts.putCookies("a.test", changed, "***", NOW)).cookies).toEqual([
        cookie("a", { secure: true, expires: 5e9 }),
      ]);
      expect((await db.hosts.putCookies("a.test", [], "***", NOW)).cookies).toEqual([]);
    });
  });
});
