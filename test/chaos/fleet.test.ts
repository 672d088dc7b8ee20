import { afterAll, beforeAll, expect, test } from "bun:test";
import postgres from "postgres";
import { WORKER_LOST_ERROR } from "#shared/limits.ts";
import type { Job } from "#shared/schema/job.ts";
import { type FleetOfHubs, startFleetOfHubs } from "#test/support/fleet-of-hubs.ts";
import { until } from "#test/support/fleet-process.ts";

/** Full size: `FLEET_CHAOS_JOBS=300 bun test test/chaos/fleet.test.ts`; the suite runs a short one. */
const JOBS = Number(process.env.FLEET_CHAOS_JOBS ?? 16);
const FULL = JOBS >= 100;
const SIZE = FULL ? { hubs: 3, workers: 4, lanes: 2 } : { hubs: 3, workers: 2, lanes: 2 };
const SESSIONS = FULL ? 10 : 2;
/** The same seed gives the same blows at the same times. */
const SEED = Number(process.env.FLEET_CHAOS_SEED ?? 1);
const PAUSE_MS = 2_500;
const QUEUE_TIMEOUT_S = 60;
/** Longer than any of the limits set below allows a job to last. */
const STUCK_MS = (QUEUE_TIMEOUT_S + 60) * 1_000;

/** What a bad day does to a fleet. A frozen hub is one that is cut off: its sockets are open, and it says nothing. */
const BLOWS = ["hub", "redis", "worker", "freeze", "postgres"] as const;
type Blow = (typeof BLOWS)[number];
const ROUNDS = FULL ? 6 : 1;
const FROZEN_MS = FULL ? 20_000 : 3_000;
const OUTAGE_MS = 1_000;

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
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

let fleet: FleetOfHubs;
let site: ReturnType<typeof Bun.serve>;
/** How often the page of each job was asked for. */
const loads = new Map<string, number>();

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const n = new URL(request.url).searchParams.get("n");
      if (n !== null) loads.set(n, (loads.get(n) ?? 0) + 1);
      return new Response("<title>chaos</title><link rel=icon href=data:,><p>words", {
        headers: { "content-type": "text/html" },
      });
    },
  });
  fleet = await startFleetOfHubs({
    ...SIZE,
    env: {
      SVC_SUBMIT_WAIT_S: "2",
      SVC_QUEUE_REDRIVE_INTERVAL_S: "1",
      SVC_QUEUE_REDRIVE_MIN_AGE_S: "2",
      SVC_QUEUE_TIMEOUT_S: String(QUEUE_TIMEOUT_S),
      SVC_STALE_RECONCILE_INTERVAL_S: "2",
      SVC_STALE_RUNNING_GRACE_S: "15",
    },
  });
  await fleet.lanesWarm(240_000);
}, 300_000);

afterAll(async () => {
  const left = await fleet?.stop();
  await site?.stop(true);
  expect((left ?? []).map((p) => p.command.slice(0, 200))).toEqual([]);
}, 120_000);

const struck: Record<Blow, number> = { hub: 0, redis: 0, worker: 0, freeze: 0, postgres: 0 };

async function strike(blow: Blow): Promise<void> {
  struck[blow] += 1;
  if (blow === "hub" || blow === "worker") {
    const victim = pick(blow === "hub" ? fleet.hubs : fleet.workers);
    await until(`a living ${blow}`, 30_000, () => victim.alive);
    victim.kill("SIGKILL");
    return;
  }
  if (blow === "freeze") {
    const victim = pick(fleet.hubs);
    await until("a living hub", 30_000, () => victim.alive);
    victim.kill("SIGSTOP");
    await Bun.sleep(FROZEN_MS);
    victim.kill("SIGCONT");
    return;
  }
  await fleet[blow].kill();
  await Bun.sleep(OUTAGE_MS);
  await fleet[blow].restart();
}

/** Submits until a hub has taken it; with a key, so that a call whose answer was lost makes no second job. */
async function submit(n: number): Promise<string> {
  const body = { url: `${site.url}?n=${n}`, options: { idle_seconds: 0.3, max_wait_seconds: 15 } };
  return until(`job ${n} to be taken`, 60_000, async () => {
    const answer = await fleet.call("POST", "/jobs", body, {
      "Idempotency-Key": `job-${n}-${SEED}`,
    });
    return answer?.body?.job_id as string | undefined;
  });
}

/** Close codes of hub/README.md; 1006 is what a killed hub leaves. */
const CLOSE_CODES = [1000, 1001, 1006, 4404, 4502];
const closes: number[] = [];
let opened = 0;
/** A viewer is told of the end of its session so soon. */
const TOLD_MS = 15_000;

