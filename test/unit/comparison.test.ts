import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createComparisons } from "#hub/fleet/compare/compare-jobs.ts";
import { compareText } from "#hub/fleet/compare/compare-text.ts";
import { compareAssets } from "#hub/fleet/compare/match-assets.ts";
import { visibleText } from "#hub/fleet/page-text/visible-text.ts";
import type { AssetRow } from "#hub/platform/db/rows.ts";
import { stableUrl, VOLATILE_NAMES } from "#shared/archive/volatile-query.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { COMPARISON_LIMITS } from "#shared/protocol/limits.ts";

const linesOf = async (html: string) => (await visibleText(html)).lines;
const text = (lines: string[]) => ({ lines, cut: false });
const numbered = (count: number, name = "line") =>
  Array.from({ length: count }, (_, n) => `${name} ${n}`);

let made = 0;
/** Made in the order in which they arrive. */
const numberOf = () => {
  made += 1;
  return made;
};
const asset = (source_url: string, body = "same", other: Partial<AssetRow> = {}): AssetRow => ({
  job_id: "j1",
  position: numberOf(),
  name: `a${made}`,
  kind: "other",
  mime: "text/plain",
  ext: "txt",
  size: body.length,
  sha256: body,
  source_url,
  page_url: "http://site.test/",
  frame_url: null,
  status: 200,
  from_cache: false,
  from_service_worker: false,
  partial: false,
  refetched: false,
  ranges: [],
  ...other,
});

