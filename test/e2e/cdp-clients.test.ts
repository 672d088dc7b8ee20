import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import puppeteer from "puppeteer-core";
import { createClient, type OpenSession } from "#shared/client/index.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";

/** What the suites of Playwright and Puppeteer ask of a browser, over /sessions/{sid}/cdp; both unmodified. */

const SLOW_MS = 180_000;
/** The libraries give up what takes half a minute. */
const STEP_MS = 120_000;
const LARGE = 24 * 1024 * 1024;
const REPORT = "a,b\n1,2\n";

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;
let session: OpenSession;
let folder: string;

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      const headers = {
        "content-disposition": 'attachment; filename="report.csv"',
        "content-type": "application/octet-stream",
      };
      if (pathname === "/report") return new Response(REPORT, { headers });
      if (pathname === "/large") return new Response(new Uint8Array(LARGE).fill(7), { headers });
      if (pathname === "/endless") return new Response(endless(), { headers });
      const links = ["report", "large", "endless"].map((to) => `<a id=${to} href=/${to}>${to}</a>`);
      return new Response(`<title>Page</title>${links.join(" ")}`, {
        headers: { "content-type": "text/html" },
      });
    },
  });
  folder = mkdtempSync(join(tmpdir(), "cdp-clients-"));
  fleet = await startFleet({ lanes: 1, headless: true, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  await fleet.lanesWarm(60_000);
  session = await createClient({ base_url: fleet.url }).sessions.open({ headless: true });
}, 180_000);
afterAll(async () => {
  expect(await fleet?.stop()).toEqual([]);
  await site?.stop(true);
  rmSync(folder, { recursive: true, force: true });
}, 180_000);

/** A little at a time, for as long as it is read. */
const endless = () =>
  new ReadableStream({
    pull: async (controller) => {
      controller.enqueue(new Uint8Array(1_024));
      await Bun.sleep(20);
    },
  });

const cdpUrl = () => `${fleet.url}/sessions/${session.session_id}/cdp`;

async function withPlaywright<T>(use: (context: BrowserContext, page: Page) => Promise<T>) {
  const browser = await chromium.connectOverCDP(cdpUrl(), { timeout: STEP_MS });
  const context = browser.contexts()[0] ?? (await browser.newContext());
  context.setDefaultTimeout(STEP_MS);
  const page = await context.newPage();
  try {
    await page.goto(site.url.href);
    return await use(context, page);
  } finally {
    await page.close();
    await browser.close();
  }
}

async function withPuppeteer<T>(
  use: (
    browser: import("puppeteer-core").Browser,
    page: import("puppeteer-core").Page,
  ) => Promise<T>,
) {
  const browser = await puppeteer.connect({ browserURL: cdpUrl() });
  const page = await browser.newPage();
  page.setDefaultTimeout(STEP_MS);
  try {
    await page.goto(site.url.href);
    return await use(browser, page);
  } finally {
    await page.close();
    await browser.disconnect();
  }
}

describe("an invalid URL", () => {
  const said = /Protocol error \(Page\.navigate\): Cannot navigate to invalid URL/;

  test(
    "is told to Playwright in Chromium's own words",
    () =>
      withPlaywright(async (_, page) =>
        expect(await page.goto("asdf").catch(String)).toMatch(said),
      ),
    SLOW_MS,
  );
  test(
    "is told to Puppeteer in Chromium's own words",
    () =>
      withPuppeteer(async (_, page) => expect(await page.goto("asdf").catch(String)).toMatch(said)),
    SLOW_MS,
  );
});

describe("permissions are what a desktop shows", () => {
  const NAMES = ["geolocation", "notifications", "camera", "microphone", "midi"];
  const STATES = `Promise.all(${JSON.stringify(NAMES)}.map(async (name) => (await navigator.permissions.query({ name })).state))`;
  const undecided = NAMES.map(() => "prompt");
  const granted = ["granted", ...NAMES.slice(1).map(() => "prompt")];

  test(
    "prompt, until Playwright grants one and takes it back",
    () =>
      withPlaywright(async (context, page) => {
        expect(await page.evaluate<string[]>(STATES)).toEqual(undecided);
        expect(await page.evaluate("Notification.permission")).toBe("default");
        await context.grantPermissions(["geolocation"], { origin: site.url.origin });
        expect((await page.evaluate<string[]>(STATES))[0]).toBe("granted");
        await context.clearPermissions();
        expect(await page.evaluate<string[]>(STATES)).toEqual(undecided);
      }),
    SLOW_MS,
  );

  test(
    "prompt, until Puppeteer overrides them and takes that back",
    () =>
      withPuppeteer(async (browser, page) => {
        expect(await page.evaluate(STATES)).toEqual(undecided);
        const context = browser.defaultBrowserContext();
        await context.overridePermissions(site.url.origin, ["geolocation"]);
        expect(((await page.evaluate(STATES)) as string[])[0]).toBe(granted[0] as string);
        await context.clearPermissionOverrides();
        expect(await page.evaluate(STATES)).toEqual(undecided);
      }),
    SLOW_MS,
  );

  test(
    "a page that asks is refused at once: no question stays open where nobody answers it",
    () =>
      withPlaywright(async (_, page) => {
        const asked = await page.evaluate<unknown[]>(`Promise.all([
          new Promise((done) => navigator.geolocation.getCurrentPosition(() => done("there"), (err) => done(err.code))),
          Notification.requestPermission(),
          navigator.mediaDevices.getUserMedia({ audio: true, video: true }).then(() => "there", (err) => err.name),
          navigator.requestMIDIAccess({ sysex: true }).then(() => "there", (err) => err.name),
          navigator.clipboard.readText().then(() => "there", (err) => err.name),
        ])`);
        const PERMISSION_DENIED = 1;
        expect(asked.slice(0, 2)).toEqual([PERMISSION_DENIED, "denied"]);
        expect(asked.slice(2).filter((name) => name === "there")).toEqual([]);
      }),
    SLOW_MS,
  );
});

