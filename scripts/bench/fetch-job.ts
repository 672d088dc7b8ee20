import { withDeadline } from "#shared/kit/clock.ts";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { bareFetch, startBareBrowser } from "./bare-playwright.ts";
import { type Bench, showMs, statsOf, timed } from "./harness.ts";
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

/** Wall time of a fetch job on a page of 60 resources, lane warm, against a bare script with the same idle rule. */
export const fetchJob: Bench = async ({ runs }) => {
  const site = servePages();
  const fleet = await startFleet({ lanes: 1 });
  const bare = await startBareBrowser(473);
  const url = `${site.url}sixty`;
  try {
    await fleet.lanesWarm(60_000);
    await bareFetch(bare.browser, url, 500);
    const ours: number[] = [];
    const without: number[] = [];
    const theirs: number[] = [];
    let captured = 0;
    let saved = 0;
    const run = async (options: Record<string, unknown>, into: number[]) => {
      const job = await timed(() => runJob(fleet, url, { idle_seconds: 0.5, ...options }));
      if (job.result.status !== "completed") throw new Error(`job failed: ${job.result.error}`);
      into.push(job.ms);
      captured = job.result.asset_count;
      await fleet.lanesWarm();
    };
    // Alternated, so that a noisy minute hits all of them.
    for (let i = 0; i < runs; i += 1) {
      await run({}, ours);
      await run({ final_state: false }, without);
      const script = await timed(() => bareFetch(bare.browser, url, 500));
      theirs.push(script.ms);
      saved = script.result;
    }
    const a = statsOf(ours);
    const b = statsOf(theirs);
    const c = statsOf(without);
    return [
      {
        bench: "fetch-job",
        metric: `60-resource page, idle 0.5 s (${captured} assets stored)`,
        value: showMs(a),
        reference: `bare playwright-core ${showMs(b)} (${saved} bodies saved)`,
        ratio: a.median / b.median,
        target: "≤ 1.10",
        raw: { ours, theirs },
      },
      {
        bench: "fetch-job",
        metric: "the same without pictures of its end (final_state: false)",
        value: showMs(c),
        reference: `with them ${showMs(a)}`,
        ratio: c.median / a.median,
        target: "–",
        raw: { without },
      },
    ];
  } finally {
    await fleet.stop();
    await bare.close();
    await site.stop(true);
  }
};
