import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Browser, chromium } from "playwright-core";
import { attempting } from "#test/support/rigs/attempts.ts";
import { CHROMIUM_FLAGS, chromiumPath } from "#test/support/rigs/chromium.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { LOADS, UNTOLD, VISITS } from "./lists/visits.ts";

/** A page of another site makes a browser load `GET /{target_url}`, which makes jobs, over plain HTTP. */

const SLOW_MS = 240_000;
let hub: TestHub;
let site: ReturnType<typeof Bun.serve>;
let browser: Browser;

const HELP = `
  const told = (work) => { work(); return new Promise((done) => setTimeout(done, 500)); };
  const loaded = (tag, of, on = "onload") => new Promise((done) => {
    const element = Object.assign(document.createElement(tag), of);
    element[on] = element.onerror = done;
    setTimeout(done, 2_000);
    document.body.append(element);
  });`;

beforeAll(async () => {
  hub = await startTestHub({
    alone: true,
    env: { SVC_ALLOWED_HOSTS: "hub.test", SVC_SUBMIT_WAIT_S: "0.01" },
  });
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { searchParams } = new URL(url);
      const to = searchParams.get("to");
      if (to) return new Response(null, { status: 302, headers: { location: to } });
      const goes = `<script>location = ${JSON.stringify(searchParams.get("goes"))}</script>`;
      return new Response(`<!doctype html><body>${searchParams.has("goes") ? goes : ""}`, {
        headers: { "content-type": "text/html" },
      });
    },
  });
  browser = await chromium.launch({
    executablePath: chromiumPath(),
    // Of these names, unlike of localhost, browsers report nothing.
    args: [...CHROMIUM_FLAGS, "--host-resolver-rules=MAP *.test 127.0.0.1"],
    timeout: 120_000,
  });
}, SLOW_MS);
afterAll(async () => {
  await browser?.close();
  await site?.stop(true);
  await hub?.close();
}, SLOW_MS);

/** Has a page try these ways. @returns those that made a job */
async function jobsOf(ways: Record<string, string>): Promise<string[]> {
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(`http://evil.test:${site.port}/`);
  const { port } = new URL(hub.url);
  const names = Object.keys(ways);
  const mark = `way-of-${names.length}`;
  await page.evaluate<unknown>(`(async () => {
    ${HELP}
    const ways = [${Object.values(ways).join(",\n")}];
    await Promise.all(ways.map((way, i) => way("http://hub.test:${port}/http://127.0.0.1:9/${mark}-" + i)));
  })()`);
  await page.close();
  const { body } = await hub.call("GET", "/jobs?limit=200");
  const urls: string[] = body.jobs.map(({ url }: { url: string }) => url);
  return names.filter((_, i) => urls.some((url) => url.split("/")[3] === `${mark}-${i}`));
}

test(
  "nothing that a page loads by itself makes a job (rules/access#pages-of-other-origins)",
  async () => {
    expect(await jobsOf(LOADS)).toEqual([]);
    const tried = attempting(VISITS);
    for (const name of Object.keys(LOADS)) tried.refused(name);
  },
  SLOW_MS,
);

test(
  "a frame over plain HTTP does: browsers load it as they load a page that somebody goes to",
  async () => {
    expect(await jobsOf(UNTOLD)).toEqual(Object.keys(UNTOLD));
  },
  SLOW_MS,
);

test(
  "where browsers say so, a page of another site goes there only when somebody clicks (rules/access#pages-of-other-origins)",
  async () => {
    const { port } = new URL(hub.url);
    const there = (mark: string) => `http://localhost:${port}/http://127.0.0.1:9/${mark}`;
    const page = await browser.newPage();
    await page.goto(`http://evil.test:${site.port}/`);
    const answered = page.waitForResponse((answer) => answer.url().endsWith("/by-itself"));
    // What Playwright evaluates counts as a click.
    await page.goto(
      `http://evil.test:${site.port}/?goes=${encodeURIComponent(there("by-itself"))}`,
    );
    expect((await answered).status()).toBe(403);
    await page.goto(`http://evil.test:${site.port}/`);
    await page.evaluate<unknown>(
      `document.body.innerHTML = '<a id="link" href="${there("clicked")}">go</a>'`,
    );
    await page.click("#link");
    await page.waitForURL(/\/ui\//);
    await page.close();
    const { body } = await hub.call("GET", "/jobs?limit=200");
    const urls: string[] = body.jobs.map(({ url }: { url: string }) => url);
    expect(urls.filter((url) => /by-itself|clicked/.test(url))).toEqual([
      "http://127.0.0.1:9/clicked",
    ]);
  },
  SLOW_MS,
);

test(
  "a person who goes there makes one, from a link too",
  async () => {
    const { port } = new URL(hub.url);
    const page = await browser.newPage();
    await page.goto(`http://evil.test:${site.port}/`);
    await page.evaluate<unknown>(`location = "http://hub.test:${port}/http://127.0.0.1:9/link"`);
    await page.waitForURL(/\/ui\//);
    await page.goto(`http://hub.test:${port}/http://127.0.0.1:9/typed`);
    await page.waitForURL(/\/ui\//);
    await page.close();
    const { body } = await hub.call("GET", "/jobs");
    const urls: string[] = body.jobs.map(({ url }: { url: string }) => url);
    expect(urls.slice(0, 2)).toEqual(["http://127.0.0.1:9/typed", "http://127.0.0.1:9/link"]);
  },
  SLOW_MS,
);
