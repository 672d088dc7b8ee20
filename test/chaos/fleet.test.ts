import { afterAll, beforeAll, expect, test } from "bun:test";
import postgres from "postgres";
import { WORKER_LIVENESS_MS, WORKER_LOST_ERROR } from "#shared/protocol/limits.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { BLOWS, type Blows, createBlows, shuffled } from "#test/support/rigs/fleet-blows.ts";
import { type FleetOfHubs, startFleetOfHubs } from "#test/support/rigs/fleet-of-hubs.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { openLan, type TestLan } from "#test/support/servers/lan.ts";
import { type ChaosSite, startChaosSite } from "#test/support/servers/site/chaos.ts";

/** Full size: `FLEET_CHAOS_JOBS=300 bun test test/chaos/fleet.test.ts`; the suite runs a short one. */
const JOBS = Number(process.env.FLEET_CHAOS_JOBS ?? 16);
const FULL = JOBS >= 100;
const SIZE = FULL ? { hubs: 3, workers: 4, lanes: 2 } : { hubs: 3, workers: 2, lanes: 2 };
const SESSIONS = FULL ? 10 : 2;
/** Jobs under way at a time: more than there are lanes, and no more than their lanes can run before they have waited too long. */
const AT_ONCE = FULL ? 12 : 4;
/** How long somebody watches, and then rests; so that jobs have lanes too. */
const WATCHED = { looks: FULL ? 60 : 8, pause_ms: 200, rest_ms: FULL ? 6_000 : 0 };
/** The same seed gives the same blows at the same times. */
const SEED = Number(process.env.FLEET_CHAOS_SEED ?? 1);
const PAUSE_MS = 2_500;
const QUEUE_TIMEOUT_S = 60;
/** What the limits allow a job at most: in the queue, then on a worker that is silent, and on a busy machine two minutes for the run itself. */
const STUCK_MS = QUEUE_TIMEOUT_S * 1_000 + WORKER_LIVENESS_MS + 120_000;

const ROUNDS = FULL ? 6 : 1;
const FROZEN_MS = FULL ? 10_000 : 3_000;
const OUTAGE_MS = 1_000;
/** Shorter than TCP gives up, longer than that, and longer than a hub stays registered without a word (90 s). */
const CUTS_MS = [5_000, 20_000, 100_000, 10_000, 20_000];

/** mulberry32 */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
const random = seeded(SEED);

let fleet: FleetOfHubs;
let site: ChaosSite;
let blows: Blows;
let lan: TestLan | null = null;

beforeAll(async () => {
  site = await startChaosSite();
  if (FULL)
    lan = await openLan(SIZE.hubs + 1).catch((err) => {
      console.log(`no hub is cut off, because there can be no network for it here: ${err.message}`);
      return null;
    });
  fleet = await startFleetOfHubs({
    ...SIZE,
    lan,
    env: {
      SVC_SUBMIT_WAIT_S: "2",
      SVC_QUEUE_REDRIVE_INTERVAL_S: "1",
      SVC_QUEUE_REDRIVE_MIN_AGE_S: "2",
      SVC_QUEUE_TIMEOUT_S: String(QUEUE_TIMEOUT_S),
      SVC_STALE_RECONCILE_INTERVAL_S: "2",
      SVC_STALE_RUNNING_GRACE_S: "15",
    },
  });
  blows = createBlows(fleet, {
    random,
    frozen_ms: FROZEN_MS,
    outage_ms: OUTAGE_MS,
    cuts_ms: CUTS_MS,
  });
  await fleet.lanesWarm(240_000);
}, 300_000);

afterAll(async () => {
  const left = await fleet?.stop();
  lan?.close();
  await site?.site.stop();
  expect((left ?? []).map((p) => p.command.slice(0, 200))).toEqual([]);
}, 240_000);

/** A hub that died between taking a key and storing its job leaves the key taken for 120 s. */
const TAKEN_MS = 180_000;

/** Submits until a hub has taken it; with a key, so that a call whose answer was lost makes no second job. */
async function submit(n: number): Promise<string> {
  const body = { url: site.urlOf(n), options: { idle_seconds: 0.3 } };
  return until(`job ${n} to be taken`, TAKEN_MS, async () => {
    const answer = await fleet.call("POST", "/jobs", body, {
      "Idempotency-Key": `job-${n}-${SEED}`,
    });
    return answer?.body?.job_id as string | undefined;
  });
}

