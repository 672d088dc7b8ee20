import { Database } from "bun:sqlite";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";
import {
  type JudgedRun,
  judgeRun,
  type RecordedRun,
  runJob,
  runSession,
  serveRecordedPages,
} from "#test/support/rigs/recorded-runs.ts";
import { statsOf } from "./bench/harness.ts";
import { PROBE_ENV, PROBED } from "./bench/soak/probe-client.ts";
import { type Sample, type Service, takeSample } from "./bench/soak/sample.ts";
import { quarters, slopeOfSecondHalf } from "./bench/soak/slope.ts";

/**
 * `bun scripts/soak-recordings.ts [--jobs 200] [--sessions 50] [--lanes 2] [--minutes 60] [--kill]`: a hub, a worker and
 * Chromium; every recording is judged by a reader of its own, and what hub and worker hold is told. With `--kill` both are
 * killed with -9 at random times: then a recording is whole or cut, and a cut one plays up to the last second before the
 * kill. After `--minutes` nothing more is begun. Ends with 1 when a recording was not as the rules promise.
 */

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "200" },
    sessions: { type: "string", default: "50" },
    lanes: { type: "string", default: "2" },
    minutes: { type: "string", default: "60" },
    kill: { type: "boolean", default: false },
  },
});
const [JOBS, SESSIONS, LANES] = [values.jobs, values.sessions, values.lanes].map(Number);
if (!JOBS || !SESSIONS || !LANES || [JOBS, SESSIONS, LANES].some((n) => !(n >= 1))) {
  console.error("--jobs, --sessions and --lanes need numbers above 0");
  process.exit(2);
}

const SAMPLE_MS = 15_000;
/** From one kill to the next; the lanes of a worker that was killed need some of it to come back. */
const BETWEEN_KILLS_MS = { least: 8_000, most: 30_000 };
/** A recording that was lost with its hub is cut after two minutes. */
const CUT_MS = 240_000;
/** Between two sendings of a worker, with what the last of them takes on a machine that is busy. */
const MOST_LOST_MS = 2_000;

interface Kill {
  victim: "hub" | "worker";
  at: number;
}

const between = ({ least, most }: typeof BETWEEN_KILLS_MS) =>
  least + Math.random() * (most - least);

/** Jobs and sessions in a mixed order, always the same. */
function plan(jobs: number, sessions: number): ("job" | "session")[] {
  const every = (jobs + sessions) / sessions;
  return Array.from({ length: jobs + sessions }, (_, i) =>
    Math.floor((i + 1) / every) > Math.floor(i / every) ? "session" : "job",
  );
}

interface Soak {
  fleet: FleetProcesses;
  site: string;
  runs: RecordedRun[];
  judged: JudgedRun[];
  missed: number;
}

/** As many at once as there are lanes. In the plain form each recording is judged when its run is over. */
async function work(soak: Soak, lanes: number, jobs: number, sessions: number): Promise<void> {
  const todo = plan(jobs, sessions);
  const count = { job: 0, session: 0 };
  // A slow machine does fewer runs.
  const end = Date.now() + Number(values.minutes) * 60_000;
  const client = async () => {
    for (let what = todo.shift(); what && Date.now() < end; what = todo.shift()) {
      const run = await (what === "job" ? runJob : runSession)(
        soak.fleet,
        soak.site,
        count[what]++,
      );
      if (run) soak.runs.push(run);
      else {
        // Its hub was being killed, or no lane was free: another one takes its turn.
        soak.missed += 1;
        todo.push(what);
        await Bun.sleep(500);
      }
      if (run && !values.kill) tellFaults(soak, await judgeRun(soak.fleet, run));
      const done = soak.runs.length;
      if (run && done % 25 === 0) console.log(`${done} of ${jobs + sessions} runs`);
    }
  };
  await Promise.all(Array.from({ length: lanes }, client));
}

function tellFaults({ judged }: Soak, run: JudgedRun): void {
  judged.push(run);
  for (const fault of run.faults) console.log(`FAULT ${run.kind} ${run.path}: ${fault}`);
}

async function killAtRandom(fleet: FleetProcesses, kills: Kill[], over: AbortSignal) {
  for (;;) {
    await Promise.race([
      Bun.sleep(between(BETWEEN_KILLS_MS)),
      new Promise((resolve) => over.addEventListener("abort", resolve, { once: true })),
    ]);
    if (over.aborted) return;
    const victim = Math.random() < 0.5 ? "hub" : "worker";
    await until(`a living ${victim}`, 60_000, () => fleet[victim].alive);
    fleet[victim].kill("SIGKILL");
    kills.push({ victim, at: Date.now() });
    // A machine that is busy takes its time, and runs that are killed before they begin say nothing.
    await until("a lane after the kill", 120_000, async () => {
      const answer = await fetch(`${fleet.url}/workers`).catch(() => null);
      return answer?.ok && (await answer.text()).includes('"state":"warm"');
    });
  }
}

/** What a recording that was cut lacks before the kill that cut it; null where no kill came after its last frame. */
function lostBefore({ last_at }: JudgedRun, kills: Kill[]): (Kill & { ms: number }) | null {
  // Hub and worker read one clock; a frame's time is rounded down.
  const kill = kills.find(({ at }) => at >= last_at - 5);
  return kill ? { ...kill, ms: Math.max(0, kill.at - last_at) } : null;
}

