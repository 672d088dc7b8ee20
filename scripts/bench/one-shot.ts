import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { type BareBrowser, startBareBrowser } from "./bare-playwright.ts";
import { startBrowserless } from "./browserless.ts";
import { type Bench, type Figure, showMs, statsOf, timed } from "./harness.ts";
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

/** Four callers that each make their next call as soon as the last one is answered: calls per second. */
async function rateOf(calls: number, call: () => Promise<unknown>): Promise<number> {
  let left = calls;
  const caller = async () => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  const all = await timed(() => Promise.all([caller(), caller(), caller(), caller()]));
  return calls / (all.ms / 1_000);
}

/** One way to the same picture. */
interface Way {
  name: string;
  once(): Promise<unknown>;
  /** Waits until the next picture would be taken as the first one was. */
  ready?(): Promise<unknown>;
  /** Milliseconds of each picture. */
  times: number[];
}

/** Takes turns, so that a busy minute of the machine meets all of them. */
async function measure(ways: Way[], warm_up: number, runs: number): Promise<void> {
  for (let i = -warm_up; i < runs; i += 1)
    for (const { once, ready, times } of ways) {
      const { ms } = await timed(once);
      await ready?.();
      if (i >= 0) times.push(ms);
    }
}

/**
 * POST /screenshot of the page of 60 resources on a warm lane, and how many a second two lanes make; beside a new context of
 * a browser that stays, and, unless it is `tiny`, beside browserless with two browsers at once.
 */
export const oneShot: Bench = async ({ runs, tiny }) => {
  const browserless = tiny ? null : await startBrowserless(2);
  const site = servePages();
  const fleet = await startFleet({ lanes: 2 });
  const bare = await startBareBrowser(476);
  const url = `${site.url}sixty`;
  const ours: Way = {
    name: "POST /screenshot",
    once: () => screenshot(fleet, url),
    ready: () => fleet.lanesWarm(),
    times: [],
  };
  const others: Way[] = [
    {
      name: "a new context of a warm Chromium",
      once: () => bareScreenshot(bare, url),
      times: [],
    },
  ];
  if (browserless)
    others.push({
      name: "browserless",
      once: () => browserless.post("/screenshot", { url }),
      times: [],
    });
  const calls = tiny ? 2 : 60;
  try {
    await fleet.lanesWarm(60_000);
    await measure([ours, ...others], tiny ? 0 : 2, tiny ? 1 : Math.max(runs, 9));
    const rate = await rateOf(calls, ours.once);
    const figures: Figure[] = [];
    for (const other of others)
      figures.push(
        timeFigure(ours, other),
        rateFigure(rate, other, await rateOf(calls, other.once)),
      );
    return figures;
  } finally {
    await fleet.stop();
    await browserless?.close();
    await bare.close();
    await site.stop(true);
  }
};

function timeFigure(ours: Way, other: Way): Figure {
  const [a, b] = [statsOf(ours.times), statsOf(other.times)];
  return {
    bench: "one-shot",
    metric: "POST /screenshot, 60-resource page, warm lane",
    value: showMs(a),
    reference: `${other.name} ${showMs(b)}`,
    ratio: a.median / b.median,
    target: "≤ 0.6 of browserless",
    raw: { ours: ours.times, reference: other.times },
  };
}

const rateFigure = (ours: number, other: Way, reference: number): Figure => ({
  bench: "one-shot",
  metric: "the same, four callers, two lanes",
  value: `${ours.toFixed(2)}/s`,
  reference: `${other.name} ${reference.toFixed(2)}/s`,
  ratio: ours / reference,
  target: "≥ 4/s",
  raw: { ours, reference },
});