/** How a viewer's socket may end (rules/viewer#end-of-a-viewer). */
const CLOSE_CODES = [1000, 1001, 4404, 4502];
/** No close at all: what a hub leaves that is dead or out of reach, and nothing else may. */
const BROKE_OFF = 1006;
const closes: number[] = [];
const unexplained: string[] = [];
let opened = 0;
/** A session of a hub that is out of reach is 404 when its key expires, after 90 s. */
const GONE_MS = 150_000;
/** A viewer is told of the end of its session so soon. */
const TOLD_MS = 60_000;

function judgeClose(code: number, at: number): void {
  closes.push(code);
  if (CLOSE_CODES.includes(code) || (code === BROKE_OFF && blows.breaks(at))) return;
  unexplained.push(`${code} at ${new Date(at).toISOString()}`);
}

/** Sessions with a person who watches, one after the other until `ends()`; one at least, on a fleet that is busy for so long. */
async function watch(ends: () => boolean): Promise<void> {
  let mine = 0;
  while (mine === 0 || !ends()) {
    const answer = await fleet.call("POST", "/sessions", { url: site.urlOf(-1), idle_ttl_s: 60 });
    if (answer?.status !== 201) {
      await Bun.sleep(500);
      continue;
    }
    opened += 1;
    mine += 1;
    const sid: string = answer.body.session_id;
    const viewer = new WebSocket(
      `${fleet.url.replace("http", "ws")}/sessions/${sid}/novnc/websockify`,
      "binary",
    );
    let watching = false;
    viewer.onopen = () => {
      watching = true;
    };
    let code: number | undefined;
    let closed_at = 0;
    viewer.onclose = (end) => {
      code = end.code;
      closed_at = Date.now();
    };
    viewer.onerror = () => {};
    for (let i = 0; i < WATCHED.looks && !ends(); i += 1) {
      const told = await fleet.call("POST", `/sessions/${sid}/evaluate`, { code: "6 * 7" });
      if (told?.status === 200 && told.body.result !== 42) throw new Error("another answer");
      if (told?.status === 404) break;
      await Bun.sleep(WATCHED.pause_ms);
    }
    await until(`the end of session ${sid}`, GONE_MS, async () => {
      const status = (await fleet.call("DELETE", `/sessions/${sid}`))?.status;
      return status === 204 || status === 404;
    });
    await until(`the end of the viewer of session ${sid}`, TOLD_MS, () => code !== undefined);
    // A handshake that was refused is 1006 as well, and no viewer.
    if (watching && code !== undefined) judgeClose(code, closed_at);
    if (!ends()) await Bun.sleep(WATCHED.rest_ms);
  }
}

/** Looks at the fleet again and again: no job and no session has two lanes, no worker more than it may. */
async function guard(ends: () => boolean): Promise<string[]> {
  const wrong: string[] = [];
  while (!ends()) {
    const workers = (await fleet.call("GET", "/workers"))?.body?.workers ?? [];
    const seen = new Set<string>();
    for (const { worker_id, in_flight, capabilities, lanes } of workers) {
      if (in_flight > capabilities.max_concurrent && capabilities.max_concurrent > 0)
        wrong.push(`${worker_id} has ${in_flight} leases`);
      for (const { job_id, session_id } of lanes) {
        const id = session_id ?? job_id;
        if (id !== null && seen.has(id)) wrong.push(`${id} has two lanes`);
        seen.add(id);
      }
    }
    await Bun.sleep(100);
  }
  return wrong;
}

/** The error of a job that lost its worker, its hub or the fleet's patience, by `rules/jobs#states`. */
const ALLOWED_ERRORS = new RegExp(
  `^(${WORKER_LOST_ERROR}: |queue timeout: no worker took the job within|worker w\\d (is not alive|holds no lane for the job|ended the run without a result))`,
);

