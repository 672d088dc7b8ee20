import { afterAll, beforeAll, expect, test } from "bun:test";
import { humanSize } from "#shared/kit/words.ts";
import { countsLike, memoryOf, settledCounts, socketsOf } from "#test/support/rigs/fleet-counts.ts";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { PROBE_ENV, PROBED, probe } from "../../scripts/bench/soak/probe-client.ts";

/** Full size: `SOAK_JOBS=200 bun test test/chaos/soak.test.ts`; the suite runs a short one. */
const JOBS = Number(process.env.SOAK_JOBS ?? 10);
const WARM_UP = Math.max(4, Math.floor(JOBS / 4));
/** Fewer jobs say nothing about memory: the heap has not settled. */
const MEMORY_IS_JUDGED = JOBS >= 100;

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      if (pathname !== "/")
        return new Response(`/*${"y".repeat(30_000)}*/`, {
          headers: { "content-type": "text/css" },
        });
      const sheets = Array.from({ length: 8 }, (_, i) => `<link rel=stylesheet href=/s${i}.css>`);
      return new Response(`<title>soak</title><link rel=icon href=data:,>${sheets.join("")}`, {
        headers: { "content-type": "text/html" },
      });
    },
  });
  fleet = await startFleet({
    lanes: 2,
    program: PROBED,
    inDirectory: (dir) => ({ [PROBE_ENV]: dir }),
  });
  await fleet.lanesWarm(60_000);
}, 90_000);

afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
}, 180_000);

/**
 * Connections that HTTP clients keep for the next request: four uploads at once on each of two lanes, and the two
 * submitting clients of this test. How many of them were needed so far is chance, so sockets are compared within this.
 */
const KEPT_CONNECTIONS = { worker: 2 * 4, hub: 2 * 4 + 2 };

async function runJobs(count: number): Promise<void> {
  let next = 0;
  const client = async () => {
    while (next < count) {
      next += 1;
      const job = await fleet.submit(site.url.href, { idle_seconds: 0.2, max_wait_seconds: 20 });
      const end = await fleet.finished(job.job_id);
      expect({ status: end.status, error: end.error }).toEqual({
        status: "completed",
        error: null,
      });
      expect(end.capture).toMatchObject({ seen: 9, captured: 9, ratio: 1 });
    }
  };
  await Promise.all([client(), client()]);
  await fleet.lanesWarm();
}

interface Held {
  readonly hub: number;
  readonly worker: number;
}

/** What is left on both heaps after a garbage collection. */
async function objectsHeld(): Promise<Held> {
  const of = async (mode: string) => (await probe(fleet.dir, mode, { gc: true })).objects;
  return { hub: await of("hub"), worker: await of("worker") };
}

/** Batches of jobs after which code that is compiled by and by must have stopped to add objects. */
const MOST_BATCHES = 3;

/**
 * A job of which one signal is kept leaves more than a thousand objects, and so does the next. Code that is compiled at its
 * hundredth run leaves some as well (6 jobs left 3,300 to 4,700 at the worker, 45 left 4,330), but not in every batch.
 */
async function requireFewObjects(before: Held, after: Held): Promise<void> {
  const jobs = JOBS - WARM_UP;
  const most = 4_000 + 50 * jobs;
  let [first, last] = [before, after];
  const isFlat = () => last.hub - first.hub < most && last.worker - first.worker < most;
  for (let batches = 1; !isFlat() && batches < MOST_BATCHES; batches += 1) {
    await runJobs(jobs);
    [first, last] = [last, await objectsHeld()];
  }
  expect(last.hub - first.hub).toBeLessThan(most);
  expect(last.worker - first.worker).toBeLessThan(most);
}

const also = MEMORY_IS_JUDGED ? " and the memory flat" : "";

test(`${JOBS} jobs in a row on two lanes leave no process, directory, descriptor or zombie behind${also}`, async () => {
  await runJobs(WARM_UP);
  const before = await settledCounts(fleet);
  const sockets = socketsOf(fleet);
  const memory = memoryOf(fleet);
  const held = await objectsHeld();
  await runJobs(JOBS - WARM_UP);
  const after = await countsLike(fleet, before);
  const socketsAfter = socketsOf(fleet);
  const { hub, worker } = memoryOf(fleet);
  const left = await objectsHeld();
  console.log(
    `soak: ${JOBS} jobs; processes ${before.processes} → ${after.processes}, ` +
      `hub ${humanSize(memory.hub)} → ${humanSize(hub)}, fds ${before.hub_fds} → ${after.hub_fds}, sockets ${sockets.hub} → ${socketsAfter.hub}; ` +
      `worker ${humanSize(memory.worker)} → ${humanSize(worker)}, fds ${before.worker_fds} → ${after.worker_fds}, sockets ${sockets.worker} → ${socketsAfter.worker}; ` +
      `objects ${held.hub} → ${left.hub}, ${held.worker} → ${left.worker}`,
  );
  expect(after).toEqual(before);
  expect(after.zombies).toBe(0);
  expect(socketsAfter.hub - sockets.hub).toBeLessThanOrEqual(KEPT_CONNECTIONS.hub);
  expect(socketsAfter.worker - sockets.worker).toBeLessThanOrEqual(KEPT_CONNECTIONS.worker);
  await requireFewObjects(held, left);
  if (!MEMORY_IS_JUDGED) return;
  // Both still grow by what is compiled and cached, ever more slowly: 20 MB over the first thousand jobs. One captured page
  // (270 kB) kept of every job would exceed this.
  const most_bytes = 20_000_000 + 50_000 * (JOBS - WARM_UP);
  expect(hub - memory.hub).toBeLessThan(most_bytes);
  expect(worker - memory.worker).toBeLessThan(most_bytes);
}, 1_800_000);
