import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { laneEnv, makeDataDir } from "#test/support/rigs/lane-pool.ts";
import { type DesktopSite, startDesktopSite } from "#test/support/servers/site/desktop-pages.ts";
import { createLanePool, type LanePool } from "#worker/browser/lanes/pool.ts";
import { loadWorkerConfig } from "#worker/config.ts";

/** A lane shows a page what a desktop shows it, with a display or without. */

const KINDS = ["headful", "headless"] as const;
type Kind = (typeof KINDS)[number];
const SLOW_MS = 180_000;
const STEP_MS = 120_000;

let site: DesktopSite;
let pool: LanePool;
let data_dir: string;

beforeAll(async () => {
  data_dir = makeDataDir();
  site = await startDesktopSite();
  const config = loadWorkerConfig(laneEnv(data_dir, { LANE_POOL: "1" }), {});
  pool = await createLanePool({ config, log: silentLog, clock: systemClock });
}, SLOW_MS);
afterAll(async () => {
  await pool?.close();
  await site?.close();
  rmSync(data_dir, { recursive: true, force: true });
}, SLOW_MS);

/** A page of the site in a lane's fresh browser; nothing but the page looks at it. */
async function onLane<T>(
  kind: Kind,
  use: (page: Page, browser: Browser) => Promise<T>,
): Promise<T> {
  const hold = pool.hold(0, { job_id: "job1", session_id: "session1" });
  if (!hold) throw new Error(`the lane is not free: ${JSON.stringify(pool.lanes())}`);
  try {
    const lane = await hold.browser({ headless: kind === "headless" });
    const browser = await chromium.connectOverCDP(lane.cdp_url, { timeout: STEP_MS });
    const page = browser.contexts()[0]?.pages()[0];
    if (!page) throw new Error("the browser has no page");
    page.setDefaultTimeout(STEP_MS);
    await page.goto(site.url);
    return await use(page, browser).finally(() => browser.close());
  } finally {
    await hold.release();
  }
}

describe.each(KINDS)("a %s lane", (kind) => {
  test(
    "draws with WebGL 1 and 2, and computes with WebGPU",
    () =>
      onLane(kind, async (page) => {
        expect(await page.evaluate<unknown>("drawTriangle('webgl')")).toEqual([0, 255, 0, 255]);
        expect(await page.evaluate<unknown>("drawTriangle('webgl2')")).toEqual([0, 255, 0, 255]);
        // In software on every processor that Chromium runs on.
        expect(await page.evaluate<unknown>("doubleOnGpu([1, 2, 21])")).toEqual([2, 4, 42]);
      }),
    SLOW_MS,
  );

  test(
    "plays the codecs of Debian's Chromium",
    () =>
      onLane(kind, async (page) => {
        for (const { file, type } of site.media) {
          expect([type, await page.evaluate<unknown>(`support(${JSON.stringify(type)})`)]).toEqual([
            type,
            "probably",
          ]);
          expect([file, await page.evaluate<unknown>(`play("/media/${file}")`)]).toEqual([
            file,
            "played",
          ]);
        }
      }),
    SLOW_MS,
  );

  test(
    "has a mouse: pages show their menus on hover",
    () =>
      onLane(kind, async (page) => {
        const query = "(hover: hover) and (pointer: fine) and (any-hover: hover)";
        expect(await page.evaluate(`matchMedia("${query}").matches`)).toBe(true);
      }),
    SLOW_MS,
  );

  test(
    "goes on after window.print(): nobody answers a dialog",
    () =>
      onLane(kind, async (page) =>
        expect(await page.evaluate("print(), 'printed'")).toBe("printed"),
      ),
    SLOW_MS,
  );

  test(
    "has a glyph for Latin, Chinese, Japanese, Korean, Arabic, Hebrew, Hindi, Thai and coloured emoji",
    () =>
      onLane(kind, async (page) => {
        const texts = ["abc", "中文", "日本語かな", "한국어", "العربية", "עברית", "हिन्दी", "ไทย"];
        expect(
          await page.evaluate<unknown>(`${JSON.stringify(texts)}.filter((t) => !hasGlyphs(t))`),
        ).toEqual([]);
        expect(await page.evaluate("isColoured('🚀')")).toBe(true);
      }),
    SLOW_MS,
  );
});

test(
  "headful and headless lanes look alike: user agent, client hints, navigator and screen, in every request and worker",
  async () => {
    const accounts: Record<Kind, unknown> = { headful: null, headless: null };
    for (const kind of KINDS)
      accounts[kind] = await onLane(kind, async (page) => {
        site.requests.clear();
        const told = await page.evaluate<unknown>("accountOfItself()");
        await page.evaluate("openEverything()");
        const headers = await site.requests.all([
          "/worker.js",
          "/worker-fetch",
          "/shared-worker.js",
          "/shared-worker-fetch",
          "/service-worker.js",
          "/service-worker-fetch",
          "/popup",
          "/popup-fetch",
          "/fetch",
          "/frame",
        ]);
        return { told, headers };
      });
    expect(JSON.stringify(accounts.headful)).not.toContain("Headless");
    expect(JSON.stringify(accounts.headful)).toContain('\\"Chromium\\"');
    expect(accounts.headless).toEqual(accounts.headful);
  },
  SLOW_MS * 2,
);