/** Sessions with a person who watches, one after the other until `ends()`; one at least, on a fleet that is busy for so long. */
async function watch(ends: () => boolean): Promise<void> {
  let mine = 0;
  while (mine === 0 || !ends()) {
    const answer = await fleet.call("POST", "/sessions", { url: site.url.href, idle_ttl_s: 60 });
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
    viewer.onclose = (end) => {
      code = end.code;
    };
    viewer.onerror = () => {};
    for (let i = 0; i < 8; i += 1) {
      const told = await fleet.call("POST", `/sessions/${sid}/evaluate`, { code: "6 * 7" });
      if (told?.status === 200 && told.body.result !== 42) throw new Error("another answer");
      if (told?.status === 404) break;
      await Bun.sleep(200);
    }
    await until(`the end of session ${sid}`, 90_000, async () => {
      const status = (await fleet.call("DELETE", `/sessions/${sid}`))?.status;
      return status === 204 || status === 404;
    });
    await until(`the end of the viewer of session ${sid}`, TOLD_MS, () => code !== undefined);
    // A handshake that was refused is 1006 as well, and no viewer.
    if (watching && code !== undefined) closes.push(code);
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

/** How the error of a job that lost its worker, its hub or the fleet's patience begins. */
const ALLOWED_BEGINNINGS = [WORKER_LOST_ERROR, "queue timeout: no worker took the job within"];

test(`§1 ${JOBS} jobs and ${SESSIONS} watched sessions on ${SIZE.hubs} hubs and ${SIZE.workers} workers, whatever dies: none lost, none stuck, no lane given twice`, async () => {
  let over = false;
  const guarding = guard(() => over);
  const watching = Array.from({ length: SESSIONS }, () => watch(() => over));
  const striking = (async () => {
    for (let round = 0; round < ROUNDS; round += 1)
      for (const blow of BLOWS) {
        await Bun.sleep(PAUSE_MS * (0.5 + random()));
        await strike(blow);
      }
  })();
  const submitting = (async () => {
    const ids: string[] = [];
    for (let n = 0; n < JOBS; n += 1) ids.push(await submit(n));
    return ids;
  })();
  for (const work of [guarding, ...watching, striking, submitting]) work.catch(() => {}); // told below
  const ids = await submitting;
  await striking;
  const jobs: Job[] = [];
  for (const id of ids) jobs.push(await fleet.finished(id, STUCK_MS));
  over = true;
  await Promise.all(watching);
  expect(await guarding).toEqual([]);

  expect(new Set(ids).size).toBe(JOBS);
  const statuses = Object.groupBy(jobs, (job) => job.status);
  const strange = (statuses.failed ?? []).filter(
    ({ error }) => !ALLOWED_BEGINNINGS.some((beginning) => error?.startsWith(beginning)),
  );
  expect(strange.map((job) => job.error)).toEqual([]);
  expect(jobs.every((job) => job.status === "completed" || job.status === "failed")).toBe(true);
  expect(closes.filter((code) => !CLOSE_CODES.includes(code))).toEqual([]);
  await fleet.lanesWarm(90_000);

  const sql = postgres(fleet.db_url, { max: 1 });
  const ends = await sql<{ job_id: string; n: number }[]>`
    select job_id, count(*)::int as n from job_events where type in ('done', 'error') group by job_id`;
  const rows = await sql<
    { n: number }[]
  >`select count(*)::int as n from jobs where url like ${`${site.url}?n=%`}`;
  await sql.end();
  expect(rows[0]?.n).toBe(JOBS);
  expect(ends.filter(({ n }) => n !== 1)).toEqual([]);
  expect(ends.filter(({ job_id }) => ids.includes(job_id)).length).toBe(JOBS);
  for (const [n, job] of jobs.entries())
    if (job.status === "completed") expect(loads.get(String(n)) ?? 0).toBeGreaterThan(0);

  const again = [...loads.values()].filter((n) => n > 1).length;
  console.log(
    `fleet chaos (seed ${SEED}): ${JOBS} jobs, ${statuses.completed?.length ?? 0} completed, ${statuses.failed?.length ?? 0} failed, ` +
      `${again} pages asked for again; ${opened} sessions, viewers closed with ${[...new Set(closes)].join(", ")}; struck ${BLOWS.map((b) => `${b} ${struck[b]}×`).join(", ")}`,
  );
}, 1_200_000);

test("§1 afterwards the fleet works as before: a job through every hub", async () => {
  for (const url of fleet.hub_urls) {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ url: site.url.href, options: { idle_seconds: 0.3 } });
    const answer = await fetch(`${url}/jobs`, { method: "POST", headers, body });
    const { job_id } = (await answer.json()) as { job_id: string };
    expect((await fleet.finished(job_id, 60_000)).status).toBe("completed");
  }
  await fleet.lanesWarm();
}, 120_000);
