import { describe, expect, test } from "bun:test";
import { WHERE, withPlaywright, withPuppeteer } from "#test/support/clients/cdp-libraries.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { shareSessionFleet } from "#test/support/rigs/session-fleet.ts";

/** Workers and windows as unmodified libraries see them from their first moment, at a session and, as control, locally. */

const rig = shareSessionFleet((site) => {
  const put = (path: string, mime: string, text: string) =>
    site.body(path, { mime, bytes: Buffer.from(text) });
  put(
    "/service",
    "text/html",
    `<title>Service</title><script>
      navigator.serviceWorker.register("/service.js");
      activated = new Promise((done) => { navigator.serviceWorker.oncontrollerchange = () => done(true) });
    </script>`,
  );
  put(
    "/service.js",
    "text/javascript",
    `importScripts("/imported.js");
    console.log("the service worker runs");
    addEventListener("activate", (e) => e.waitUntil(clients.claim()));
    addEventListener("fetch", (e) => {
      if (e.request.url.endsWith("/data")) e.respondWith(fetch("/data-of-the-worker"));
    });`,
  );
  put("/imported.js", "text/javascript", "globalThis.imported = 'from the server'");
  put("/data", "text/plain", "of the server");
  put("/data-of-the-worker", "text/plain", "of the worker");
  put("/dedicated", "text/html", "<script>worker = new Worker('/dedicated.js')</script>");
  put("/dedicated.js", "text/javascript", "globalThis.answer = 42; console.log('a worker runs')");
  put("/opener", "text/html", "<title>Opener</title>");
  put("/opened", "text/html", "<title>Opened</title><script>fetch('/first')</script>");
  put("/first", "text/plain", "from the server");
});

describe.each(WHERE)("at %s", (where) => {
  test("Playwright sees and changes what a service worker asks for first, and hears its first words", async () => {
    await withPlaywright(rig.fleet, where, async (browser) => {
      const context = await browser.newContext();
      const asked = new Set<string>();
      const said: string[] = [];
      context.on("request", (request) => {
        if (request.serviceWorker()) asked.add(new URL(request.url()).pathname);
      });
      context.on("console", (message) => said.push(message.text()));
      await context.route("**/imported.js", (route) =>
        route.fulfill({
          contentType: "text/javascript",
          body: "globalThis.imported = 'from the client'",
        }),
      );
      const page = await context.newPage();
      const started = context.waitForEvent("serviceworker");
      await page.goto(`${rig.site.origin}/service`);
      const worker = await started;
      expect(await page.evaluate<boolean>("activated")).toBe(true);
      expect(await worker.evaluate<string>("imported")).toBe("from the client");
      const body = await page.evaluate<string>("fetch('/data').then((r) => r.text())");
      expect(body).toBe("of the worker");
      // Of the worker's own session, which may tell it after the page's.
      await until("the worker's requests", 60_000, () => asked.size >= 3);
      expect([...asked].sort()).toEqual(["/data-of-the-worker", "/imported.js", "/service.js"]);
      expect(said).toEqual(["the service worker runs"]);
      await context.close();
    });
  }, 180_000);

  test("Playwright hears a dedicated worker, and routes a popup's first requests", async () => {
    await withPlaywright(rig.fleet, where, async (browser) => {
      const context = await browser.newContext();
      const page = await context.newPage();
      const words = "a worker runs";
      const heard = page.waitForEvent("console", (message) => message.text() === words);
      const started = page.waitForEvent("worker");
      await page.goto(`${rig.site.origin}/dedicated`);
      const worker = await started;
      await heard;
      expect(await worker.evaluate<number>("answer")).toBe(42);

      await page.goto(`${rig.site.origin}/opener`);
      const routed: string[] = [];
      await context.route(/\/(opened|first)$/, async (route) => {
        routed.push(new URL(route.request().url()).pathname);
        await route.continue();
      });
      const answered = context.waitForEvent("response", (r) => r.url().endsWith("/first"));
      const opened = page.waitForEvent("popup");
      await page.evaluate("void window.open('/opened')");
      expect(await (await opened).title()).toBe("Opened");
      await answered;
      expect(routed).toEqual(["/opened", "/first"]);
      await context.close();
    });
  }, 180_000);

  test("Puppeteer finds service and dedicated workers and speaks to them", async () => {
    await withPuppeteer(rig.fleet, where, async (browser) => {
      const page = await browser.newPage();
      const found = browser.waitForTarget((target) => target.type() === "service_worker");
      await page.goto(`${rig.site.origin}/service`);
      const service = await (await found).worker();
      expect(await page.evaluate("activated")).toBe(true);
      expect(await service?.evaluate("imported")).toBe("from the server");
      const created = new Promise<string>((resolve) => {
        page.once("workercreated", (worker) => resolve(worker.url()));
      });
      await page.goto(`${rig.site.origin}/dedicated`);
      expect(await created).toBe(`${rig.site.origin}/dedicated.js`);
      await page.close();
    });
  }, 180_000);
});
