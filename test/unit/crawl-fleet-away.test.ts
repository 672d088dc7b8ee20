import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { attemptOf, startCrawledHub } from "#test/support/fakes/crawled-hub.ts";
import { storeError } from "#test/support/fakes/store-error.ts";

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
    expect(failure.message).toContain("the hub cannot be asked now");
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

describe("while the plugin's store is away", () => {
  /** The store answers `calls` calls of the attempt, and refuses all others with this status. */
  async function refusesAfter(calls: number, status: number, ctx: ReturnType<typeof lastAttempt>) {
    const refusal = await storeError(status);
    let left = calls;
    for (const [name, call] of Object.entries(ctx.state))
      Object.assign(ctx.state, {
        [name]: (...given: unknown[]) => {
          left -= 1;
          return left < 0 ? Promise.reject(refusal) : Reflect.apply(call, null, given);
        },
      });
  }
  /** So many calls of the store does a page make. */
  const CALLS = 5;

  test.each([...Array(CALLS).keys()].flatMap((n) => [429, 502, 503].map((status) => [n, status])))(
    "from call %d on (%d), a task waits and keeps its attempt, and its page is opened and counts once",
    async (calls, status) => {
      const ctx = lastAttempt();
      await refusesAfter(calls, status, ctx);
      const told = await run(ctx).catch((err: Error) => err);
      // The last call only says that the page is not open any more.
      if (calls < CALLS - 1) expect(told).toMatchObject({ retry_after_ms: 10_000 });
      else expect(told).toMatchObject({ url: PAGE });
      if (calls < CALLS - 1) await run(attemptOf(1, 3, ctx.kept, 4));
      expect(hub.urls).toEqual([PAGE]);
      expect(ctx.kept.get("crawl/begun")).toEqual({ pages: 1, open: {} });
    },
  );

  test("a value that it does not take fails the attempt", async () => {
    const ctx = lastAttempt();
    await refusesAfter(2, 413, ctx);
    const failure = await failureOf(ctx);
    expect(failure.name).toBe("StoreError");
    expect(failure).not.toHaveProperty("retry_after_ms");
  });

  test.each([1, 3])("what failed before it is what attempt %d ends with", async (attempt) => {
    hub.pages[PAGE] = { error: "net::ERR_NAME_NOT_RESOLVED" };
    const ctx = attemptOf(1, attempt);
    await refusesAfter(3, 502, ctx);
    const failure = await failureOf(ctx);
    expect(failure.message).toContain("ERR_NAME_NOT_RESOLVED");
    expect(failure).not.toHaveProperty("retry_after_ms");
  });
});
