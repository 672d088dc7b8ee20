import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cookiesFor, hostAndParents } from "#hub/fleet/registries/host-cookies.ts";
import { findRecipe, matchesPath } from "#hub/fleet/registries/recipe-match.ts";
import { canonicalHost } from "#shared/kit/host-name.ts";
import {
  fillSecrets,
  missingSecret,
  secretNames,
  secretRefusal,
} from "#shared/protocol/recipe-secrets.ts";
import { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import { Recipe } from "#shared/protocol/schema/recipe.ts";

const recipes = (...patterns: string[]) => patterns.map((pattern) => Recipe.parse({ pattern }));
const found = (patterns: string[], url: string) =>
  findRecipe(recipes(...patterns), url)?.pattern ?? null;

const segment = fc.stringMatching(/^[a-z0-9._~-]{0,12}$/);
const path = fc.array(segment, { maxLength: 6 }).map((parts) => `/${parts.join("/")}`);

describe("which recipe a URL gets (rules/recipes#which-recipe)", () => {
  test("the longest pattern that matches wins, the last of equally long ones", () => {
    const url = "http://a.test/blog/2024/post?x=/shop";
    expect(found(["*", "/blog/*", "/blog/2024/*", "/shop/*"], url)).toBe("/blog/2024/*");
    const twice = recipes("/blog/*", "/blog/*");
    expect(findRecipe(twice, url)).toBe(twice[1] ?? null);
    expect(found(["/shop/*"], url)).toBeNull();
    expect(found([], url)).toBeNull();
  });

  test.each([
    ["/a/*", "/a/b/c", true],
    ["/a/*", "/a", false],
    ["/a/**", "/a/b/c", true],
    ["/p?ge", "/page", true],
    ["/p?ge", "/p/ge", true],
    ["/[ab]/x", "/b/x", true],
    ["/[!ab]/x", "/b/x", false],
    ["/{blog,news}/*", "/news/1", true],
    ["*.html", "/deep/page.html", true],
    ["product/*", "/product/7", true],
    ["product/*", "/a/product/7", false],
    ["!/admin/*", "/public", true],
    ["!/admin/*", "/admin/x", false],
    ["/größe/*", "/gr%C3%B6%C3%9Fe/x", true],
    ["/gr%C3%B6%C3%9Fe/*", "/gr%C3%B6%C3%9Fe/x", true],
    ["/a", "/A", false],
    ["/%", "/%", true],
  ])("%s on %s: %p", (pattern, pathname, matches) => {
    expect(matchesPath(pattern, pathname)).toBe(matches);
  });

  test("the default * is for every path", () => {
    fc.assert(fc.property(path, (p) => found(["*"], `http://a.test${p}`) === "*"));
  });

  test("a pattern without wildcards is for its own path alone", () => {
    fc.assert(
      fc.property(path, path, (a, b) => matchesPath(a, a) && (a === b || !matchesPath(a, b))),
    );
  });

  test("a prefix with * is for what begins with it", () => {
    fc.assert(fc.property(path, path, (a, b) => matchesPath(`${a}*`, a + b.slice(1))));
  });

  test("what is found matches, and no longer pattern does", () => {
    const pattern = fc.stringMatching(/^[/a-c*?]{1,6}$/);
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 8 }), path, (patterns, p) => {
        const best = found(patterns, `http://a.test${p}`);
        const pathname = new URL(`http://a.test${p}`).pathname;
        const all = patterns.filter((q) => matchesPath(q, pathname));
        return best === null
          ? all.length === 0
          : all.includes(best) && all.every((q) => q.length <= best.length);
      }),
    );
  });

  test("no pattern keeps the hub busy, and none throws", () => {
    const long = `/${"a".repeat(16_000)}`;
    for (const pattern of [
      "*a".repeat(480),
      "{a,a}".repeat(190),
      "{*,*a}".repeat(160),
      "[".repeat(900),
    ]) {
      const since = performance.now();
      matchesPath(pattern, long);
      // One that backtracks would take years.
      expect(performance.now() - since).toBeLessThan(2_000);
    }
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), path, (pattern, p) => {
        matchesPath(pattern, p);
      }),
    );
  });
});

