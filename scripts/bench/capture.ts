import { humanSize } from "#shared/kit/words.ts";
import { rssOf, startFleet } from "#test/support/rigs/fleet-process.ts";
import { runJob } from "./fetch-job.ts";
import { type Bench, showMs, statsOf, timed } from "./harness.ts";
import { BIG_BYTES, servePages } from "./pages.ts";

/** Cost of a captured body, and the worker's memory while a gigabyte passes through it. */
export const capture: Bench = async ({ runs, tiny }) => {
  const site = servePages();
  const fleet = await startFleet({ lanes: 1 });
  const count = tiny ? 30 : 300;
  const url = `${site.url}images?n=${count}`;
  try {
    await fleet.lanesWarm(60_000);
    const on: number[] = [];
    const off: number[] = [];
    let ratio = 0;
    for (let i = 0; i < runs; i += 1) {
      for (const capture_assets of [true, false]) {
        const job = await timed(() => runJob(fleet, url, { idle_seconds: 0.5, capture_assets }));
        if (job.result.status !== "completed") throw new Error(`job failed: ${job.result.error}`);
        (capture_assets ? on : off).push(job.ms);
        if (capture_assets) ratio = job.result.capture?.ratio ?? 0;
        await fleet.lanesWarm();
      }
    }
    const bodies = tiny ? 2 : Math.ceil(2 ** 30 / BIG_BYTES);
    await runJob(fleet, `${site.url}big?n=2`, { idle_seconds: 0.5 });
    await fleet.lanesWarm();
    const before = rssOf(fleet.worker.pid);
    let peak = before;
    const watch = { on: true };
    const watcher = (async () => {
      while (watch.on) {
        peak = Math.max(peak, rssOf(fleet.worker.pid));
        await Bun.sleep(20);
      }
    })();
    const big = await runJob(fleet, `${site.url}big?n=${bodies}`, {
      idle_seconds: 1,
      max_wait_seconds: 300,
      wait_seconds: 300,
    });
    watch.on = false;
    await watcher;
    await fleet.lanesWarm();

    const a = statsOf(on);
    const b = statsOf(off);
    return [
      {
        bench: "capture",
        metric: `${count}-image page, job with bodies (captured ${(ratio * 100).toFixed(1)} %)`,
        value: showMs(a),
        reference: `same page, no capture ${showMs(b)}`,
        ratio: a.median / b.median,
        target: "100 %",
      },
      {
        bench: "capture",
        metric: "cost per body",
        value: `${((a.median - b.median) / (count + 1)).toFixed(2)} ms`,
        target: "≤ 1.2 ms",
      },
      {
        bench: "capture",
        metric: `worker RSS while ${humanSize(big.asset_bytes)} are captured (ratio ${big.capture?.ratio})`,
        value: `peak +${humanSize(Math.max(0, peak - before))}, afterwards +${humanSize(Math.max(0, rssOf(fleet.worker.pid) - before))}`,
        target: "≤ 60 MB",
      },
    ];
  } finally {
    await fleet.stop();
    await site.stop(true);
  }
};
