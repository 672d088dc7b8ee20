import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Extra } from "#hub/plugins/crawl/context.ts";
import { attemptOf, startCrawledHub } from "#test/support/fakes/crawled-hub.ts";

/** Whatever a crawl opens at a host takes its turn (rules/pipeline-crawl#politeness). */

const HOST = "http://site.test";
const PAGE = `${HOST}/a`;
const ROBOTS = `${HOST}/robots.txt`;
const MAP = `${HOST}/sitemap.xml`;
const VISITS = "crawl/visits/site.test";
const TASK: Extra = { seed: `${HOST}/`, sitemap: { address: MAP, level: 0, from: 0 } };
const SLOW_MS = 60_000;

let hub: ReturnType<typeof startCrawledHub>;
let kept: Map<string, unknown>;
let task_id: number;
beforeEach(() => {
  task_id = 0;
  hub = startCrawledHub();
  kept = new Map();
});
afterEach(() => hub.stop());

type Ran = Error | { emit?: { pk: string }[]; [told: string]: unknown };
const crawlWith = (settings: Parameters<typeof hub.open>[0]) => {
  const { run } = hub.open(settings);
  return (pk: string, extra: Extra | null = null, state = {}): Promise<Ran> => {
    task_id += 1;
    const ctx = attemptOf(task_id, 1, kept);
    Object.assign(ctx.state, state);
    return run({ pk, extra }, ctx).catch((err: Error) => err) as Promise<Ran>;
  };
};
const noRoom = { message: "site.test has no room yet", retry_after_ms: expect.any(Number) };
/** All places of the host are taken, for as long as the test needs. */
const fill = () =>
  kept.set(VISITS, {
    next_at: 0,
    back_at: 0,
    open: { x: Date.now() + 900_000, y: Date.now() + 900_000 },
  });
const visits = () => kept.get(VISITS) as { next_at: number; open: object };

describe("robots.txt", () => {
  test(
    "is read in a turn with delay_s, and the page comes after it",
    async () => {
      const begun = Date.now();
      expect(await crawlWith({ robots: true, delay_s: 600 })(PAGE)).toMatchObject(noRoom);
      expect(hub.urls).toEqual([ROBOTS]);
      expect(visits().next_at).toBeGreaterThanOrEqual(begun + 600_000);
      expect(visits().open).toEqual({});
    },
    SLOW_MS,
  );

  test(
    "is not read while its host has no room",
    async () => {
      fill();
      expect(await crawlWith({ robots: true })(PAGE)).toMatchObject(noRoom);
      expect(hub.urls).toEqual([]);
    },
    SLOW_MS,
  );

  test("is not read by a task for which another one has read it while it waited", async () => {
    const update = async (key: string, change: (value: unknown) => unknown, none?: unknown) => {
      kept.set("crawl/robots/http://site.test", { text: "", read_at: Date.now() });
      kept.set(key, change(kept.get(key) ?? none));
    };
    const told = await crawlWith({ robots: true })(PAGE, null, { update });
    expect(told).toMatchObject({ url: PAGE, http_status: 200 });
    expect(hub.urls).toEqual([PAGE]);
  });

  test("leaves its place when it cannot be read", async () => {
    hub.pages[ROBOTS] = { http_status: 500 };
    const told = await crawlWith({ robots: true })(PAGE);
    expect(told).toMatchObject({ message: `${ROBOTS} answered 500` });
    expect(visits().open).toEqual({});
  });
});

describe("a sitemap", () => {
  const LONG = [...Array(4_001).keys()].map((n) => `${HOST}/${n}`).join("\n");

  test(
    "is read in a turn of its host, as pages are",
    async () => {
      const visit = crawlWith({ delay_s: 600 });
      expect(await visit("sitemap", TASK)).toMatchObject({ url: MAP, http_status: 200 });
      expect(visits().open).toEqual({});
      expect(await visit(PAGE)).toMatchObject(noRoom);
      expect(hub.urls).toEqual([MAP]);
    },
    SLOW_MS,
  );

  test(
    "is not read while its host has no room",
    async () => {
      fill();
      expect(await crawlWith({})("sitemap", TASK)).toMatchObject(noRoom);
      expect(hub.urls).toEqual([]);
    },
    SLOW_MS,
  );

  test("waits for as long as its robots.txt asks for", async () => {
    const text = "User-agent: *\nCrawl-delay: 40\n";
    kept.set("crawl/robots/http://site.test", { text, read_at: Date.now() });
    const begun = Date.now();
    await crawlWith({ robots: true })("sitemap", TASK);
    expect(visits().next_at).toBeGreaterThanOrEqual(begun + 40_000);
  });

  test("needs no turn for its next part, which its host does not see", async () => {
    hub.pages[MAP] = { body: LONG };
    const visit = crawlWith({});
    const told = (await visit("sitemap", TASK)) as { emit: { pk: string; extra: Extra }[] };
    const next = told.emit.at(-1);
    fill();
    expect(await visit("sitemap", next?.extra)).toMatchObject({ emit: [{ pk: `${HOST}/4000` }] });
    expect(hub.urls).toEqual([MAP]);
  });
});
