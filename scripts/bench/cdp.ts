import { chromium } from "playwright-core";
import { startFleet } from "#test/support/rigs/fleet-process.ts";
import { type Bench, showMs, statsOf } from "./harness.ts";

/** `evaluate` by Playwright through /sessions/{sid}/cdp and through the browser's own port, in turn. */
export const cdp: Bench = async ({ runs, tiny }) => {
  const fleet = await startFleet({ lanes: 1, headless: true });
  try {
    await fleet.lanesWarm(60_000);
    const answer = await fetch(`${fleet.url}/sessions`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "{}",
    });
    const { session_id } = (await answer.json()) as { session_id: string };
    const ways = [`${fleet.url}/sessions/${session_id}/cdp`, `http://127.0.0.1:${fleet.ports.cdp}`];
    const browsers = await Promise.all(ways.map((url) => chromium.connectOverCDP(url)));
    // One page for both: two would be two renderers.
    const pages = browsers.map((b) => b.contexts()[0]?.pages()[0]);
    const times = ways.map((): number[] => []);
    const samples = tiny ? 10 : runs * 150;
    for (let n = 0; n < samples + 20; n += 1)
      for (const [i, page] of pages.entries()) {
        const start = performance.now();
        await page?.evaluate("1 + 1");
        if (n >= 20) times[i]?.push(performance.now() - start);
      }
    for (const browser of browsers) await browser.close();
    await fetch(`${fleet.url}/sessions/${session_id}`, { method: "DELETE" });
    const [ours, direct] = times.map(statsOf);
    if (!ours || !direct) throw new Error("no samples");
    return [
      {
        bench: "cdp",
        metric: "evaluate through the hub",
        value: `p50 ${showMs(ours)}, ${(ours.median - direct.median).toFixed(2)} ms more`,
        reference: `the browser's own port: ${showMs(direct)}`,
        ratio: ours.median / direct.median,
        target: "≤ +0.3 ms p50",
      },
    ];
  } finally {
    await fleet.stop();
  }
};
