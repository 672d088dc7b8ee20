import { describe, expect, test } from "bun:test";
import { changesIn } from "#hub/fleet/watches/decide.ts";
import { ignoredBy } from "#hub/fleet/watches/ignored.ts";
import { checkTiming, nextTime } from "#hub/fleet/watches/next-time.ts";
import { changesText, scheduleText } from "#hub/ui/client/fleet/watches/watch-words.ts";
import { linesOf } from "#hub/ui/client/lib/lines.ts";
import { isLike } from "#shared/kit/is-like.ts";
import type { JobComparison } from "#shared/protocol/schema/comparison.ts";
import type { Watch } from "#shared/protocol/schema/watch.ts";

/** What a watch is made of: its times, its patterns, and what it calls a change (rules/watches#watch-record). */

const at = (text: string) => Date.parse(`2026-${text}Z`);
const timing = (more: object) => ({
  cron: null,
  cron_tz: "UTC",
  every_s: null,
  paused: false,
  ...more,
});

describe("when a watch is due (rules/watches#one-capture-for-each-time)", () => {
  test("at the next time of its expression, in its zone and over the change of the clocks", () => {
    const daily = timing({ cron: "0 7 * * *", cron_tz: "Europe/Vienna" });
    const winter = at("03-28T10:00:00");
    const first = nextTime(daily, winter, winter);
    // Summer time begins in the night of the 29th of March.
    expect(first).toBe(at("03-29T05:00:00"));
    expect(nextTime(daily, first as number, first as number)).toBe(at("03-30T05:00:00"));
  });

  test("a whole number of intervals after it began, the first one that is still to come", () => {
    const hourly = timing({ every_s: 3_600 });
    const begun = at("01-01T12:00:00");
    const next = (now: string) => nextTime(hourly, begun, at(now));
    expect(next("01-01T12:00:00")).toBe(at("01-01T13:00:00"));
    expect(next("01-01T12:59:59")).toBe(at("01-01T13:00:00"));
    expect(next("01-01T13:00:00")).toBe(at("01-01T14:00:00"));
    expect(next("01-03T00:30:00")).toBe(at("01-03T01:00:00"));
    // The clock was set back.
    expect(next("01-01T11:00:00")).toBe(at("01-01T13:00:00"));
  });

  test("never while it is paused, or when its expression has no time to come", () => {
    expect(nextTime(timing({ every_s: 60, paused: true }), 0, 0)).toBeNull();
    expect(nextTime(timing({ cron: "0 0 31 2 *" }), 0, 0)).toBeNull();
  });

  test("not more than once a minute, whatever the expression", () => {
    const check = (cron: string) => () => checkTiming(timing({ cron }), at("01-01T00:00:00"));
    for (const cron of ["* * * * *", "@hourly", " 0  7 * * MON-FRI ", "@DAILY"])
      expect(check(cron)).not.toThrow();
    for (const cron of ["* * * * * *", "*/5 * * * * * 2026", "2026-02-01T00:00:00", "often"])
      expect(check(cron)).toThrow();
  });
});

describe("a pattern (rules/watches#what-does-not-count)", () => {
  const CASES: [pattern: string, text: string, fits: boolean][] = [
    ["17 visitors", "17 visitors", true],
    ["17 visitors", "17 visitors today", false],
    ["*visitors*", "17 Visitors today", true],
    ["*visitors", "17 visitors today", false],
    ["17*", "17", true],
    ["a*a", "a", false],
    ["a*a", "aa", true],
    ["*a*b*c*", "xxaxxbxxcxx", true],
    ["*a*b*c*", "xxaxxcxxbxx", false],
    ["a*bc*c", "abc", false],
    ["a*bc*c", "abcc", true],
    ["(.*)+$", "(anything)+$", false],
    ["(*)+$", "(anything)+$", true],
    ["*://ads.test/*", "https://ads.test/banner.js?x=1", true],
    ["*://ads.test/*", "https://ads.test.example/banner.js", false],
  ];
  for (const [pattern, text, fits] of CASES)
    test(`${pattern} ${fits ? "fits" : "does not fit"} ${text}`, () => {
      expect(isLike(pattern, text)).toBe(fits);
    });

  test("takes milliseconds for a text that was made to be slow", () => {
    const begun = performance.now();
    expect(isLike(`${"*a".repeat(100)}*b`, "a".repeat(100_000))).toBe(false);
    expect(performance.now() - begun).toBeLessThan(1_000);
  });

  test("takes lines and assets out, and leaves all where there is none", async () => {
    const lines = Array.from({ length: 1_200 }, (_, n) => (n % 2 === 0 ? `line ${n}` : `ad ${n}`));
    const some = ignoredBy({ ignore_text: ["ad *"], ignore_assets: ["*/ads/*"] });
    expect(await some.lines(lines)).toHaveLength(600);
    expect([some.asset("http://a.test/ads/1"), some.asset("http://a.test/1")]).toEqual([
      true,
      false,
    ]);
    const none = ignoredBy({ ignore_text: [], ignore_assets: [] });
    expect(await none.lines(lines)).toBe(lines);
    expect(none.asset("http://a.test/ads/1")).toBe(false);
  });
});

const comparison = (more: { text?: object | null; title?: string; status?: number } = {}) => {
  const { text = { changed: true, lines_new: 2, lines_gone: 1 }, title = "A", status = 200 } = more;
  const of = <T>(before: T, after: T) => ({ changed: before !== after, before, after });
  return {
    before: { job_id: "j1" },
    after: { job_id: "j2" },
    page: { text, title: of("A", title), http_status: of(200, status) },
    assets: { counts: { new: 1, gone: 0, changed: 0, unchanged: 7 } },
  } as unknown as JobComparison;
};

describe("a change (rules/watches#what-counts-as-a-change)", () => {
  test("is what differs in the parts that count, in their order", () => {
    expect(changesIn(comparison({ title: "B" }), ["title", "text"])).toEqual({
      against: "j1",
      parts: ["title", "text"],
      text: { added: 2, removed: 1 },
      title: { changed: true, before: "A", after: "B" },
      status: { changed: false, before: 200, after: 200 },
      assets: { new: 1, gone: 0, changed: 0 },
    });
    expect(changesIn(comparison(), ["status"]).parts).toEqual([]);
    expect(changesIn(comparison(), ["assets", "status"]).parts).toEqual(["assets"]);
  });

  test("is none of the text where a page could not be saved", () => {
    const { parts, text } = changesIn(comparison({ text: null }), ["text"]);
    expect({ parts, text }).toEqual({ parts: [], text: null });
  });
});

describe("the words of the web app", () => {
  const changes = changesIn(comparison({ title: "B", status: 404 }), [
    ...(["text", "title", "status", "assets"] as const),
  ]);

  test("say what changed in the parts that count", () => {
    expect(changesText(changes)).toBe(
      "text lines: 2 new, 1 gone; title: A → B; status: 200 → 404; assets: 1 new, 0 gone, 0 changed",
    );
    expect(changesText({ ...changes, parts: [] })).toBe("");
  });

  test("say when a watch is due", () => {
    const watch = (more: object) => timing(more) as Watch;
    expect(scheduleText(watch({ cron: "@daily" }))).toBe("@daily (UTC)");
    expect(scheduleText(watch({ every_s: 7_200 }))).toBe("every 2 h");
    expect(scheduleText(watch({ every_s: 60, paused: true }))).toBe("paused; every 1 min");
  });

  test("are read as one pattern a line", () => {
    expect(linesOf(" a *\n\n  b\n")).toEqual(["a *", "b"]);
  });
});
