import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { laneEnv, makeDataDir } from "#test/support/rigs/lane-pool.ts";
import { connectBrowser } from "#worker/browser/actions/connect.ts";
import { CdpConnection } from "#worker/browser/cdp/connection.ts";
import { socketTransport } from "#worker/browser/cdp/transport.ts";
import type { LaneBrowser } from "#worker/browser/lanes/lane-browser.ts";
import { createLanePool, type LanePool } from "#worker/browser/lanes/pool.ts";
import { type TargetWatch, watchTargets } from "#worker/browser/record/targets.ts";
import { loadWorkerConfig } from "#worker/config.ts";

/** A second debugger that arrives while the recorder holds a frame in another process. */

const data_dir = makeDataDir();
const asked: string[] = [];
const site = Bun.serve({
  port: 0,
  fetch: (request, server) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    const html = (text: string) => new Response(text, { headers: { "content-type": "text/html" } });
    if (pathname === "/page")
      return html(`<iframe src="http://frame.localhost:${server.port}/frame"></iframe>`);
    if (pathname === "/frame") return html("<p>here</p><script>fetch('/ran')</script>");
    return new Response("");
  },
});
let pool: LanePool;
let browser: LaneBrowser;
let watch: TargetWatch;
/** Of the frame that is held: resolves when it is, and lets it go. */
let frame: { held: Promise<void>; go(): void };

beforeAll(async () => {
  const env = laneEnv(data_dir, { LANE_POOL: "1", SVC_HEADLESS_LANES: "1" });
  const config = loadWorkerConfig(env, {});
  pool = await createLanePool({ config, log: silentLog, clock: systemClock });
  const hold = pool.hold(0, { job_id: "job1", session_id: "session1" });
  const opened = await hold?.browser({ headless: true });
  if (!opened) throw new Error("no browser");
  browser = opened;
  watch = watchTargets({
    connection: browser.connection,
    clock: systemClock,
    durable: true,
    bodies: true,
    owns: () => true,
    onTarget: () => {},
    onPlain: () => {},
    onUnseen: () => {},
  });
  await watch.start();
  await until("the page", 60_000, () => watch.pages().length === 1);
}, 180_000);
afterAll(async () => {
  await pool.close();
  await site.stop(true);
  rmSync(data_dir, { recursive: true, force: true });
});

/** Opens the page, whose frame has its document and waits for `go`. */
async function openHeld(): Promise<string> {
  const held = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  frame = { held: held.promise, go: gate.resolve };
  browser.connection.beforeRelease = (session) => {
    if (session.target?.type !== "iframe") return null;
    held.resolve();
    return gate.promise;
  };
  asked.length = 0;
  const [page] = watch.pages();
  if (!page) throw new Error("no page");
  await page.session.send("Page.navigate", { url: `http://127.0.0.1:${site.port}/page` });
  await frame.held;
  return page.target_id;
}

test("Playwright that connects while a frame is held sees the frame", async () => {
  const target_id = await openHeld();
  const connected = await connectBrowser(browser);
  try {
    const page = await connected.page(target_id);
    frame.go();
    expect(await page.frameLocator("iframe").locator("p").textContent()).toBe("here");
    expect(watch.all().map(({ type }) => type)).toEqual(["page", "iframe"]);
  } finally {
    connected.close();
  }
}, 180_000);

test("a frame runs although another client attached to its page while it was held", async () => {
  const target_id = await openHeld();
  const other = new CdpConnection(await socketTransport(browser.cdp_url));
  try {
    const { sessionId } = await other.root.send("Target.attachToTarget", {
      targetId: target_id,
      flatten: true,
    });
    await other.session(sessionId)?.send("Target.setAutoAttach", {
      autoAttach: true,
      waitForDebuggerOnStart: false,
      flatten: true,
    });
    frame.go();
    await until("the frame's script", 60_000, () => asked.includes("/ran"));
    await until("the recorder", 60_000, () => watch.all().some(({ type }) => type === "iframe"));
  } finally {
    other.close();
  }
}, 180_000);
