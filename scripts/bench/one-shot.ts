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

interface Measured {
  times: number[];
  rate: number;
}

/** One after the other, so that a busy minute of the machine meets all of them. */
async function measure(
  ways: Record<string, { once(): Promise<unknown>; ready?(): Promise<unknown> }>,
  { warm_up, runs, calls }: { warm_up: number; runs: number; calls: number },
): Promise<Record<string, Measured>> {
  const measured: Record<string, Measured> = {};
  for (const name of Object.keys(ways)) measured[name] = { times: [], rate: 0 };
  for (let i = -warm_up; i < runs; i += 1)
    for (const [name, { once, ready }] of Object.entries(ways)) {
      const { ms } = await timed(once);
      await ready?.();
      if (i >= 0) measured[name]?.times.push(ms);
    }
  for (const [name, { once }] of Object.entries(ways))
    Object.assign(measured[name] ?? {}, { rate: await rateOf(calls, once) });
  return measured;
}

/**
 * POST /screenshot of the page of 60 resources on a warm lane, and how many a second two lanes make; beside a new context of
 * a browser that stays, and, unless it is `tiny`, beside browserless with two browsers at once.
 */
export const oneShot: Bench = async ({ runs, tiny }) => {
  const site = servePages();
  const fleet = await startFleet({ lanes: 2 });
  const bare = await startBareBrowser(476);
  const browserless = tiny ? null : await startBrowserless(2);
  const url = `${site.url}sixty`;
  try {
    await fleet.lanesWarm(60_000);
    const { ours, contexts, theirs } = await measure(
      {
        ours: { once: () => screenshot(fleet, url), ready: () => fleet.lanesWarm() },
        contexts: { once: () => bareScreenshot(bare, url) },
        ...(browserless && { theirs: { once: () => browserless.post("/screenshot", { url }) } }),
      },
      tiny ? { warm_up: 0, runs: 1, calls: 2 } : { warm_up: 2, runs: Math.max(runs, 9), calls: 60 },
    );
    return [
      ...figuresOf("a new context of a warm Chromium", ours, contexts),
      ...figuresOf("browserless", ours, theirs),
    ];
  } finally {
    await fleet.stop();
    await browserless?.close();
    await bare.close();
    await site.stop(true);
  }
};

function figuresOf(reference: string, ours?: Measured, other?: Measured): Figure[] {
  if (!ours || !other) return [];
  const [a, b] = [statsOf(ours.times), statsOf(other.times)];
  return [
    {
      bench: "one-shot",
      metric: "POST /screenshot, 60-resource page, warm lane",
      value: showMs(a),
      reference: `${reference} ${showMs(b)}`,
      ratio: a.median / b.median,
      target: "≤ 0.6 of browserless",
      raw: { ours: ours.times, reference: other.times },
    },
    {
      bench: "one-shot",
      metric: "the same, four callers, two lanes",
      value: `${ours.rate.toFixed(2)}/s`,
      reference: `${reference} ${other.rate.toFixed(2)}/s`,
      ratio: ours.rate / other.rate,
      target: "≥ 4/s",
      raw: { ours: ours.rate, reference: other.rate },
    },
  ];
}
