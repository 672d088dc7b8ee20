import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import type { Bench, Figure } from "./harness.ts";
import { type Load, startLoad } from "./soak/load.ts";
import { PROBE_ENV, PROBED, probe, writeSnapshot } from "./soak/probe-client.ts";
import { type Sample, type Service, takeSample } from "./soak/sample.ts";
import { serveSoakSite } from "./soak/site.ts";
import { type Point, quarters, slopeOfSecondHalf } from "./soak/slope.ts";

/**
 * Hub and worker as processes of their own for hours, with steady work: does anything grow? A line is printed for every
 * minute. SOAK_SNAPSHOTS names a directory for heap snapshots of both, taken after the first quarter and at the end; what
 * the heaps hold by kind is compared between the same two moments, after a garbage collection.
 */

const SNAPSHOTS = process.env.SOAK_SNAPSHOTS;
const SERVICES = ["hub", "worker"] as const;
/** Kinds of objects that are shown of each heap: those that grew most. */
const KINDS_SHOWN = 15;

export const soak: Bench = async ({ tiny, minutes = tiny ? 0.25 : 120, rate = 28 }) => {
  const site = serveSoakSite();
  const fleet = await startFleet({
    lanes: 2,
    program: PROBED,
    env: { SVC_DRAIN_TIMEOUT_S: "5" },
    inDirectory: (dir) => ({ [PROBE_ENV]: dir }),
    pipeline: true,
  });
  try {
    await fleet.lanesWarm(60_000);
    const load = await startLoad(fleet, {
      site: site.url.href,
      rate: tiny ? 60 : rate,
      sessions_a_minute: tiny ? 6 : 1,
    });
    try {
      return await watch(fleet, load, { minutes, every_ms: tiny ? 3_000 : 60_000 });
    } finally {
      await load.stop();
    }
  } finally {
    await fleet.stop();
    await site.stop(true);
  }
};

interface WatchOptions {
  minutes: number;
  every_ms: number;
}

async function watch(fleet: FleetProcesses, load: Load, { minutes, every_ms }: WatchOptions) {
  const samples: Sample[] = [];
  const looks = Math.max(4, Math.round((minutes * 60_000) / every_ms));
  const begun = performance.now();
  let early: Kinds | undefined;
  for (let n = 1; n <= looks; n += 1) {
    await Bun.sleep(Math.max(0, begun + n * every_ms - performance.now()));
    const sample = await takeSample(fleet, (performance.now() - begun) / 60_000);
    samples.push(sample);
    console.log(showSample(sample, load));
    if (n === Math.ceil(looks / 4)) early = await kindsOf(fleet, "early");
  }
  const late = await kindsOf(fleet, "late");
  if (fleet.hub.starts + fleet.worker.starts > 2) throw new Error("hub or worker was restarted");
  if (early) for (const service of SERVICES) showGrowth(service, early[service], late[service]);
  return figuresOf(samples, load);
}

type Kinds = Record<(typeof SERVICES)[number], Record<string, number>>;

async function kindsOf({ dir }: FleetProcesses, moment: string): Promise<Kinds> {
  const kinds: Partial<Kinds> = {};
  for (const service of SERVICES) {
    const { types, heap, malloc } = await probe(dir, service, { gc: true });
    kinds[service] = { ...types, "(bytes in the heap)": heap, "(bytes of the allocator)": malloc };
    if (!SNAPSHOTS) continue;
    mkdirSync(SNAPSHOTS, { recursive: true });
    await writeSnapshot(dir, service, join(SNAPSHOTS, `${service}-${moment}.heapsnapshot`));
  }
  return kinds as Kinds;
}

function showGrowth(service: string, early: Record<string, number>, late: Record<string, number>) {
  const grown = Object.entries(late)
    .map(([kind, count]) => ({ kind, from: early[kind] ?? 0, to: count }))
    .toSorted((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, KINDS_SHOWN);
  console.log(`${service}: what the heap holds more of than after the first quarter`);
  for (const { kind, from, to } of grown)
    console.log(`  ${kind}: ${from} → ${to} (${to - from >= 0 ? "+" : ""}${to - from})`);
}

const mb = (value: number) => value.toFixed(1);

function showSample(sample: Sample, { counts, trouble }: Load): string {
  const { jobs, failed, sessions, tasks, skipped, troubles } = counts;
  const service = ({ rss, heap, malloc, fds }: Service) =>
    `rss ${mb(rss)} heap ${mb(heap)} malloc ${mb(malloc)} fds ${fds}`;
  const { hub, worker, children, rows, spool, stored } = sample;
  return [
    `${mb(sample.minute)} min`,
    `jobs ${jobs} (${failed} failed, ${skipped} skipped) sessions ${sessions} tasks ${tasks}`,
    `hub ${service(hub)}`,
    `worker ${service(worker)}`,
    `children ${children.count} pss ${mb(children.pss)}`,
    `rows ${rows} spool ${mb(spool)} stored ${mb(stored)}`,
    ...(troubles > 0 ? [`troubles ${troubles}: ${trouble}`] : []),
  ].join(" | ");
}

function figuresOf(samples: Sample[], { counts }: Load): Figure[] {
  const line = (metric: string, unit: string, of: (sample: Sample) => number): Figure => {
    const points: Point[] = samples.map((sample) => ({ minute: sample.minute, value: of(sample) }));
    const { first, last } = quarters(points);
    const slope = slopeOfSecondHalf(points);
    return {
      bench: "soak",
      metric: `${metric}, ${counts.jobs} jobs in ${Math.round(samples.at(-1)?.minute ?? 0)} min`,
      value: `${slope >= 0 ? "+" : ""}${slope.toFixed(3)} ${unit}/min; quarters ${mb(first)} → ${mb(last)} ${unit}`,
      target: "flat",
    };
  };
  return [
    line("hub RSS", "MB", ({ hub }) => hub.rss),
    line("hub heap", "MB", ({ hub }) => hub.heap),
    line("hub allocator", "MB", ({ hub }) => hub.malloc),
    line("hub descriptors", "fds", ({ hub }) => hub.fds),
    line("worker RSS", "MB", ({ worker }) => worker.rss),
    line("worker heap", "MB", ({ worker }) => worker.heap),
    line("worker allocator", "MB", ({ worker }) => worker.malloc),
    line("worker descriptors", "fds", ({ worker }) => worker.fds),
    line("PSS of what they started", "MB", ({ children }) => children.pss),
    line("rows", "rows", ({ rows }) => rows),
    line("spool", "MB", ({ spool }) => spool),
  ];
}