describe("downloads", () => {
  async function download(page: Page, link: string) {
    const [file] = await Promise.all([page.waitForEvent("download"), page.click(link)]);
    return file;
  }

  test(
    "are on the client's disk with the client library's transport: saveAs, path and createReadStream",
    async () => {
      const browser = await chromium.connectOverCDP(session.cdpTransport(), { timeout: STEP_MS });
      const [own] = browser.contexts();
      for (const context of [own, await browser.newContext()]) {
        const page = await (context as BrowserContext).newPage();
        page.setDefaultTimeout(STEP_MS);
        await page.goto(site.url.href);
        const report = await download(page, "#report");
        expect(report.suggestedFilename()).toBe("report.csv");
        await report.saveAs(join(folder, "report.csv"));
        expect(readFileSync(join(folder, "report.csv"), "utf8")).toBe(REPORT);
        expect(readFileSync(await report.path(), "utf8")).toBe(REPORT);
        const large = await download(page, "#large");
        let size = 0;
        for await (const chunk of await large.createReadStream()) size += (chunk as Buffer).length;
        expect(size).toBe(LARGE);
        expect(await large.failure()).toBeNull();
        const endless = await download(page, "#endless");
        await endless.cancel();
        expect(await endless.failure()).toBe("canceled");
        await page.close();
      }
      await browser.close();
    },
    SLOW_MS,
  );

  test(
    "of any client are read from /files, by their name or by what the browser calls them",
    () =>
      withPuppeteer(async (browser, page) => {
        const cdp = await browser.target().createCDPSession();
        const done = new Promise<string>((resolve) => {
          cdp.on("Browser.downloadProgress", ({ state, guid }) => {
            if (state === "completed") resolve(guid);
          });
        });
        await cdp.send("Browser.setDownloadBehavior", {
          behavior: "allowAndName",
          downloadPath: "/nowhere",
          eventsEnabled: true,
        });
        await page.click("#report");
        const guid = await done;
        expect(await (await session.file(guid)).text()).toBe(REPORT);
        // Chromium tells the client and the session's own watch of the end one after the other.
        const file = await until("the end of the download", 60_000, async () =>
          (await session.files()).findLast(
            ({ url, state }) => url.endsWith("/report") && state === "completed",
          ),
        );
        expect(file.size).toBe(REPORT.length);
        expect(await (await session.file(file.name)).text()).toBe(REPORT);
        const begun = new Promise<string>((resolve) => {
          cdp.on("Browser.downloadProgress", ({ state, guid: other, receivedBytes }) => {
            if (state === "inProgress" && receivedBytes > 0) resolve(other);
          });
        });
        await page.click("#endless");
        const running = await begun;
        expect(await session.file(running).catch((err) => err.status)).toBe(404);
        await cdp.send("Browser.cancelDownload", { guid: running });
        const unknown = crypto.randomUUID();
        expect(await session.file(unknown).catch((err) => err.status)).toBe(404);
      }),
    SLOW_MS,
  );

  test(
    "that a page starts by itself, one after the other, are not asked about either",
    () =>
      withPlaywright(async (_, page) => {
        const before = (await session.files()).length;
        const completed = async () => {
          const files = (await session.files()).slice(before);
          return files.filter(({ state }) => state === "completed").length;
        };
        for (let i = 1; i <= 4; i += 1) {
          await page.evaluate<void>(`setTimeout(() => { location.href = "/report?${i}" })`);
          await until(`file ${i}`, 60_000, async () => (await completed()) === i);
        }
      }),
    SLOW_MS,
  );
});
