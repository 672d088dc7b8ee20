import { parseArgs } from "node:util";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { type CrawlRig, judgeCrawl, startCrawl } from "#test/support/rigs/crawl-rig.ts";

/**
 * `bun scripts/crawl-proof.ts [--pages 10000] [--lanes 2] [--hours 3] [--kill]`: a crawl of a local site by the program, with
 * real Chromium. With `--kill` the pull worker, the worker of the lanes and the hub are killed with -9 at random times.
 * Ends with 1 when a page was missed, has more than one completed job, or should not have been opened.
 */

const { values } = parseArgs({
  options: {
    pages: { type: "string", default: "10000" },
    lanes: { type: "string", default: "2" },
    hours: { type: "string", default: "3" },
    kill: { type: "boolean", default: false },
  },
});
const [PAGES, LANES, HOURS] = [values.pages, values.lanes, values.hours].map(Number);
if (!PAGES || !LANES || !HOURS || [PAGES, LANES, HOURS].some((n) => !(n > 0))) {
  console.error("--pages, --lanes and --hours need numbers above 0");
  process.exit(2);
}

/** From one kill to the next; a hub or lanes that were killed need some of it to come back. */
const BETWEEN_KILLS_MS = { least: 20_000, most: 60_000 };
const TELL_EVERY_MS = 60_000;

/** Kills one process after the other until `over`; how often each was. */
async function killAtRandom({ fleet, puller }: CrawlRig, over: AbortSignal) {
  const victims = [puller, fleet.worker, puller, fleet.hub];
  const kills = new Map<string, number>();
  for (let n = 0; !over.aborted; n += 1) {
    const { least, most } = BETWEEN_KILLS_MS;
    await Bun.sleep(least + Math.random() * (most - least));
    const victim = victims[n % victims.length];
    if (over.aborted || !victim?.alive) continue;
    victim.kill("SIGKILL");
    kills.set(victim.name, (kills.get(victim.name) ?? 0) + 1);
  }
  return kills;
}

const rig = await startCrawl({ pages: PAGES, lanes: LANES, settings: { limit: PAGES * 2 } });
const began = performance.now();
const seconds = () => (performance.now() - began) / 1_000;
const ended = new AbortController();
const telling = startLoop({
  name: "progress",
  everyMs: TELL_EVERY_MS,
  clock: systemClock,
  log: silentLog,
  pass: async () => {
    const pages = [...rig.site.wanted].filter((path) => rig.site.asked.has(path)).length;
    console.log(`${seconds().toFixed(0)} s: ${pages} of ${rig.site.wanted.size} pages`);
  },
});
let faults = 1;
try {
  const killing = values.kill ? killAtRandom(rig, ended.signal) : Promise.resolve(new Map());
  await rig.ended(HOURS * 3_600_000);
  const took_s = seconds();
  ended.abort();
  const jobs = await rig.jobs();
  const { missed, twice, unwanted } = judgeCrawl(rig, jobs);
  const { failed } = await rig.queue();
  const asked = [...rig.site.asked].filter(([path]) => rig.site.wanted.has(path));
  const again = asked.filter(([, n]) => n > 1).length;
  console.table({
    pages: rig.site.wanted.size,
    "completed jobs": jobs.length,
    missed: missed.length,
    "of two completed jobs": twice.length,
    "should not have been opened": unwanted.length,
    "failed tasks": failed,
    "asked for again after a kill": again,
    kills: [...(await killing)].map(([name, n]) => `${n} ${name}`).join(", ") || "none",
    "pages per second": (jobs.length / took_s).toFixed(2),
  });
  for (const [what, n] of Object.entries(await rig.failures()))
    console.log(`${n} attempts ended with ${what}`);
  for (const [what, paths] of Object.entries({ missed, twice, unwanted }))
    if (paths.length > 0) console.log(`${what}: ${paths.slice(0, 20).join(" ")}`);
  faults = missed.length + twice.length + unwanted.length + failed;
} finally {
  await telling.stop();
  ended.abort();
  await rig.stop();
}
process.exit(faults === 0 ? 0 : 1);