test(`${JOBS} jobs and ${SESSIONS} watched sessions on ${SIZE.hubs} hubs and ${SIZE.workers} workers, whatever dies: none lost, none stuck, no lane given twice (rules/jobs#no-job-is-lost)`, async () => {
  let over = false;
  const guarding = guard(() => over);
  const watching = Array.from({ length: SESSIONS }, () => watch(() => over));
  const striking = (async () => {
    const possible = BLOWS.filter((blow) => blow !== "cut" || lan !== null);
    for (let round = 0; round < ROUNDS; round += 1)
      for (const blow of shuffled(possible, random)) {
        await Bun.sleep(PAUSE_MS * (0.5 + random()));
        await blows.strike(blow);
      }
    await blows.over();
  })();
  const ids: string[] = [];
  const jobs: Job[] = [];
  let next = 0;
  const work = async () => {
    for (let n = next++; n < JOBS; n = next++) {
      const job_id = await submit(n);
      ids[n] = job_id;
      jobs[n] = await fleet.finished(job_id, STUCK_MS);
    }
  };
  const working = Promise.all(Array.from({ length: AT_ONCE }, work));
  for (const each of [guarding, ...watching, striking, working]) each.catch(() => {}); // told below
  await working;
  await striking;
  over = true;
  await Promise.all(watching);
  expect(await guarding).toEqual([]);

  expect(new Set(ids).size).toBe(JOBS);
  const statuses = Object.groupBy(jobs, (job) => job.status);
  const strange = (statuses.failed ?? []).filter(({ error }) => !ALLOWED_ERRORS.test(error ?? ""));
  expect(strange.map((job) => job.error)).toEqual([]);
  expect(jobs.every((job) => job.status === "completed" || job.status === "failed")).toBe(true);
  expect(unexplained).toEqual([]);
  await fleet.lanesWarm(90_000);

  const sql = postgres(fleet.db_url, { max: 1 });
  const ends = await sql<{ job_id: string; n: number }[]>`
    select job_id, count(*)::int as n from job_events where type in ('done', 'error') group by job_id`;
  const rows = await sql<
    { n: number }[]
  >`select count(*)::int as n from jobs where url like ${`${site.site.origin}/%n=%`} and url not like '%n=-1'`;
  await sql.end();
  expect(rows[0]?.n).toBe(JOBS);
  expect(ends.filter(({ n }) => n !== 1)).toEqual([]);
  // A hub that is killed between the two writes leaves its job's end to whoever is asked for the events.
  for (const [n, job_id] of ids.entries())
    await until(`the last event of job ${n}`, TOLD_MS, async () => {
      const told = await fleet.call("GET", `/jobs/${job_id}/events.json?limit=1000`);
      return ["done", "error"].includes(told?.body?.events?.at(-1)?.type);
    });
  for (const [n, job] of jobs.entries())
    if (job.status === "completed") {
      expect(site.loads.get(n) ?? 0).toBeGreaterThan(0);
      if ((job.capture?.captured ?? 0) < site.bodiesOf(n))
        throw new Error(
          `job ${n}, loaded ${site.loads.get(n)}×, misses bodies: ${JSON.stringify(job)}\n${fleet.tails()}`,
        );
    }
  const lasted = jobs.map((job) => Date.parse(job.finished_at ?? "") - Date.parse(job.created_at));
  expect(Math.max(...lasted)).toBeLessThan(STUCK_MS);

  // The workers' own record: every lane had one job or session at a time, each under a newer lease than the one before.
  expect(fleet.lanes.wrong).toEqual([]);
  const ran = ids.map((id) => fleet.lanes.runs.filter((run) => run.id === id));
  for (const [i, runs] of ran.entries()) {
    const counted = runs.filter(({ status, refused }) => status === "completed" && !refused).length;
    if (jobs[i]?.status === "completed") expect(counted).toBe(1);
  }
  const again = ran.filter((runs) => runs.length > 1).length;
  const twice = ran.filter((runs) => runs.filter((run) => run.status !== null).length > 1).length;
  console.log(
    `fleet chaos (seed ${SEED}): ${JOBS} jobs, ${statuses.completed?.length ?? 0} completed, ${statuses.failed?.length ?? 0} failed, ` +
      `the longest took ${(Math.max(...lasted) / 1_000).toFixed(0)} s, ${again} begun again, ${twice} of them after a result that came too late; ` +
      `${fleet.lanes.runs.length} runs on ${SIZE.workers * SIZE.lanes} lanes; ${opened} sessions, viewers closed with ` +
      `${[...new Set(closes)].join(", ")}; struck ${BLOWS.map((b) => `${b} ${blows.struck[b]}×`).join(", ")}`,
  );
}, 1_200_000);

test("afterwards the fleet works as before: a job through every hub (rules/jobs#no-job-is-lost)", async () => {
  for (const url of fleet.hub_urls) {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ url: site.urlOf(-1), options: { idle_seconds: 0.3 } });
    const answer = await fetch(`${url}/jobs`, { method: "POST", headers, body });
    const { job_id } = (await answer.json()) as { job_id: string };
    expect((await fleet.finished(job_id, 120_000)).status).toBe("completed");
  }
  await fleet.lanesWarm();
}, 600_000);
