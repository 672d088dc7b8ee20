import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chromium } from "playwright-core";
import puppeteer from "puppeteer-core";
import { startTypePage, type TypePage } from "#test/support/clients/type-page.ts";
import { type RigSession, startViewerRig, type ViewerRig } from "#test/support/rigs/viewer-rig.ts";

/** Programs at /sessions/{sid}/cdp (rules/cdp#cdp-endpoint), unmodified. */

let rig: ViewerRig;
let site: TypePage;
let session: RigSession;
let other: RigSession;
const wsUrl = (s: RigSession) => `${s.url.replace(/^http/, "ws")}/cdp`;

beforeAll(async () => {
  rig = await startViewerRig({ SVC_HEADLESS_LANES: "1", LANE_POOL: "2" });
  site = startTypePage();
  session = await rig.open({ lane_idx: 0, headless: true });
  other = await rig.open({ lane_idx: 1, headless: true });
}, 180_000);
afterAll(async () => {
  await rig?.close();
  await site?.stop();
}, 180_000);

describe("Playwright and Puppeteer connect, open pages, run, disconnect and connect again", () => {
  test.each([
    ["the HTTP address", () => `${session.url}/cdp`],
    ["the WebSocket address", () => wsUrl(session)],
  ])(
    "Playwright by %s",
    async (_name, url) => {
      for (let round = 0; round < 2; round += 1) {
        const browser = await chromium.connectOverCDP(url());
        const page = await (browser.contexts()[0] ?? (await browser.newContext())).newPage();
        await page.goto(site.url);
        expect(await page.title()).toBe("Type here");
        await page.fill("textarea", "by a program");
        expect(await page.inputValue("textarea")).toBe("by a program");
        expect((await page.screenshot()).length).toBeGreaterThan(1_000);
        await page.close();
        await browser.close();
      }
    },
    180_000,
  );

  test.each([
    ["the HTTP address", () => ({ browserURL: `${session.url}/cdp` })],
    ["the WebSocket address", () => ({ browserWSEndpoint: wsUrl(session) })],
  ])(
    "Puppeteer by %s, and its close ends the connection alone",
    async (_name, address) => {
      for (let round = 0; round < 2; round += 1) {
        const browser = await puppeteer.connect(address());
        const page = await browser.newPage();
        await page.goto(site.url);
        expect(await page.title()).toBe("Type here");
        await page.close();
        // Browser.close of the protocol: the lane's browser goes on.
        await browser.close();
      }
      expect(rig.pool.lanes()[0]?.state).toBe("running");
    },
    180_000,
  );
});

test("messages of tens of megabytes pass in both directions", async () => {
  const browser = await chromium.connectOverCDP(`${session.url}/cdp`);
  const page = await browser.contexts()[0]?.newPage();
  expect((await page?.evaluate<string>(`"x".repeat(40_000_000)`))?.length).toBe(40_000_000);
  const long = "z".repeat(20_000_000);
  expect(await page?.evaluate((s: string) => s.length, long)).toBe(long.length);
  await page?.close();
  await browser.close();
}, 180_000);

test("a page of a client has WebGL and WebGL2, which draw", async () => {
  const browser = await chromium.connectOverCDP(`${session.url}/cdp`);
  const page = await browser.contexts()[0]?.newPage();
  const drawn = await page?.evaluate<number[][]>(`["webgl", "webgl2"].map((kind) => {
    const gl = document.createElement("canvas").getContext(kind);
    gl.clearColor(1, 0.5, 0, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const pixel = new Uint8Array(4);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    return [...pixel];
  })`);
  expect(drawn).toEqual([
    [255, 128, 0, 255],
    [255, 128, 0, 255],
  ]);
  await page?.close();
  await browser.close();
}, 180_000);

test("what reaches beyond the lane is refused with a clear message", async () => {
  const browser = await chromium.connectOverCDP(`${session.url}/cdp`);
  const page = await browser.contexts()[0]?.newPage();
  const failureOf = (url: string) => page?.goto(url).then(String, String);
  expect(await failureOf("file:///etc/passwd")).toContain("file: URLs cannot be opened");
  expect(await failureOf("chrome://settings")).toContain("chrome: URLs cannot be opened");
  const port = rig.config.lanes.cdp_port_base + 1;
  expect(await failureOf(`http://127.0.0.1:${port}/json`)).toContain("a port of this worker's own");
  const cdp = await browser.newBrowserCDPSession();
  for (const [method, params] of [
    ["Browser.crash", {}],
    ["Target.setRemoteLocations", { locations: [{ host: "127.0.0.1", port }] }],
  ] as const)
    expect(await cdp.send(method as never, params as never).catch(String)).toContain("refused");
  await page?.close();
  await browser.close();
}, 180_000);

test("another lane's targets are not there, whatever id is asked for", async () => {
  const [mine, theirs] = await Promise.all(
    [session, other].map((s) => chromium.connectOverCDP(`${s.url}/cdp`)),
  );
  const page = await theirs?.contexts()[0]?.newPage();
  await page?.goto(site.url);
  const owned = (await (await fetch(`${other.url}/cdp/json/list`)).json()) as { id: string }[];
  const cdp = await mine?.newBrowserCDPSession();
  const { targetInfos } = (await cdp?.send("Target.getTargets")) ?? { targetInfos: [] };
  expect(owned.length).toBeGreaterThan(0);
  for (const { id } of owned) {
    expect(targetInfos.map((t) => t.targetId)).not.toContain(id);
    const attached = cdp?.send("Target.attachToTarget", { targetId: id, flatten: true });
    expect(await attached?.catch(String)).toContain("No target");
    const answer = await fetch(`${session.url}/cdp/devtools/page/${id}`, {
      headers: { Upgrade: "websocket", Connection: "Upgrade", "Sec-WebSocket-Version": "13" },
    });
    expect(answer.status).toBe(502);
  }
  await page?.close();
  await mine?.close();
  await theirs?.close();
}, 180_000);

test("one target can be connected to by its own address", async () => {
  const browser = await chromium.connectOverCDP(`${session.url}/cdp`);
  const page = await browser.contexts()[0]?.newPage();
  await page?.goto(site.url);
  const list = (await (await fetch(`${session.url}/cdp/json/list`)).json()) as {
    url: string;
    webSocketDebuggerUrl: string;
  }[];
  const target = list.find((t) => t.url === site.url);
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? "");
  const answer = new Promise<string>((resolve) => {
    socket.onmessage = (event) => resolve(String(event.data));
  });
  socket.onopen = () =>
    socket.send(
      JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression: "6*7" } }),
    );
  expect(JSON.parse(await answer).result.result.value).toBe(42);
  socket.close();
  await page?.close();
  await browser.close();
}, 180_000);

test("losing the client leaves the session; the session's end closes the client with the reason", async () => {
  const lost = new WebSocket(wsUrl(other));
  await new Promise((resolve) => {
    lost.onopen = resolve;
  });
  lost.terminate();
  expect((await fetch(`${other.url}/cdp/json/version`)).status).toBe(200);
  const last = new WebSocket(wsUrl(other));
  const closed = new Promise<CloseEvent>((resolve) => {
    last.onclose = resolve;
  });
  await new Promise((resolve) => {
    last.onopen = resolve;
  });
  await other.end("the owner closed it");
  const { code, reason } = await closed;
  expect([code, reason]).toEqual([4404, "session ended: the owner closed it"]);
  expect((await fetch(`${other.url}/cdp/json/version`)).status).toBe(404);
}, 180_000);
