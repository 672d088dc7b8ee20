import { describe, expect, test } from "bun:test";
import { addressOf, scopeOf } from "#hub/plugins/crawl/addresses.ts";
import { type Settings, settingsOf } from "#hub/plugins/crawl/settings.ts";

const SEED = "https://www.example.com/docs/start.html";

describe("an address of a crawl (rules/pipeline-crawl#addresses)", () => {
  test.each([
    ["https://Example.com:443/a#part", "https://example.com/a"],
    ["https://example.com/a?", "https://example.com/a"],
    ["https://example.com/?utm_source=x&q=1%20a&GCLID=2", "https://example.com/?q=1+a"],
    ["https://example.com/?q=1%20a", "https://example.com/?q=1%20a"],
    ["../b", "https://www.example.com/b"],
  ])("%s is written as %s", (raw, one) => {
    expect(addressOf(raw, SEED)).toBe(one);
    expect(addressOf(one)).toBe(one);
  });

  test.each([
    "javascript:alert(1)",
    "mailto:a@example.com",
    "file:///etc/passwd",
    "https://user:secret@example.com/",
    `https://example.com/${"a".repeat(1_024)}`,
    "https://",
  ])("%s is no page of a crawl", (raw) => expect(addressOf(raw)).toBeNull());
});

describe("the scope of a crawl (rules/pipeline-crawl#scope)", () => {
  const PLACES = [
    "https://www.example.com/docs/a/b.html",
    "https://www.example.com/blog/",
    "https://api.example.com/",
    "https://example.org/",
  ];
  const inScope = (given: Partial<Settings>) => {
    const scope = scopeOf(settingsOf(given));
    return PLACES.filter((place) => scope(place, SEED));
  };

  test.each([
    ["page", 0],
    ["prefix", 1],
    ["host", 2],
    ["domain", 3],
    ["any", 4],
  ] as const)("%s lets %d of four links through", (scope, n) => {
    expect(inScope({ scope })).toEqual(PLACES.slice(0, n));
  });

  test("include adds to it, and exclude wins", () => {
    expect(inScope({ include: ["^https://example\\.org/"] })).toEqual([
      PLACES[0],
      PLACES[3],
    ] as string[]);
    expect(inScope({ scope: "any", exclude: ["example\\.com"] })).toEqual([PLACES[3]] as string[]);
  });
});
