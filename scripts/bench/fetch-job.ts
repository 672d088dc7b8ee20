import { withDeadline } from "#shared/kit/clock.ts";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { bareFetch, startBareBrowser } from "./bare-playwright.ts";
import { type Bench, type Figure, showMs, statsOf, timed } from "./harness.ts";
import { servePages } from "./pages.ts";

/** The longest a measured job may take, its uploads included. */
const JOB_MS = 400_000;

/** POST /jobs until the event stream says `done`. */
export async function runJob(fleet: FleetProcesses, url: string, options: Record<string, unknown>) {
  const job = await fleet.submit(url, options);
  const socket = new WebSocket(
    `${fleet.url.replace(/^http/, "ws")}/jobs/${job.job_id}/events?since=0`,
  );
  const closed = new Promise<void>((resolve) =>
    socket.addEventListener("close", () => resolve(), { once: true }),
  );
  try {
    await withDeadline(`the last event of job ${job.job_id}`, JOB_MS, closed);
  } finally {
    socket.close();
  }
  return fleet.job(job.job_id);
}

/** What each job is run with beside its page; the first is what everybody gets. */
const VARIANTS = {
  ours: {},
  unrecorded: { record: "off" },
  unpictured: { final_state: false },
  plain: { record: "off", final_state: false },
} as const;
type Variant = keyof typeof VARIANTS;
const NAMES = Object.keys(VARIANTS) as Variant[];

/** Of neighbouring runs, so that a noisy minute hits both: the median of their ratios, with its quartiles. */
function pairs(of: readonly number[], to: readonly number[]): { ratio: number; words: string } {
  const ratios = of.map((ms, i) => ms / (to[i] ?? NaN)).toSorted((a, b) => a - b);
  const at = (q: number) => ratios[Math.floor(q * (ratios.length - 1))] ?? NaN;
  const ratio = statsOf(ratios).median;
  return { ratio, words: `pairs ${at(0.25).toFixed(2)}–${at(0.75).toFixed(2)}` };
}

/** Wall time of a fetch job on a page of 60 resources, lane warm, against a bare script with the same idle rule. */
export const fetchJob: Bench = async ({ runs }) => {
  const site = servePages();
  const fleet = await startFleet({ lanes: 1 });
  const bare = await startBareBrowser(473);
  const url = `${site.url}sixty`;
  try {
    await fleet.lanesWarm(60_000);
    await bareFetch(bare.browser, url, 500);
    const took: Record<Variant, number[]> = {
      ours: [],
      unrecorded: [],
      unpictured: [],
      plain: [],
    };
    const theirs: number[] = [];
    let captured = 0;
    let saved = 0;
    const run = async (variant: Variant) => {
      const options = { idle_seconds: 0.5, ...VARIANTS[variant] };
      const job = await timed(() => runJob(fleet, url, options));
      if (job.result.status !== "completed") throw new Error(`job failed: ${job.result.error}`);
      took[variant].push(job.ms);
      captured = job.result.asset_count;
      await fleet.lanesWarm();
    };
    // Alternated, each round in another order.
    for (let i = 0; i < runs; i += 1) {
      for (const k of NAMES.keys()) await run(NAMES[(i + k) % NAMES.length] as Variant);
      const script = await timed(() => bareFetch(bare.browser, url, 500));
      theirs.push(script.ms);
      saved = script.result;
    }
    return figuresOf({ took, theirs, captured, saved });
  } finally {
    await fleet.stop();
    await bare.close();
    await site.stop(true);
  }
};

function figuresOf(found: {
  took: Record<Variant, number[]>;
  theirs: number[];
  captured: number;
  saved: number;
}): Figure[] {
  const { took, theirs, captured, saved } = found;
  const { ours, unrecorded, unpictured, plain } = took;
  const without = (metric: string, target: string, of: number[]): Figure => {
    const { ratio, words } = pairs(ours, of);
    return {
      bench: "fetch-job",
      metric,
      value: showMs(statsOf(ours)),
      reference: `without ${showMs(statsOf(of))}, ${words}`,
      ratio,
      target,
      raw: of,
    };
  };
  const beside = (metric: string, of: number[]): Figure => ({
    bench: "fetch-job",
    metric,
    value: showMs(statsOf(of)),
    reference: `bare playwright-core ${showMs(statsOf(theirs))} (${saved} bodies saved)`,
    ratio: pairs(of, theirs).ratio,
    target: "≤ 1.10",
    raw: { of, theirs },
  });
  return [
    beside(`60-resource page, idle 0.5 s (${captured} assets stored)`, ours),
    beside("the same, neither recorded nor pictured", plain),
    without("the same, its screen recorded", "≤ 1.05", unrecorded),
    without("the same, its page pictured at its end", "–", unpictured),
  ];
}