describe("URLs that change (rules/comparison#urls-that-change)", () => {
  const SITE = "http://site.test/a";
  const UUID = "123e4567-e89b-12d3-a456-426614174000";

  test.each([
    [`${SITE}?_=1`, SITE],
    [`${SITE}?x=1&TS=5&y=2`, `${SITE}?x=1&y=2`],
    [`${SITE}?nocache`, SITE],
    [`${SITE}?1732351655`, SITE],
    [`${SITE}?id=${UUID.toUpperCase()}&x=1`, `${SITE}?x=1`],
    [`${SITE}?r=0.8462834623#part`, `${SITE}#part`],
  ])("%s matches %s", (url, stable) => {
    expect(stableUrl(url)).toBe(stable);
  });

  test.each([
    `${SITE}?x=123456789`,
    `${SITE}?v=2`,
    `${SITE}?x=0.5&y=12345678901x`,
    `${SITE}#?_=1`,
    `${SITE}?_=1&${"x".repeat(4_096)}`,
  ])("%.60s stays as it is", (url) => {
    expect(stableUrl(url.replace("#?", "#"))).toBe(url.replace("#?", "#"));
  });

  test("the page of rules names every parameter", () => {
    const page = readFileSync("hub/guide/rules/comparison.md", "utf8");
    const [line = ""] = page.split("\n").filter((one) => one.startsWith("- whose name is"));
    const named = [...line.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    expect(named.sort()).toEqual([...VOLATILE_NAMES].sort());
  });
});

describe("assets (rules/comparison#matching)", () => {
  test("are new, gone, changed or unchanged by their URL and what they are (rules/comparison#assets)", () => {
    const { counts, changed, ...lists } = compareAssets(
      [
        asset("http://s.test/same"),
        asset("http://s.test/body", "old"),
        asset("http://s.test/status"),
        asset("http://s.test/gone"),
      ],
      [
        asset("http://s.test/new"),
        asset("http://s.test/status", "same", { status: 404, mime: "text/html" }),
        asset("http://s.test/body", "newer"),
        asset("http://s.test/same"),
      ],
    );
    expect(counts).toEqual({ new: 1, gone: 1, changed: 2, unchanged: 1 });
    expect(lists.new.map(({ url }) => url)).toEqual(["http://s.test/new"]);
    expect(lists.gone.map(({ url }) => url)).toEqual(["http://s.test/gone"]);
    expect(changed.map(({ after, differs }) => [after.url, differs])).toEqual([
      ["http://s.test/status", ["mime", "status"]],
      ["http://s.test/body", ["body", "size"]],
    ]);
    expect(lists).toMatchObject({ lists_cut: false, assets_cut: false });
  });

  test("match exactly before they match without what changes", () => {
    const { counts, changed } = compareAssets(
      [asset("http://s.test/x?t=1", "one"), asset("http://s.test/x?t=2", "two")],
      [asset("http://s.test/x?t=2", "2"), asset("http://s.test/x?t=3", "3")],
    );
    expect(counts).toEqual({ new: 0, gone: 0, changed: 2, unchanged: 0 });
    expect(changed.map(({ match, before, after }) => [match, before.url, after.url])).toEqual([
      ["exact", "http://s.test/x?t=2", "http://s.test/x?t=2"],
      ["fuzzy", "http://s.test/x?t=1", "http://s.test/x?t=3"],
    ]);
  });

  test("with one URL find their equal first, and then match in order", () => {
    const url = "http://s.test/poll";
    const { counts, changed } = compareAssets(
      ["a", "b", "c"].map((body) => asset(url, body)),
      ["c", "d", "a", "e"].map((body) => asset(url, body)),
    );
    expect(counts).toEqual({ new: 1, gone: 0, changed: 1, unchanged: 2 });
    expect(changed[0]).toMatchObject({ before: { sha256: "b" }, after: { sha256: "d" } });
  });

  test("leave screenshots out", () => {
    const picture = { name: "screenshot-20260101T000000000Z.png", status: null };
    const { counts } = compareAssets(
      [asset("http://s.test/", "page")],
      [asset("http://s.test/", "picture", picture), asset("http://s.test/", "page")],
    );
    expect(counts).toEqual({ new: 0, gone: 0, changed: 0, unchanged: 1 });
  });

  test("are listed up to the limit, with URLs up to theirs, and counted whole (rules/comparison#limits)", () => {
    const { list, url_chars, assets } = COMPARISON_LIMITS;
    const many = numbered(assets + 5).map((name) =>
      asset(`http://s.test/${name}/${"x".repeat(3_000)}`),
    );
    const { counts, ...rest } = compareAssets([], many);
    expect(counts).toEqual({ new: assets, gone: 0, changed: 0, unchanged: 0 });
    expect(rest.new).toHaveLength(list);
    expect(rest.new[0]?.url).toHaveLength(url_chars + 1);
    expect(rest).toMatchObject({ lists_cut: true, assets_cut: true });
  });
});

describe("the visible text of a page (rules/comparison#text)", () => {
  test("is what a reader sees, a line for each block", async () => {
    const html = `<!doctype html><html><head><title>T</title><style>p > a { }</style></head>
      <body><script>if (a < b) document.write("</p>")</script><h1>Prices &amp; <b>more</b></h1>
      <p data-x="a > b">one <i>two</i><br>three</p><!-- <p>no</p> --><template><p>no</p></template>
      <table><tr><td>a</td><td>b</td></tr></table><pre>x\n  y</pre><textarea>t &lt;u&gt;</textarea>
      <noscript><p>no</p></noscript>1 < 2</body></html>`;
    expect(await linesOf(html)).toEqual([
      "Prices & more",
      "one two",
      "three",
      "a b",
      "x",
      "y",
      "t <u>",
      "1 < 2",
    ]);
  });

  test("breaks a line that is too long at a blank, and never within a character", async () => {
    const { line_chars } = COMPARISON_LIMITS;
    const lines = await linesOf(`${"word ".repeat(500)}<p>a${"😀".repeat(700)}`);
    expect(lines.every((line) => line.length <= line_chars && line.isWellFormed())).toBe(true);
    expect(lines[0]).toEndWith("word");
    expect(lines.join("").replaceAll(" ", "")).toBe(`${"word".repeat(500)}a${"😀".repeat(700)}`);
  });

  test("ends at its limits and says so (rules/comparison#limits)", async () => {
    const { text_lines, text_chars } = COMPARISON_LIMITS;
    const lines = await visibleText("<p>x".repeat(text_lines + 1));
    expect([lines.lines.length, lines.cut]).toEqual([text_lines, true]);
    const chars = await visibleText("y".repeat(text_chars + 1));
    expect([chars.lines.join("").length <= text_chars, chars.cut]).toEqual([true, true]);
  });

  test.each([
    ["nested elements that others close", `${"<b>".repeat(400_000)}${"</i>".repeat(400_000)}`],
    ["a tag without an end", `<a ${"= ".repeat(1_000_000)}`],
    ["comments without an end", "<!--".repeat(500_000)],
    ["scripts without an end", "<script></scrip".repeat(200_000)],
    ["names without an end", `&${"a".repeat(1_000_000)}`],
    ["templates", "<template>".repeat(200_000)],
  ])("takes a second of CPU at most for %s", async (_, html) => {
    const began = process.cpuUsage();
    await visibleText(html);
    const { user, system } = process.cpuUsage(began);
    expect(user + system).toBeLessThan(1_000_000);
  });
});

describe("two texts (rules/comparison#text)", () => {
  test("differ in unified hunks with three lines of context", async () => {
    const before = numbered(20);
    const after = before.toSpliced(9, 1, "new", "newer");
    expect(await compareText(text(before), text(after))).toEqual({
      changed: true,
      lines_gone: 1,
      lines_new: 2,
      hunks: [
        {
          before_start: 7,
          before_lines: 7,
          after_start: 7,
          after_lines: 8,
          lines: [
            ...[" line 6", " line 7", " line 8", "-line 9", "+new", "+newer"],
            ...[" line 10", " line 11", " line 12"],
          ],
        },
      ],
      hunks_cut: false,
      too_different: false,
      text_cut: false,
    });
  });

  test("are unchanged when no line differs, even if both are cut", async () => {
    const cut = { lines: ["a"], cut: true };
    expect(await compareText(cut, cut)).toMatchObject({
      changed: false,
      text_cut: true,
      hunks: [],
    });
    expect(await compareText(text([]), text(["a"]))).toMatchObject({ lines_new: 1, changed: true });
  });

  test("that have too little in common are only counted (rules/comparison#limits)", async () => {
    const { edits } = COMPARISON_LIMITS;
    const before = text([...numbered(edits, "old"), "same"]);
    expect(await compareText(before, text(["same", "x"]))).toEqual({
      changed: true,
      lines_gone: edits,
      lines_new: 1,
      hunks: [],
      hunks_cut: false,
      too_different: true,
      text_cut: false,
    });
  });

  test("show as many lines as may be shown (rules/comparison#limits)", async () => {
    const { hunk_lines, hunk_chars } = COMPARISON_LIMITS;
    const before = numbered(1_000);
    const after = before.map((line, n) => (n % 10 === 9 ? "new" : line));
    const many = await compareText(text(before), text(after));
    expect(many).toMatchObject({ hunks_cut: true, lines_new: 100, lines_gone: 100 });
    expect(many.hunks.flatMap(({ lines }) => lines)).toHaveLength(hunk_lines);
    const long = numbered(140).map((line) => line.padEnd(1_000));
    const cut = await compareText(text([]), text(long));
    expect(cut.hunks_cut).toBe(true);
    expect((cut.hunks[0]?.lines ?? []).join("").length).toBeLessThanOrEqual(hunk_chars);
  });
});

test("calls beyond those that may wait are refused, until the store answers (rules/comparison#limits)", async () => {
  const store = Promise.withResolvers<null>();
  const row = { job_id: "j1", status: "completed", url: "http://s.test/", finished_at: 1 };
  const fake = {
    db: { jobs: { get: async () => row }, assets: { list: async () => [] } },
    objects: { read: () => store.promise },
    clock: systemClock,
  };
  const { byId: compare } = createComparisons(() => fake as never);
  const waiting = Array.from({ length: COMPARISON_LIMITS.waiting }, () => compare("j1", "j1"));
  await expect(compare("j1", "j1")).rejects.toMatchObject({ kind: "unavailable", status: 503 });
  store.resolve(null);
  for (const one of await Promise.all(waiting)) expect(one.page.text).toBeNull();
  expect((await compare("j1", "j1")).before.job_id).toBe("j1");
});
