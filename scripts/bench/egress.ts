import { join } from "node:path";
import { startFleet } from "#test/support/rigs/fleet-process.ts";
import { runJob } from "./fetch-job.ts";
import { type Bench, showMs, statsOf, timed } from "./harness.ts";
import { servePages } from "./pages.ts";

const STRAIGHT_WORKER = [process.execPath, join(import.meta.dir, "straight-worker.ts")];

/** What the gate of the lanes costs: the same jobs on a worker whose lanes have none, by turns. */
export const egress: Bench = async ({ runs, tiny }) => {
  const site = servePages();
  const [gated, straight] = await Promise.all([
    startFleet({ lanes: 1, headless: true }),
    startFleet({ lanes: 1, headless: true, worker_program: STRAIGHT_WORKER }),
  ]);
  const pages = { "60-resource page": "sixty", images: `images?n=${tiny ? 30 : 300}` };
  try {
    await Promise.all([gated.lanesWarm(60_000), straight.lanesWarm(60_000)]);
    const results = [];
    for (const [name, path] of Object.entries(pages)) {
      const ours: number[] = [];
      const theirs: number[] = [];
      let lost = 0;
      for (let i = 0; i < runs; i += 1)
        for (const fleet of i % 2 === 0 ? [gated, straight] : [straight, gated]) {
          const url = `${site.url}${path}`;
          const job = await timed(() => runJob(fleet, url, { idle_seconds: 0.5, headless: true }));
          if (job.result.status !== "completed") throw new Error(`job failed: ${job.result.error}`);
          (fleet === gated ? ours : theirs).push(job.ms);
          if (fleet === gated) lost += job.result.capture?.lost ?? 0;
          await fleet.lanesWarm();
        }
      const a = statsOf(ours);
      const b = statsOf(theirs);
      results.push({
        bench: "egress",
        metric: `${name} through the gate (${lost} bodies lost)`,
        value: showMs(a),
        reference: `straight out ${showMs(b)}`,
        ratio: a.median / b.median,
        target: "≤ 1.03",
        raw: { ours, theirs },
      });
    }
    return results;
  } finally {
    await Promise.all([gated.stop(), straight.stop()]);
    await site.stop(true);
  }
};
