import { join } from "node:path";
import { startFleet } from "#test/support/rigs/fleet-process.ts";
import { runJob } from "./fetch-job.ts";
import { type Bench, type Figure, showMs, statsOf, timed } from "./harness.ts";
import { servePages } from "./pages.ts";
import { cpuSeconds } from "./process-cpu.ts";

const STRAIGHT_WORKER = [process.execPath, join(import.meta.dir, "straight-worker.ts")];

const WAYS = ["gate", "none"] as const;
type Way = (typeof WAYS)[number];

const workerOf = (way: Way) => (way === "gate" ? {} : { worker_program: STRAIGHT_WORKER });

/**
 * What the gate of the lanes costs: the same jobs, by turns, on a worker whose lanes have none. A ratio is the median of
 * those of neighbouring jobs, so that a noisy minute hits both.
 */
export const egress: Bench = async ({ runs, tiny }) => {
  const site = servePages();
  const start = (way: Way) => startFleet({ lanes: 1, headless: true, ...workerOf(way) });
  const fleets = Object.fromEntries(
    await Promise.all(WAYS.map(async (way) => [way, await start(way)] as const)),
  ) as Record<Way, Awaited<ReturnType<typeof start>>>;
  const pages = { "60-resource page": "sixty", images: `images?n=${tiny ? 30 : 300}` };
  try {
    await Promise.all(WAYS.map((way) => fleets[way].lanesWarm(60_000)));
    const results: Figure[] = [];
    for (const [name, path] of Object.entries(pages)) {
      const taken: Record<Way, number[]> = { gate: [], none: [] };
      const cpu: Record<Way, number[]> = { gate: [], none: [] };
      let lost = 0;
      // The first turn warms everything up and is not counted.
      for (let i = tiny ? 0 : -1; i < runs; i += 1)
        for (const way of i % 2 === 0 ? WAYS : WAYS.toReversed()) {
          const fleet = fleets[way];
          const before = cpuSeconds(fleet.worker.pid);
          const job = await timed(() =>
            runJob(fleet, `${site.url}${path}`, { idle_seconds: 0.5, headless: true }),
          );
          if (job.result.status !== "completed") throw new Error(`job failed: ${job.result.error}`);
          if (i >= 0) {
            taken[way].push(job.ms);
            cpu[way].push(cpuSeconds(fleet.worker.pid) - before);
          }
          if (way === "gate") lost += job.result.capture?.lost ?? 0;
          await fleet.lanesWarm();
        }
      results.push({
        bench: "egress",
        metric: `${name} through the gate (${lost} bodies lost)`,
        value: `${showMs(statsOf(taken.gate))}, CPU ${showCpu(cpu.gate)}`,
        reference: `straight out ${showMs(statsOf(taken.none))}, CPU ${showCpu(cpu.none)}`,
        ratio: statsOf(taken.gate.map((ms, i) => ms / (taken.none[i] ?? Number.NaN))).median,
        target: "≤ 1.03",
        raw: { ours: taken.gate, theirs: taken.none, cpu_s: cpu.gate, their_cpu_s: cpu.none },
      });
    }
    return results;
  } finally {
    await Promise.all(WAYS.map((way) => fleets[way].stop()));
    await site.stop(true);
  }
};

const showCpu = (seconds: number[]) => `${(statsOf(seconds).median * 1_000).toFixed(0)} ms`;
