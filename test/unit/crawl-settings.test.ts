import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Extra } from "#hub/plugins/crawl/context.ts";
import { attemptOf, startCrawledHub } from "#test/support/fakes/crawled-hub.ts";

/** What the settings of a crawl bound, and what a site asks for (rules/pipeline-crawl). */

const SEED = "http://site.test/";
const at = (name: string, host = "site.test") => `http://${host}/${name}`;
let hub: ReturnType<typeof startCrawledHub>;
let kept: Map<string, unknown>;
let task_id: number;
beforeEach(() => {
  task_id = 0;
  hub = startCrawledHub();
  kept = new Map();
});
afterEach(() => hub.stop());

interface Told {
  skipped?: string;
  emit?: { pk: string; extra: Extra }[];
}
const pks = ({ emit = [] }: Told): string[] => emit.map(({ pk }) => pk);

/** Runs one task of a crawl after the other, each its first attempt. */
function crawlWith(settings: Parameters<typeof hub.open>[0]) {
  const { run } = hub.open(settings);
  return (pk: string, extra: Extra | null = null): Promise<Told> => {
    task_id += 1;
    return run({ pk, extra }, attemptOf(task_id, 1, kept)) as Promise<Told>;
  };
}

describe("bounds (rules/pipeline-crawl#settings)", () => {
  test("no more pages are opened than limit says", async () => {
    const visit = crawlWith({ limit: 2 });
    for (const name of ["a", "b"]) expect(await visit(at(name))).not.toHaveProperty("skipped");
    expect(await visit(at("c"))).toMatchObject({ skipped: "limit" });
    expect(hub.urls).toEqual([at("a"), at("b")]);
  });

  test("of each host no more than limit_per_host says", async () => {
    const visit = crawlWith({ limit_per_host: 1, scope: "any" });
    await visit(at("a"));
    expect(await visit(at("b"))).toMatchObject({ skipped: "limit" });
    expect(await visit(at("a", "other.test"))).not.toHaveProperty("skipped");
  });

  test("a page that limit_per_host leaves out in the last moment leaves its place in limit to others", async () => {
    const settings = { limit: 2, limit_per_host: 1, scope: "any" } as const;
    // Both have asked whether there is room before either of them is counted.
    const asked = Promise.withResolvers<void>();
    let asking = 2;
    const both = ["a", "b"].map((name, i) => {
      const ctx = attemptOf(i + 1, 1, kept);
      const { update } = ctx.state;
      ctx.state.update = async (...given) => {
        asking -= asking > 0 ? 1 : 0;
        if (asking === 0) asked.resolve();
        await asked.promise;
        return update(...given);
      };
      return hub.open(settings).run({ pk: at(name), extra: null }, ctx) as Promise<Told>;
    });
    const skipped = (await Promise.all(both)).filter((told) => told.skipped === "limit");
    expect(skipped).toHaveLength(1);
    task_id = 2;
    const other = await crawlWith(settings)(at("a", "other.test"));
    expect(other).not.toHaveProperty("skipped");
  });

  test("links are followed so far from a seed as depth says", async () => {
    hub.pages[at("deep")] = { links: [at("deeper")] };
    const visit = crawlWith({ depth: 1 });
    expect(pks(await visit(at("deep"), { depth: 0, seed: SEED }))).toEqual([at("deeper")]);
    expect(pks(await visit(at("deep"), { depth: 1, seed: SEED }))).toEqual([]);
  });

  test("what leaves the scope is not followed", async () => {
    hub.pages[at("in/")] = { links: [at("in/a"), at("out"), at("in/b", "other.test")] };
    const found = (scope: "prefix" | "host" | "any") => {
      kept.clear();
      return crawlWith({ scope })(at("in/")).then(pks);
    };
    expect(await found("prefix")).toEqual([at("in/a")]);
    expect(await found("host")).toEqual([at("in/a"), at("out")]);
    expect(await found("any")).toHaveLength(3);
  });
});

describe("what a page says of itself (rules/pipeline-crawl#addresses)", () => {
  test("its canonical address is a page of its own", async () => {
    hub.pages[at("a?from=mail")] = {
      html: `<link rel=canonical href="/a">`,
      links: [at("b")],
    };
    expect(pks(await crawlWith({})(at("a?from=mail")))).toEqual([at("a"), at("b")]);
  });

  test.each([
    [true, []],
    [false, [at("b")]],
  ])("where robots count (%p), nofollow is heard", async (robots, followed) => {
    hub.pages[at("a")] = { html: `<meta name=robots content=nofollow>`, links: [at("b")] };
    expect(pks(await crawlWith({ robots })(at("a")))).toEqual(followed);
  });
});