/** Every run that the database knows of, also those of a job's earlier attempts, and what is left on the hub's disk. */
function leftovers({ dir }: FleetProcesses): { states: Record<string, number>; parts: number } {
  const db = new Database(join(dir, "hub", "flotilla.db"), { readonly: true });
  const rows = db.query("select state, count(*) as n from recordings group by state").all();
  db.close();
  const states = Object.fromEntries(
    (rows as { state: string; n: number }[]).map(({ state, n }) => [state, n]),
  );
  const open = join(dir, "hub", "recordings");
  return { states, parts: existsSync(open) ? readdirSync(open).length : 0 };
}

function tellMemory(samples: Sample[]): void {
  const line = (what: string, unit: string, of: (sample: Sample) => number) => {
    const points = samples.map((sample) => ({ minute: sample.minute, value: of(sample) }));
    const { first, last } = quarters(points);
    const most = Math.max(...points.map(({ value }) => value));
    const slope = slopeOfSecondHalf(points);
    console.log(
      `${what}: quarters ${first.toFixed(1)} → ${last.toFixed(1)} ${unit}, most ${most.toFixed(1)}, ` +
        `${slope >= 0 ? "+" : ""}${slope.toFixed(2)} ${unit}/min in the second half`,
    );
  };
  for (const who of ["hub", "worker"] as const) {
    const of = (key: keyof Service) => (sample: Sample) => sample[who][key];
    line(`${who} RSS`, "MB", of("rss"));
    line(`${who} heap`, "MB", of("heap"));
    line(`${who} allocator`, "MB", of("malloc"));
    line(`${who} descriptors`, "fds", of("fds"));
  }
  line("what the worker keeps on disk", "MB", ({ spool }) => spool);
}

const show = (values: number[]) => {
  const { median, p95, max, n } = statsOf(values);
  return n === 0 ? "none" : `median ${median} ms, p95 ${p95} ms, most ${max} ms (n=${n})`;
};

const site = serveRecordedPages();
const fleet = await startFleet({
  lanes: LANES,
  program: PROBED,
  env: { SVC_DRAIN_TIMEOUT_S: "2" },
  inDirectory: (dir) => ({ [PROBE_ENV]: dir }),
});
const over = new AbortController();
const soak: Soak = { fleet, site: site.url.href, runs: [], judged: [], missed: 0 };
const kills: Kill[] = [];
const samples: Sample[] = [];
const begun = performance.now();
let bad = 0;
try {
  await fleet.lanesWarm(120_000);
  const sampling = startLoop({
    name: "samples",
    everyMs: SAMPLE_MS,
    clock: systemClock,
    log: silentLog,
    // A process that was just killed has nothing to tell: then there is one sample less.
    pass: async () =>
      void samples.push(await takeSample(fleet, (performance.now() - begun) / 60_000)),
  });
  const enough = AbortSignal.any([
    over.signal,
    AbortSignal.timeout(Number(values.minutes) * 60_000),
  ]);
  const killing = values.kill ? killAtRandom(fleet, kills, enough) : null;
  await work(soak, LANES, JOBS, SESSIONS).finally(() => {
    void sampling.stop();
    over.abort();
  });
  await killing;
  if (values.kill)
    for (const run of soak.runs) tellFaults(soak, await judgeRun(fleet, run, { ms: CUT_MS }));
  const { judged } = soak;
  const lost: Record<Kill["victim"], number[]> = { hub: [], worker: [] };
  for (const run of judged) {
    if (run.state !== "cut") continue;
    const before = lostBefore(run, kills);
    if (before) lost[before.victim].push(Math.round(before.ms));
    if (before && before.ms <= MOST_LOST_MS) continue;
    run.faults.push("cut too early");
    console.log(
      `FAULT ${run.kind} ${run.path}: cut ${before ? `${before.ms} ms before the ${before.victim} was killed` : "and nothing was killed after it"}`,
    );
  }
  const left = await until(
    "no live recording",
    CUT_MS,
    () => {
      const now = leftovers(fleet);
      return (now.states.live ?? 0) === 0 && now.parts === 0 ? now : null;
    },
    1_000,
  ).catch(() => leftovers(fleet));
  bad = judged.filter(({ faults }) => faults.length > 0).length;
  const sum = (of: (run: JudgedRun) => number) => judged.reduce((n, run) => n + of(run), 0);
  const states = Object.entries(Object.groupBy(judged, ({ state }) => state)).map(
    ([state, some]) => `${some.length} ${state}`,
  );
  console.log(
    `${judged.length} recordings in ${Math.round((performance.now() - begun) / 60_000)} min: ${states.join(", ")}; ${bad} with faults`,
  );
  console.log(
    `${sum(({ chunks }) => chunks)} chunks drawn alone, ${sum(({ pictures }) => pictures)} frames of pictures, ${(sum(({ bytes }) => bytes) / 1e6).toFixed(1)} MB; ${soak.missed} runs were begun anew`,
  );
  console.log(
    `in the database: ${JSON.stringify(left.states)}; files left open at the hub: ${left.parts}`,
  );
  if ((left.states.live ?? 0) + left.parts > 0) bad += 1;
  if (values.kill) {
    for (const victim of ["hub", "worker"] as const)
      console.log(
        `${victim} killed ${kills.filter((kill) => kill.victim === victim).length}×; lost before its kill: ${show(lost[victim])}`,
      );
  }
  tellMemory(samples);
} catch (err) {
  // What follows may take a while.
  console.error(err);
  bad += 1;
} finally {
  over.abort();
  await fleet.stop();
  await site.stop(true);
}
process.exit(bad === 0 ? 0 : 1);
