import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Extra } from "#hub/plugins/crawl/context.ts";
import type { Found } from "#hub/plugins/crawl/found.ts";
import { attemptOf, startCrawledHub } from "#test/support/fakes/crawled-hub.ts";

/** Pages and sitemaps that name more than one run may emit (rules/pipeline-crawl). */

const HOST = "http://site.test";
const PAGE = `${HOST}/`;
const MAP = `${HOST}/map.xml`;
const LINKS = [...Array(12_000).keys()].map((n) => `${HOST}/${n}`);
let hub: ReturnType<typeof startCrawledHub>;
let kept: Map<string, unknown>;
beforeEach(() => {
  hub = startCrawledHub();
  kept = new Map();
});
afterEach(() => hub.stop());

interface Told {
  [told: string]: unknown;
  emit: Found[];
}
let task_id = 0;
const runTask = (
  pk: string,
  extra: Extra | null,
  settings: Parameters<typeof hub.open>[0] = {},
) => {
  task_id += 1;
  return hub.open(settings).run({ pk, extra }, attemptOf(task_id, 1, kept)) as Promise<Told>;
};
const isPart = ({ pk }: Found) => !pk.startsWith("http");

/** Runs a task and the parts that follow it; what each of them told. */
async function runAll(pk: string, extra: Extra | null, settings = {}): Promise<Told[]> {
  const told = await runTask(pk, extra, settings);
  const more = await Promise.all(
    told.emit.filter(isPart).map((part) => runAll(part.pk, part.extra, settings)),
  );
  return [told, ...more.flat()];
}
const pagesOf = (all: readonly Told[]) =>
  all.flatMap(({ emit }) => emit.filter((one) => !isPart(one)).map(({ pk }) => pk));

describe("a page with more links than one run tells (rules/pipeline-crawl#many-links)", () => {
  test("tells all of them, each once, in tasks that read the same job", async () => {
    hub.pages[PAGE] = { links: ["/0", ...LINKS, ...LINKS] };
    const all = await runAll(PAGE, null);
    expect(pagesOf(all)).toEqual(LINKS);
    expect(all.map(({ links }) => links)).toEqual([12_000, 12_000, 12_000]);
    expect(all.map(({ from }) => from)).toEqual([undefined, 5_002, 10_002]);
    for (const { emit } of all) expect(emit.length).toBeLessThanOrEqual(5_001);
    expect(hub.urls).toEqual([PAGE]);
    expect(kept.get("crawl/begun")).toEqual({ pages: 1, open: {} });
  });

  test("tells them with the depth and the seed of the page, behind its first links", async () => {
    hub.pages[PAGE] = { links: LINKS };
    const extra = { depth: 2, seed: `${HOST}/seed` };
    const { emit } = await runTask(PAGE, extra);
    const part = emit.find(isPart) as Found;
    expect(part).toMatchObject({ once: true, priority: -2, extra });
    const { emit: more } = await runTask(part.pk, part.extra);
    expect(more[0]).toMatchObject({ pk: LINKS[5_000], extra: { ...extra, depth: 3 } });
  });

  test("skips none when the scope is another one at the next part", async () => {
    hub.pages[PAGE] = { links: LINKS };
    const { emit } = await runTask(PAGE, null, { include: ["."] });
    const part = emit.find(isPart) as Found;
    const odd = { scope: "page", include: ["[13579]$"] } as const;
    const { emit: more } = await runTask(part.pk, part.extra, odd);
    expect(more.map(({ pk }) => pk)).toEqual(LINKS.slice(5_000).filter((_, n) => n % 2 === 1));
  });

  test("makes no task for a rest that is out of scope", async () => {
    const outside = LINKS.map((link) => link.replace("site.test", "other.test"));
    hub.pages[PAGE] = { links: [...LINKS.slice(0, 5_000), ...outside] };
    expect((await runTask(PAGE, null)).emit.filter(isPart)).toEqual([]);
  });

  test("counts the page behind a redirect as visited, once", async () => {
    hub.pages[PAGE] = { links: [`${HOST}/arrived`, ...LINKS], final_url: `${HOST}/arrived` };
    const all = await runAll(PAGE, null);
    expect(pagesOf(all)).toEqual([`${HOST}/arrived`, ...LINKS]);
    expect(all[0]?.emit[0]?.extra).toMatchObject({ same_as: PAGE });
  });

  test("fails the task of the rest when the job is not there any more", async () => {
    const links = { address: PAGE, job_id: "7", from: 5_000 };
    const gone = runTask("links 5000 7", { depth: 0, seed: PAGE, links });
    await expect(gone).rejects.toThrow("the links of job 7 are not there any more");
  });

  test("says when the job itself has not all of them", async () => {
    const links = [...Array(100_000).keys()].map((n) => `${HOST}/${n % 10}?${n}`);
    hub.pages[PAGE] = { links };
    expect(await runTask(PAGE, null)).toMatchObject({ links: 100_000, cut: true });
    hub.pages[`${HOST}/b`] = { links: LINKS };
    expect(await runTask(`${HOST}/b`, null)).toMatchObject({ links: 12_000, cut: false });
  });
});

describe("a sitemap of more sitemaps than one run tells (rules/pipeline-crawl#sitemaps)", () => {
  test("tells all of them", async () => {
    const maps = LINKS.slice(0, 9_000).map((link) => `${link}.xml`);
    const entries = maps.map((map) => `<sitemap><loc>${map}</loc></sitemap>`).join("");
    hub.pages[MAP] = { body: `<sitemapindex>${entries}</sitemapindex>` };
    let next: Found | undefined;
    const told: string[] = [];
    let extra: Extra = { seed: PAGE, sitemap: { address: MAP, level: 0, from: 0 } };
    do {
      const { emit } = await runTask("sitemap", extra);
      next = emit.find((one) => one.extra.sitemap?.from);
      told.push(...emit.flatMap((one) => (one === next ? [] : [one.extra.sitemap?.address ?? ""])));
      if (next) extra = next.extra;
    } while (next);
    expect(told).toEqual(maps);
    expect(hub.urls).toEqual([MAP]);
  });

  test("tells the rest of one whose address is as long as an address may be", async () => {
    const long = `${MAP}?`.padEnd(1_024 - "sitemap 0 ".length, "x");
    hub.pages[long] = { body: LINKS.join("\n") };
    const extra = { seed: PAGE, sitemap: { address: long, level: 0, from: 0 } };
    expect(pagesOf(await runAll(`sitemap 0 ${long}`, extra))).toEqual(LINKS);
  });
});