describe("what a site asks for", () => {
  const nextAfter = (host = "site.test") =>
    (kept.get(`crawl/visits/${host}`) as { next_at: number }).next_at;

  test("pages of a host begin as far apart as the larger of delay_s and Crawl-delay (rules/pipeline-crawl#politeness)", async () => {
    const text = "User-agent: *\nCrawl-delay: 40\nDisallow: /no\n";
    kept.set("crawl/robots/http://site.test", { text, read_at: Date.now() });
    const begun = Date.now();
    const visit = crawlWith({ robots: true, delay_s: 20 });
    await visit(at("a"));
    expect(nextAfter()).toBeGreaterThanOrEqual(begun + 40_000);
    expect(await visit(at("no"))).toMatchObject({ skipped: "robots.txt" });
    await crawlWith({ delay_s: 20 })(at("a", "other.test"));
    expect(nextAfter("other.test")).toBeLessThan(Date.now() + 20_001);
    expect(nextAfter("other.test")).toBeGreaterThanOrEqual(begun + 20_000);
  });

  test("a page whose turn is far off gives its slot to others, without using up an attempt", async () => {
    const visit = crawlWith({ delay_s: 600 });
    await visit(at("a"));
    const failure = await visit(at("b")).catch((err) => err);
    expect(failure).toMatchObject({ message: "site.test has no room yet" });
    expect(failure.retry_after_ms).toBeGreaterThan(200_000);
    expect(hub.urls).toEqual([at("a")]);
  }, 20_000);

  test.each([429, 503])(
    "a server that answers %d is asked again by the next attempt",
    async (http_status) => {
      hub.pages[at("a")] = { http_status };
      const { run } = hub.open({});
      const attempt = (n: number) =>
        run({ pk: at("a"), extra: null }, attemptOf(1, n, kept)).catch((err: Error) => err);
      expect(await attempt(1)).toMatchObject({
        message: `the server answered ${http_status}: it wants to be left alone`,
      });
      hub.pages[at("a")] = {};
      expect(await attempt(2)).toMatchObject({ url: at("a"), http_status: 200 });
      expect(hub.urls).toEqual([at("a"), at("a")]);
    },
  );

  test("a robots.txt that answered 500 is asked for again by the next attempt (rules/pipeline-crawl#robots)", async () => {
    hub.pages[at("robots.txt")] = { http_status: 500 };
    const { run } = hub.open({ robots: true });
    const attempt = (n: number) =>
      run({ pk: at("a"), extra: null }, attemptOf(1, n, kept)).catch((err: Error) => err);
    expect(await attempt(1)).toMatchObject({ message: `${at("robots.txt")} answered 500` });
    hub.pages[at("robots.txt")] = { body: "User-agent: *\nDisallow: /no\n" };
    expect(await attempt(2)).toMatchObject({ url: at("a") });
    expect(hub.urls).toEqual([at("robots.txt"), at("robots.txt"), at("a")]);
  });

  test("a robots.txt whose body was not kept allows nothing, and one without a body everything (rules/pipeline-crawl#robots)", async () => {
    hub.pages[at("robots.txt")] = { lost: 1 };
    const lost = crawlWith({ robots: true })(at("a"));
    await expect(lost).rejects.toThrow(`the body of ${at("robots.txt")} was not captured`);
    hub.pages[at("robots.txt", "empty.test")] = {};
    const visit = crawlWith({ robots: true, scope: "any" });
    expect(await visit(at("a", "empty.test"))).not.toHaveProperty("skipped");
  });

  test("bodies of robots.txt are kept whatever the crawl's options say of pages", async () => {
    const options = { capture_assets: false, min_asset_size_bytes: 5_000 };
    await crawlWith({ robots: true, options })(at("a"));
    expect(hub.bodies.map((body) => JSON.parse(body).options)).toEqual([
      { capture_assets: true, min_asset_size_bytes: 1 },
      options,
    ]);
  });
});

describe("a task that is reset (rules/pipeline-crawl#no-page-twice-none-missed)", () => {
  const failed = { error: "net::ERR_CONNECTION_REFUSED" };
  const claim = (settings: Parameters<typeof hub.open>[0], attempt: number, epoch: number) =>
    hub
      .open(settings)
      .run({ pk: at("a"), extra: null }, attemptOf(1, attempt, kept, epoch))
      .catch((err: Error) => err);

  test("opens its page anew, once for each claim", async () => {
    hub.pages[at("a")] = failed;
    for (const n of [1, 2, 3]) expect(await claim({}, n, n)).toBeInstanceOf(Error);
    expect(hub.urls).toHaveLength(3);
    hub.pages[at("a")] = {};
    expect(await claim({}, 1, 4)).toMatchObject({ url: at("a"), http_status: 200 });
    expect(hub.urls).toHaveLength(4);
    // Its worker died after that: the job is there.
    expect(await claim({}, 2, 5)).toMatchObject({ url: at("a"), http_status: 200 });
    expect(hub.urls).toHaveLength(4);
  });

  test.each([
    ["limit", { limit: 2 }],
    ["limit_per_host", { limit_per_host: 2 }],
  ])("counts once toward %s, and is opened by a crawl that is full", async (_name, bound) => {
    hub.pages[at("a")] = failed;
    for (const n of [1, 2, 3]) expect(await claim(bound, n, n)).toBeInstanceOf(Error);
    const visit = crawlWith(bound);
    task_id = 1;
    expect(await visit(at("b"))).not.toHaveProperty("skipped");
    for (const n of [1, 2, 3]) expect(await claim(bound, n, 3 + n)).toBeInstanceOf(Error);
    hub.pages[at("a")] = {};
    expect(await claim(bound, 1, 7)).toMatchObject({ url: at("a"), http_status: 200 });
    expect(kept.get("crawl/begun")).toEqual({ pages: 2, open: {} });
    expect(await visit(at("c"))).toMatchObject({ skipped: "limit" });
  });

  test("opens it with the options that the crawl has now", async () => {
    hub.pages[at("a")] = failed;
    expect(await claim({}, 1, 1)).toBeInstanceOf(Error);
    hub.pages[at("a")] = {};
    const told = await claim({ options: { wait_seconds: 5 } }, 1, 2);
    expect(told).toMatchObject({ url: at("a"), http_status: 200 });
  });
});
