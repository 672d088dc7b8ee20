import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { changesIn } from "#hub/fleet/watches/decide.ts";
import { ignoredBy } from "#hub/fleet/watches/ignored.ts";
import { checkTiming, nextTime, type Timing } from "#hub/fleet/watches/next-time.ts";
import { isLike } from "#shared/kit/is-like.ts";
import type { JobComparison } from "#shared/protocol/schema/comparison.ts";
import type { ChangePart } from "#shared/protocol/schema/job-changes.ts";

const ALL: ChangePart[] = ["text", "title", "status", "assets"];
const TEXT = {
  changed: true,
  lines_gone: 2,
  lines_new: 3,
  hunks: [],
  hunks_cut: false,
  too_different: false,
  text_cut: false,
};

interface Differing {
  text?: typeof TEXT | null;
  title?: string;
  status?: number;
  final_url?: string;
  counts?: Partial<JobComparison["assets"]["counts"]>;
}

const pairOf = <T>(before: T, after: T) => ({ changed: before !== after, before, after });
function comparison({ text = { ...TEXT, changed: false }, ...of }: Differing): JobComparison {
  const url = "https://site.test/";
  const named = (job_id: string) => ({ job_id, url, finished_at: null });
  return {
    before: named("before"),
    after: named("after"),
    page: {
      title: pairOf<string | null>("A", of.title ?? "A"),
      final_url: pairOf<string | null>(url, of.final_url ?? url),
      http_status: pairOf<number | null>(200, of.status ?? 200),
      text,
      picture: null,
      picture_missing: "a watch does not compare pictures",
    },
    assets: {
      counts: { new: 0, gone: 0, changed: 0, unchanged: 9, ...of.counts },
      new: [],
      gone: [],
      changed: [],
      lists_cut: false,
      assets_cut: false,
    },
  };
}

describe("what counts as a change (rules/watches#what-counts-as-a-change)", () => {
  test.each<[string, Differing, ChangePart[]]>([
    ["nothing", {}, []],
    ["lines of the text", { text: TEXT }, ["text"]],
    ["a page that could not be saved", { text: null }, []],
    ["the title", { title: "B" }, ["title"]],
    ["the status of the answer", { status: 404 }, ["status"]],
    ["the last URL alone", { final_url: "https://site.test/home" }, []],
    ["an asset that is new", { counts: { new: 1 } }, ["assets"]],
    ["an asset that is gone", { counts: { gone: 1 } }, ["assets"]],
    ["an asset with another body", { counts: { changed: 1 } }, ["assets"]],
    ["assets that stayed", { counts: { unchanged: 900 } }, []],
    ["everything", { text: TEXT, title: "B", status: 500, counts: { new: 1 } }, ALL],
  ])("%s", (_what, of, parts) => {
    expect(changesIn(comparison(of), ALL).parts).toEqual(parts);
  });

  test("only the parts that the watch compares, in its order, while the numbers tell of all", () => {
    const all = comparison({ text: TEXT, title: "B", status: 500, counts: { new: 1, gone: 4 } });
    expect(changesIn(all, ["status", "text"])).toEqual({
      against: "before",
      parts: ["status", "text"],
      text: { added: 3, removed: 2 },
      title: { changed: true, before: "A", after: "B" },
      status: { changed: true, before: 200, after: 500 },
      assets: { new: 1, gone: 4, changed: 0 },
    });
    expect(changesIn(comparison({ text: null, title: "B" }), ["text"])).toMatchObject({
      parts: [],
      text: null,
    });
  });
});

