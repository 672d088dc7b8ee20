import { afterAll, beforeEach, expect, test } from "bun:test";
import type { TaskContext } from "#hub/plugins/crawl/context.ts";
import { createPlugin } from "#hub/plugins/crawl/crawl.ts";

/** A crawl whose hub refuses some calls, as one does that is restarted (rules/pipeline-crawl#no-page-twice-none-missed). */

const job = {
  job_id: "j1",
  status: "completed",
  url: "http://site.test/",
  final_url: "http://site.test/",
  http_status: 200,
  title: "",
};
const asked: string[] = [];
let refused = "never";
const hub = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  websocket: {
    open: (socket) => void socket.send(JSON.stringify({ type: "done", seq: 1 })),
    message: () => {},
  },
  fetch: (request, server) => {
    const { pathname } = new URL(request.url);
    asked.push(`${request.method} ${pathname}`);
    if (pathname.endsWith("/events") && server.upgrade(request)) return undefined;
    if (pathname.endsWith(refused)) return new Response("{}", { status: 503 });
    if (pathname.endsWith("/links")) return Response.json([]);
    return pathname.startsWith("/jobs") && !pathname.includes("page.html")
      ? Response.json(job)
      : new Response("not here", { status: 404 });
  },
});
const env = { ...process.env };
beforeEach(() => {
  asked.length = 0;
  process.env.FLOTILLA_WORKLOAD = "crawl";
  process.env.FLOTILLA_FLEET_URL = hub.url.href;
});
afterAll(async () => {
  process.env = env;
  await hub.stop(true);
});

/** The last attempt of a task, with what the plugin keeps. */
function lastAttempt(): TaskContext & { kept: Map<string, unknown> } {
  const kept = new Map<string, unknown>();
  return {
    kept,
    task_id: 1,
    attempt: 3,
    max_attempts: 3,
    signal: new AbortController().signal,
    state: {
      get: async (key, fallback) => kept.get(key) ?? fallback,
      set: async (key, value) => void kept.set(key, value),
      update: async (key, change, fallback) => {
        const next = change(kept.get(key) ?? fallback);
        kept.set(key, next);
        return next;
      },
    },
  };
}
const run = (ctx: TaskContext) =>
  createPlugin({ robots: false, sitemaps: false, delay_s: 0 }).run(
    { pk: job.url, extra: null },
    ctx,
  );
const open = ({ kept }: ReturnType<typeof lastAttempt>) =>
  Object.keys((kept.get("crawl/begun") as { open: object }).open);

test.each(["/jobs", "/page.html"])(
  "a task waits and keeps its attempt while the hub refuses %s, and its page counts once",
  async (path) => {
    refused = path;
    const ctx = lastAttempt();
    const failure = await run(ctx).then(
      () => new Error("it ran"),
      (err: Error) => err,
    );
    expect(failure).toMatchObject({ retry_after_ms: 10_000 });
    expect(failure.message).toContain("the fleet cannot run a job now");
    expect(asked.at(-1)).toEndWith(path);
    expect(open(ctx)).toHaveLength(1);
    refused = "never";
    expect(await run(ctx)).toMatchObject({ url: job.url, job_id: job.job_id });
    expect(ctx.kept.get("crawl/begun")).toEqual({ pages: 1, open: {} });
  },
);

test("a task whose page failed uses up its attempt, and the page has ended with the last", async () => {
  refused = "never";
  const ctx = lastAttempt();
  Object.assign(job, { status: "failed", error: "net::ERR_NAME_NOT_RESOLVED" });
  const failure = await run(ctx).then(
    () => new Error("it ran"),
    (err: Error) => err,
  );
  expect(failure.message).toContain("ERR_NAME_NOT_RESOLVED");
  expect(failure).not.toHaveProperty("retry_after_ms");
  expect(open(ctx)).toEqual([]);
});
