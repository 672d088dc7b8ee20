import { expect, setDefaultTimeout, test } from "bun:test";
import { chromium } from "playwright-core";
import puppeteer from "puppeteer-core";
import type { Session } from "#shared/protocol/schema/session.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { shareSessionFleet } from "#test/support/rigs/session-fleet.ts";

/** Unmodified clients find a session's browser, or open one, by nothing but an address (rules/cdp#addresses). */

setDefaultTimeout(180_000);
const timeout = 120_000;

const rig = shareSessionFleet((site) =>
  site.body("/", { mime: "text/html", bytes: Buffer.from("<title>Found</title>hello") }),
);
const home = () => `${rig.site.origin}/`;
const hub = () => rig.fleet.url;
const ws = () => hub().replace("http", "ws");
const sessions = async (): Promise<Session[]> =>
  ((await (await fetch(`${hub()}/sessions`)).json()) as { sessions: Session[] }).sessions;
/** With its lane warm again for the next one. */
const noneOpen = async () => {
  await until("the end of the session", 60_000, async () => (await sessions()).length === 0);
};

test("Playwright connects to a session by its address, over HTTP and as a socket (rules/cdp#addresses)", async () => {
  const session = await rig.fleet.open({ url: home() });
  const id = session.session_id;
  for (const address of [
    session.url,
    `${hub()}/?session=${id}`,
    `${ws()}/sessions/${id}`,
    `${ws()}/?session=${id}`,
    `${ws()}/cdp?session=${id}`,
  ]) {
    const browser = await chromium.connectOverCDP(address, { timeout });
    expect([address, await browser.contexts()[0]?.pages()[0]?.title()]).toEqual([address, "Found"]);
    await browser.close();
  }
  await session.end();
});

test("Puppeteer connects to a session by its address (rules/cdp#addresses)", async () => {
  const session = await rig.fleet.open({ url: home() });
  for (const browserURL of [session.url, `${hub()}/?session=${session.session_id}`]) {
    const browser = await puppeteer.connect({ browserURL });
    const [page] = await browser.pages();
    expect([browserURL, await page?.title()]).toEqual([browserURL, "Found"]);
    await browser.disconnect();
  }
  await session.end();
});

test("tabs are opened, brought to the front and closed by the discovery, and nothing else is reached by it (rules/cdp#discovery)", async () => {
  const session = await rig.fleet.open({ url: home() });
  const call = (path: string, method = "GET") => fetch(`${session.url}/json${path}`, { method });
  const list = async () => (await (await call("/list")).json()) as { id: string; url: string }[];
  const [first] = await list();
  const opened = await call(`/new?${home()}?tab=2`, "PUT");
  const tab = (await opened.json()) as { id: string; url: string; webSocketDebuggerUrl: string };
  expect(opened.status).toBe(200);
  expect(tab.webSocketDebuggerUrl).toBe(
    `${ws()}/sessions/${session.session_id}/cdp/devtools/page/${tab.id}`,
  );
  await until("the new tab's page", 60_000, async () =>
    (await list()).some(({ id, url }) => id === tab.id && url.endsWith("?tab=2")),
  );
  expect(await (await call(`/activate/${first?.id}`)).text()).toBe("Target activated");
  expect(await (await call(`/close/${tab.id}`)).text()).toBe("Target is closing");
  await until("one tab", 60_000, async () => (await list()).length === 1);
  expect((await call("/new?chrome://settings", "PUT")).status).toBe(422);
  expect((await call("/new?file:///etc/passwd", "PUT")).status).toBe(422);
  expect((await call(`/close/${tab.id}`)).status).toBe(404);
  expect((await call("/close/..%2f..")).status).toBe(404);
  expect((await call("/new")).status).toBe(405);
  expect((await call("/protocol")).status).toBe(200);
  expect(await list()).toHaveLength(1);
  await session.end();
});

test("one address opens a session, and closing the browser ends it (rules/sessions#sessions-of-a-connection)", async () => {
  for (const address of [`${ws()}/?headless`, `${ws()}/cdp?headless`, `${hub()}/?headless`]) {
    const browser = await chromium.connectOverCDP(address, { timeout });
    expect(await sessions()).toMatchObject([{ headless: true, reconnect_s: 15 }]);
    const page = await browser.contexts()[0]?.newPage();
    await page?.goto(home());
    expect(await page?.title()).toBe("Found");
    await browser.close();
    await noneOpen();
  }
  const puppet = await puppeteer.connect({ browserWSEndpoint: `${ws()}/?headless&url=${home()}` });
  const [page] = await puppet.pages();
  expect(await page?.title()).toBe("Found");
  await puppet.close();
  await noneOpen();
});
