import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import type { Extra } from "#hub/plugins/crawl/context.ts";
import { attemptOf, startCrawledHub } from "#test/support/fakes/crawled-hub.ts";

/** What a crawl makes of a robots.txt or a sitemap whose end is missing (rules/pipeline-crawl). */

const HOST = "http://site.test";
const PAGE = `${HOST}/a`;
const ROBOTS = `${HOST}/robots.txt`;
const MAP = `${HOST}/map.xml`;
let hub: ReturnType<typeof startCrawledHub>;
beforeEach(() => {
  hub = startCrawledHub();
});
afterEach(() => hub.stop());

interface Told {
  [told: string]: unknown;
  emit?: { pk: string; extra: Extra }[];
}
/** Runs the attempts of a task one after the other. */
function taskOf(pk: string, extra: Extra | null = null) {
  const { run } = hub.open({ robots: true });
  const kept = new Map<string, unknown>();
  let attempt = 0;
  return () => {
    attempt += 1;
    return run({ pk, extra }, attemptOf(1, attempt, kept)) as Promise<Told>;
  };
}
const upTo = (bytes: number) => [{ start: 0, end: bytes - 1 }];

describe("a robots.txt (rules/pipeline-crawl#robots)", () => {
  const NO = "User-agent: *\nDisallow: /a\n";

  test.each([
    ["was cut off", { body: "User-agent: *\n", ranges: upTo(14) }, "was cut off"],
    ["lacks its beginning", { body: NO, ranges: [{ start: 9, end: 30 }] }, "was not captured"],
    ["was lost", { lost: 1 }, "was not captured"],
  ])(
    "that %s allows nothing, and is asked for again by the next attempt",
    async (_how, page, why) => {
      hub.pages[ROBOTS] = page;
      const attempt = taskOf(PAGE);
      await expect(attempt()).rejects.toThrow(`the body of ${ROBOTS} ${why}`);
      hub.pages[ROBOTS] = { body: NO };
      expect(await attempt()).toEqual({ url: PAGE, skipped: "robots.txt" });
      expect(hub.urls).toEqual([ROBOTS, ROBOTS]);
    },
  );

  test("counts by its first 500 KiB, which is all that a crawler has to read", async () => {
    const body = NO.padEnd(500 * 1024, "#");
    hub.pages[ROBOTS] = { body, ranges: upTo(body.length) };
    expect(await taskOf(PAGE)()).toEqual({ url: PAGE, skipped: "robots.txt" });
    hub.pages[ROBOTS] = { body: NO.padEnd(2 * 1024 * 1024, "#") };
    expect(await taskOf(PAGE)()).toEqual({ url: PAGE, skipped: "robots.txt" });
  });
});

describe("a sitemap (rules/pipeline-crawl#sitemaps)", () => {
  const TASK: Extra = { seed: `${HOST}/`, sitemap: { address: MAP, level: 0, from: 0 } };
  const XML = `<urlset><url><loc>${HOST}/1</loc></url><url><loc>${HOST}/2</loc></url></urlset>`;
  const CUT_XML = XML.slice(0, -"2</loc></url></urlset>".length);
  const TEXT = `${HOST}/1\n${HOST}/`;
  const pks = ({ emit = [] }: Told) => emit.map(({ pk }) => pk);

  test.each([
    ["in XML", new TextEncoder().encode(CUT_XML)],
    ["in text", new TextEncoder().encode(TEXT)],
    ["that is compressed", gzipSync(XML).subarray(0, -30)],
  ])("%s that was cut off gives its whole entries, and its run says so", async (_how, cut) => {
    const body = Uint8Array.from(cut);
    hub.pages[MAP] = { body, ranges: upTo(body.length) };
    const told = await taskOf("sitemap", TASK)();
    expect(told).toMatchObject({ url: MAP, cut: true });
    for (const pk of pks(told)) expect(pk).toBe(`${HOST}/1`);
    expect(told.pages).toBe(pks(told).length);
  });

  test("in text and XML that was cut off gives every entry before the cut", async () => {
    for (const body of [CUT_XML, TEXT]) {
      hub.pages[MAP] = { body, ranges: upTo(body.length) };
      expect(pks(await taskOf("sitemap", TASK)())).toEqual([`${HOST}/1`]);
      await hub.stop();
      hub = startCrawledHub();
    }
  });

  test("that is whole says nothing of the kind", async () => {
    hub.pages[MAP] = { body: XML };
    expect(await taskOf("sitemap", TASK)()).toMatchObject({ pages: 2, cut: false });
  });

  test("whose body was lost is asked for again by the next attempt", async () => {
    hub.pages[MAP] = { lost: 1 };
    const attempt = taskOf("sitemap", TASK);
    await expect(attempt()).rejects.toThrow(`the body of ${MAP} was not captured`);
    hub.pages[MAP] = { body: XML };
    expect(pks(await attempt())).toEqual([`${HOST}/1`, `${HOST}/2`]);
    expect(hub.urls.filter((url) => url === MAP)).toHaveLength(2);
  });
});