describe("names of hosts (rules/hosts#host-record)", () => {
  test.each([
    ["Example.ORG", "example.org"],
    ["example.org.", "example.org"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["127.0.0.1", "127.0.0.1"],
    ["0x7f.1", "127.0.0.1"],
    ["[::1]", "[::1]"],
    ["[0:0::1]", "[::1]"],
    ["under_score.test", "under_score.test"],
    ["cookies", "cookies"],
    ["localhost", "localhost"],
  ])("%s is %s", (raw, host) => {
    expect(canonicalHost(raw)).toBe(host);
    expect(canonicalHost(host)).toBe(host);
  });

  test.each([
    "",
    " ",
    "a b",
    "a.test:80",
    "a.test/x",
    "u@a.test",
    "http://a.test",
    "a?b",
    "a#b",
    "::1",
    "a\\b",
    "a%2fb",
    "..",
    "-",
    "a\n",
    "x".repeat(254),
  ])("%j is none", (raw) => expect(canonicalHost(raw)).toBeNull());

  test("whatever is taken is what a URL with that host says", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (raw) => {
        const host = canonicalHost(raw);
        return host === null || new URL(`http://${host}/`).hostname === host;
      }),
    );
  });
});

describe("cookies of a job (rules/hosts#cookies-of-a-job)", () => {
  const cookie = (name: string, domain: string, expires = -1) =>
    StoredCookie.parse({ name, value: "v", domain, expires });

  test("the host's own, and those of its parents that are for subdomains; the nearest last", () => {
    const rows = [
      {
        host: "www.a.test",
        cookies: [cookie("own", "www.a.test"), cookie("old", "www.a.test", 5)],
      },
      { host: "a.test", cookies: [cookie("wide", ".a.test"), cookie("host-only", "a.test")] },
    ];
    expect(cookiesFor("www.a.test", rows, 10_000).map((c) => c.name)).toEqual(["wide", "own"]);
  });

  test("parents of names, none of addresses", () => {
    expect(hostAndParents("a.b.test")).toEqual(["a.b.test", "b.test", "test"]);
    expect(hostAndParents("127.0.0.1")).toEqual(["127.0.0.1"]);
    expect(hostAndParents("[::1]")).toEqual(["[::1]"]);
  });

  test.each(["a\nb", "a\u0000b", "\u007f"])(
    "control characters in a cookie are refused: %j",
    (bad) => {
      const base = { name: "n", value: "v", domain: "a.test", path: "/" };
      for (const key of ["name", "value", "path"] as const)
        expect(StoredCookie.safeParse({ ...base, [key]: `/${bad}` }).success).toBe(false);
      expect(StoredCookie.safeParse({ ...base, domain: `a${bad}.test` }).success).toBe(false);
    },
  );
});

describe("placeholders for secrets (rules/recipes#secrets-in-recipes)", () => {
  const placeholder = (name: string) => `$\{ENV:${name}}`;
  const fill = (text: string) => ({ kind: "fill" as const, selector: "#x", text });

  test("are found in what is filled or typed, and nowhere else", () => {
    const actions = [
      fill(`${placeholder("A")} and ${placeholder("B_2")}`),
      { kind: "type" as const, text: placeholder("A") },
      { kind: "evaluate" as const, code: placeholder("C") },
    ];
    expect(secretNames(actions)).toEqual(["A", "B_2"]);
    expect(missingSecret(actions, { A: "1", B_2: "" })).toBeNull();
    expect(missingSecret(actions, { A: "1" })).toContain("B_2 must be listed");
  });

  test("are for the hosts that they are bound to, by name and by what a frame's address says", () => {
    const hosts = { A: ["site.test", "*.login.test"], B: [] };
    const why = (text: string, url: string) => secretRefusal(placeholder(text), hosts, url);
    for (const url of ["https://site.test/x", "http://site.test:8080/", "https://a.b.login.test/"])
      expect(why("A", url)).toBeNull();
    for (const url of [
      ...[
        "https://www.site.test/",
        "https://login.test/",
        "https://evillogin.test/",
        "about:blank",
      ],
      ...["https://site.test.evil.test/", "https://evil.test/?https://site.test/", "about:srcdoc"],
      ...[
        "https://site.test@evil.test/",
        "data:text/html,site.test",
        "blob:https://site.test/1",
        "",
      ],
    ])
      expect(why("A", url)).toContain("may not be entered on");
    expect(why("A", "https://evil.test/")).toContain("SVC_RECIPE_ENV=A@evil.test");
    expect(why("B", "https://site.test/")).toContain("it is bound to no host");
    expect(why("constructor", "https://site.test/")).not.toBeNull();
    expect(secretRefusal("no placeholder", hosts, "https://evil.test/")).toBeNull();
  });

  test("are replaced once, whatever the value looks like", () => {
    const secrets = { A: `$& ${placeholder("B")}`, B: "b" };
    expect(fillSecrets(`<${placeholder("A")}${placeholder("B")}>`, secrets)).toBe(
      `<$& ${placeholder("B")}b>`,
    );
    expect(fillSecrets(placeholder("toString"), secrets)).toBe(placeholder("toString"));
    expect(missingSecret([fill(placeholder("constructor"))], secrets)).toContain("constructor");
  });
});
