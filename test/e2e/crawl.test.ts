import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { createClient } from "flotilla";
import { packedFiles } from "#test/support/models/archive.ts";
import { type CrawlRig, judgeCrawl, startCrawl } from "#test/support/rigs/crawl-rig.ts";
import { until } from "#test/support/rigs/fleet-process.ts";

/** A crawl by the program: hub, lanes with real Chromium, and a pull worker that is killed with -9 twice. */

const PAGES = 18;
const SLOW_MS = 300_000;
let rig: CrawlRig;

beforeAll(async () => {
  rig = await startCrawl({ pages: PAGES, lanes: 2 });
  for (const share of [0.2, 0.6]) {
    await until("more pages", SLOW_MS, () => rig.site.asked.size > share * PAGES, 20);
    rig.puller.kill("SIGKILL");
  }
  await rig.ended(SLOW_MS);
}, SLOW_MS);
afterAll(() => rig?.stop(), 120_000);

describe("a crawl (rules/pipeline-crawl)", () => {
  test("opens every page of its scope, none of them twice, although its worker was killed (rules/pipeline-crawl#no-page-twice-none-missed)", async () => {
    expect(judgeCrawl(rig, await rig.jobs())).toEqual({ missed: [], twice: [], unwanted: [] });
    expect(await rig.queue()).toMatchObject({ total: 0 });
    const { asked, wanted } = rig.site;
    expect([...asked].filter(([path, n]) => wanted.has(path) && n !== 1)).toEqual([]);
    expect(rig.puller.starts).toBe(3);
  });

  test("asks for nothing that its site or a page asks it not to (rules/pipeline-crawl#robots)", () => {
    for (const path of ["/private/page", "/not-followed", "/behind-no"])
      expect(rig.site.asked.has(path)).toBe(false);
    expect(rig.site.asked.get("/robots.txt")).toBeLessThanOrEqual(3);
  });

  test("counts the page behind a redirect as visited (rules/pipeline-crawl#addresses)", async () => {
    expect(rig.site.asked.get("/moved-here")).toBe(1);
    const page = new URL("/moved-here", rig.site.url).href;
    const path = `/api/v1/workloads/site/tasks/${encodeURIComponent(page)}`;
    const task = await fetch(rig.fleet.url + path);
    expect(await task.json()).toMatchObject({ attempts: [{ success: true }] });
  });

  test("is one archive in the order of its visits, whose files are as they are named (rules/pipeline-crawl#the-archive)", async () => {
    const dir = await mkdtemp(join(tmpdir(), "flotilla-crawl-"));
    try {
      const { jobs } = createClient({ base_url: rig.fleet.url });
      const answer = await jobs.labelledArchive("crawl:site");
      await Bun.write(join(dir, "site.wacz"), answer);
      await $`unzip -q ${join(dir, "site.wacz")} -d ${join(dir, "out")}`.quiet();
      const { named, found } = await packedFiles(join(dir, "out"));
      expect(found).toEqual(named);
      expect(named).toHaveLength(rig.site.wanted.size + 2);
      const pages = await readFile(join(dir, "out/pages/pages.jsonl"), "utf8");
      const [, ...listed] = pages
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(listed[0].url).toBe(rig.site.url);
      expect(listed).toHaveLength(rig.site.wanted.size);
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});
