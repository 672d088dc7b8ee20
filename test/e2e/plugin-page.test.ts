import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { CHROMIUM_FLAGS, chromiumPath } from "#test/support/rigs/chromium.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/**
 * Pages and blobs of plugins as a browser takes them (rules/pipeline-plugins#web-pages-of-a-plugin,
 * rules/pipeline-plugins#blobs).
 */

let hub: TestHub;
let browser: Browser;
beforeAll(async () => {
  const plugins = join(import.meta.dir, "../../hub/program/demo/plugins");
  [hub, browser] = await Promise.all([
    startTestHub({ env: { SVC_PLUGINS_DIR: plugins } }),
    chromium.launch({
      executablePath: chromiumPath(),
      args: [...CHROMIUM_FLAGS],
    }),
  ]);
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await hub?.close();
});

const api = (path: string) => `${hub.url}/api/v1/plugins/word-count${path}`;
const putBlob = (body: string, type: string) =>
  fetch(api("/blob/top.svg"), { method: "PUT", body, headers: { "content-type": type } });

test("a plugin's page runs its script and shows its blob, and has no part in the API's origin", async () => {
  const picture = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="60"/>';
  await putBlob(picture, "image/svg+xml");
  const context = await browser.newContext();
  await context.addCookies([{ name: "session", value: "secret", url: hub.url }]);
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  await page.goto(api("/web/"));
  await page.waitForFunction("document.querySelector('img').naturalWidth > 0");
  const seen = await page.evaluate(`(async () => {
    const attempt = async (work) => {
      try {
        return String(await work());
      } catch (err) {
        return err.name;
      }
    };
    return {
      origin: self.origin,
      cookie: await attempt(() => document.cookie),
      storage: await attempt(() => localStorage.length),
      read: await attempt(() => fetch("/api/v1/workloads")),
      blind: await attempt(() => fetch("/api/v1/runs", { method: "POST", mode: "no-cors" })),
      width: document.querySelector("img").naturalWidth,
    };
  })()`);
  expect(seen).toEqual({
    origin: "null",
    cookie: "SecurityError",
    storage: "SecurityError",
    read: "TypeError",
    blind: "TypeError",
    width: 300,
  });
  await fetch(api("/blob/top.svg"), { method: "DELETE" });
  await page.click("#again");
  await page.waitForSelector("#none:not([hidden])");
  await context.close();
}, 180_000);

test("a hostile page stored as a blob is saved, not shown", async () => {
  await putBlob("<title>before</title><script>document.title = 'ran'</script>", "text/html");
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  const download = page.waitForEvent("download");
  const shown = page.goto(api("/blob/top.svg")).then(
    () => true,
    () => false,
  );
  expect((await download).suggestedFilename()).toBe("top.svg");
  expect(await shown).toBe(false);
  expect(page.url()).toBe("about:blank");
  const { headers } = await fetch(api("/blob/top.svg"));
  expect(headers.get("content-security-policy")).toStartWith("sandbox; default-src 'none'");
  await page.close();
}, 180_000);
