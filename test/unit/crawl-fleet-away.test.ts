import { afterEach, beforeEach, expect, test } from "bun:test";
import { attemptOf, startCrawledHub } from "#test/support/fakes/crawled-hub.ts";

/** A crawl whose hub refuses some calls, as one does that is restarted (rules/pipeline-crawl#no-page-twice-none-missed). */

const PAGE = "http://site.test/";
let hub: ReturnType<typeof startCrawledHub>;
beforeEach(() => {
  hub = startCrawledHub();
});
afterEach(() => hub.stop());

const lastAttempt = () => attemptOf(1, 3);
const run = (ctx: ReturnType<typeof lastAttempt>) =>
  hub.open({}).run({ pk: PAGE, extra: null }, ctx);
const failureOf = async (ctx: ReturnType<typeof lastAttempt>): Promise<Error> =>
  run(ctx).then(
    () => new Error("it ran"),
    (err: Error) => err,
  );
const open = ({ kept }: ReturnType<typeof lastAttempt>) =>
  Object.keys((kept.get("crawl/begun") as { open: object }).open);

test.each(["/jobs", "/page.html"])(
  "a task waits and keeps its attempt while the hub refuses %s, and its page counts once",
  async (path) => {
    hub.refuse(path);
    const ctx = lastAttempt();
    const failure = await failureOf(ctx);
    expect(failure).toMatchObject({ retry_after_ms: 10_000 });
    expect(failure.message).toContain("the fleet cannot run a job now");
    expect(hub.asked.at(-1)).toEndWith(path);
    expect(open(ctx)).toHaveLength(1);
    hub.refuse("never");
    expect(await run(ctx)).toMatchObject({ url: PAGE });
    expect(ctx.kept.get("crawl/begun")).toEqual({ pages: 1, open: {} });
  },
);

test("links of a task that failed after it had read them are told by the next that has them", async () => {
  const [other, link] = [`${PAGE}other`, `${PAGE}link`];
  hub.pages[PAGE] = { links: [link] };
  hub.pages[other] = { links: [link] };
  const { run: runPage } = hub.open({});
  const ctx = lastAttempt();
  const { update } = ctx.state;
  ctx.state.update = (...given) => {
    const has_read = hub.asked.some((path) => path.endsWith("/links.json"));
    return has_read ? Promise.reject(new Error("the store is away")) : update(...given);
  };
  await expect(runPage({ pk: PAGE, extra: null }, ctx)).rejects.toThrow("the store is away");
  expect(await runPage({ pk: other, extra: null }, attemptOf(2, 1))).toMatchObject({
    emit: [{ pk: link }],
  });
});

test("a task whose page failed uses up its attempt, and the page has ended with the last", async () => {
  hub.pages[PAGE] = { error: "net::ERR_NAME_NOT_RESOLVED" };
  const ctx = lastAttempt();
  const failure = await failureOf(ctx);
  expect(failure.message).toContain("ERR_NAME_NOT_RESOLVED");
  expect(failure).not.toHaveProperty("retry_after_ms");
  expect(open(ctx)).toEqual([]);
});