describe("a pattern of what does not count (rules/watches#what-does-not-count)", () => {
  test.each<[string, string, boolean]>([
    ["", "", true],
    ["", "x", false],
    ["*", "", true],
    ["**", "anything", true],
    ["now", "NOW", true],
    ["now", "now and then", false],
    ["now*", "now and then", true],
    ["*then", "now and then", true],
    ["*and*", "now and then", true],
    ["n*d*n", "now and then", true],
    ["now*now", "now", false],
    ["a*a", "a", false],
    ["a*b*a", "aba", true],
    ["a*ab*b", "ab", false],
    ["*a*a*", "a", false],
    ["*.gif?*", "https://site.test/a.gif?x=1", true],
    ["a.c", "abc", false],
    ["(a+)+$*", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", false],
    ["STRASSE*", "straße 1", false],
    ["İ*", "i̇x", true],
  ])("%j and %j", (pattern, text, expected) => {
    expect(isLike(pattern, text)).toBe(expected);
  });

  test("means for every text what a regular expression would mean", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 });
    const texts = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 10 });
    fc.assert(
      fc.property(letters, texts, (pattern, text) => {
        const like = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
        expect(isLike(pattern, text)).toBe(like.test(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test("is judged in a time that does not grow with its stars", () => {
    const text = "a".repeat(100_000);
    const began = performance.now();
    expect(isLike(`${"*a".repeat(500)}*b`, text)).toBe(false);
    expect(isLike(`${"a*".repeat(500)}b*`, text)).toBe(false);
    // A search that goes back to each star would not end at all.
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  test("takes lines and URLs away, and others are served between many lines", async () => {
    const ignored = ignoredBy({ ignore_text: ["today *", "*ago"], ignore_assets: ["*/ads/*"] });
    const lines = Array.from({ length: 1_200 }, (_, n) => (n % 2 ? `Today ${n}` : `line ${n}`));
    let served = 0;
    setImmediate(function next() {
      served += 1;
      if (served < 10) setImmediate(next);
    });
    expect(await ignored.lines(lines)).toEqual(lines.filter((_, n) => n % 2 === 0));
    expect(served).toBeGreaterThan(0);
    expect(ignored.asset("https://cdn.test/ADS/1.gif")).toBe(true);
    expect(ignored.asset("https://cdn.test/1.gif")).toBe(false);
    const none = ignoredBy({ ignore_text: [], ignore_assets: [] });
    expect(await none.lines(lines)).toBe(lines);
    expect(none.asset("https://cdn.test/ads/")).toBe(false);
  });
});

describe("when a watch is due (rules/watches#missed-times)", () => {
  const NOW = Date.parse("2026-03-29T00:30:00Z");
  const timing = (of: Partial<Timing>): Timing => ({
    cron: null,
    cron_tz: "UTC",
    every_s: null,
    paused: false,
    ...of,
  });

  test("an interval keeps its beat from where it began, and makes up for no time that passed", () => {
    const hourly = timing({ every_s: 3_600 });
    expect(nextTime(hourly, NOW, NOW)).toBe(NOW + 3_600_000);
    expect(nextTime(hourly, NOW, NOW + 3_599_999)).toBe(NOW + 3_600_000);
    expect(nextTime(hourly, NOW, NOW + 3_600_000)).toBe(NOW + 7_200_000);
    expect(nextTime(hourly, NOW, NOW + 10 * 3_600_000 + 5)).toBe(NOW + 11 * 3_600_000);
    // The clock of the hub may have been set back.
    expect(nextTime(hourly, NOW, NOW - 86_400_000)).toBe(NOW + 3_600_000);
  });

  test("a cron is of its zone, over the hour that summer time leaves out", () => {
    const daily = timing({ cron: "0 7 * * *", cron_tz: "Europe/Vienna" });
    const due = nextTime(daily, 0, NOW);
    expect(new Date(due ?? 0).toISOString()).toBe("2026-03-29T05:00:00.000Z");
    expect(nextTime(timing({ cron: "0 7 * * *", paused: true }), 0, NOW)).toBeNull();
    expect(nextTime(timing({ every_s: 60, paused: true }), 0, NOW)).toBeNull();
  });

  test.each<[string, Partial<Timing>, string]>([
    ["seconds", { cron: "* * * * * *" }, "must have five fields"],
    ["too few fields", { cron: "* * *" }, "must have five fields"],
    ["nothing", { cron: " " }, "must have five fields"],
    ["words", { cron: "a b c d e" }, "cron"],
    ["a day that never comes", { cron: "0 0 31 2 *" }, "cron"],
    ["a zone that is none", { cron: "0 7 * * *", cron_tz: "Mars/Base" }, "cron_tz"],
  ])("a schedule of %s is refused and named", (_what, of, why) => {
    const refused = (() => {
      try {
        checkTiming(timing(of), NOW);
        return null;
      } catch (err) {
        return JSON.stringify((err as { detail?: unknown }).detail);
      }
    })();
    expect(refused).toContain(why);
  });

  test("five fields, names of days and nicknames are schedules", () => {
    for (const cron of ["*/5 * * * *", " 0 7 * * MON-FRI ", "@daily", "@Hourly"])
      expect(() => checkTiming(timing({ cron }), NOW)).not.toThrow();
    expect(() => checkTiming(timing({ every_s: 60 }), NOW)).not.toThrow();
  });
});
