import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { type BareBrowser, startBareBrowser } from "./bare-playwright.ts";
import { type Bench, showMs, statsOf, timed } from "./harness.ts";
import { servePages } from "./pages.ts";

/** The longest that one call may take here, with its wait for a lane. */
const CALL_MS = 120_000;

async function screenshot(fleet: FleetProcesses, url: string): Promise<number> {
  for (;;) {
    const answer = await fetch(`${fleet.url}/screenshot`, {
      method: "POST",
      signal: AbortSignal.timeout(CALL_MS),
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ url }),
    });
    const bytes = (await answer.arrayBuffer()).byteLength;
    if (answer.ok) return bytes;
    if (answer.status !== 503) throw new Error(`POST /screenshot: ${answer.status}`);
  }
}

/** A context of its own for each picture, in a browser that stays. */
async function bareScreenshot({ browser }: BareBrowser, url: string): Promise<void> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url);
  await page.screenshot();
  await context.close();
}

/** Callers that each make their next call as soon as the last one is answered. */
async function rateOf(fleet: FleetProcesses, url: string, calls: number): Promise<number> {
  let left = calls;
  const caller = async () => {
    while (left > 0) {
      left -= 1;
      await screenshot(fleet, url);
    }
  };
  const all = await timed(() => Promise.all([caller(), caller(), caller(), caller()]));
  return calls / (all.ms / 1_000);
}

/** POST /screenshot of the page of 60 resources on a warm lane, and how many a second two lanes make. */
export const oneShot: Bench = async ({ runs, tiny }) => {
  const site = servePages();
  const fleet = await startFleet({ lanes: 2 });
  const bare = await startBareBrowser(476);
  const url = `${site.url}sixty`;
  try {
    await fleet.lanesWarm(60_000);
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let i = tiny ? 0 : -2; i < (tiny ? 1 : Math.max(runs, 9)); i += 1) {
      const one = await timed(() => screenshot(fleet, url));
      await fleet.lanesWarm();
      const other = await timed(() => bareScreenshot(bare, url));
      if (!tiny && i < 0) continue;
      ours.push(one.ms);
      theirs.push(other.ms);
    }
    const rate = await rateOf(fleet, url, tiny ? 2 : 60);
    const [a, b] = [statsOf(ours), statsOf(theirs)];
    return [
      {
        bench: "one-shot",
        metric: "POST /screenshot, 60-resource page, warm lane",
        value: showMs(a),
        reference: `a new context of a warm Chromium ${showMs(b)}`,
        ratio: a.median / b.median,
        target: "p50 ≤ 332 ms",
        raw: { ours, theirs },
      },
      {
        bench: "one-shot",
        metric: "the same, four callers, two lanes, a new browser each",
        value: `${rate.toFixed(2)}/s`,
        target: "≥ 4/s",
        raw: rate,
      },
    ];
  } finally {
    await fleet.stop();
    await bare.close();
    await site.stop(true);
  }
};
