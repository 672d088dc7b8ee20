import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { humanSize } from "#shared/names.ts";
import {
  type FleetProcesses,
  openFdsOf,
  rssOf,
  startFleet,
  processesOf,
  zombiesOf,
} from "#test/support/fleet-process.ts";

/** Full size: `SOAK_JOBS=200 bun test test/chaos/soak.test.ts`; the suite runs a short one. */
const JOBS = Number(process.env.SOAK_JOBS ?? 16);
const WARM_UP = Math.max(4, Math.floor(JOBS / 4));

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      if (pathname !== "/")
        return new Response("y".repeat(30_000), { headers: { "content-type": "image/png" } });
      const images = Array.from({ length: 8 }, (_, i) => `<img src=/i${i}.png>`).join("");
      return new Response(`<title>soak</title>${images}`, {
        headers: { "content-type": "text/html" },
      });
    },
  });
  fleet = await startFleet({ lanes: 2 });
  await fleet.lanesWarm(60_000);
}, 90_000);

afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
});

interface Reading {
  processes: number;
  zombies: number;
  hub_fds: number;
  worker_fds: number;
  hub_rss: number;
  worker_rss: number;
}

function read(): Reading {
  return {
    processes: processesOf(fleet.dir).length,
    zombies: zombiesOf(fleet.worker.pid).length + zombiesOf(fleet.hub.pid).length,
    hub_fds: openFdsOf(fleet.hub.pid),
    worker_fds: openFdsOf(fleet.worker.pid),
    hub_rss: rssOf(fleet.hub.pid),
    worker_rss: rssOf(fleet.worker.pid),
  };
}

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
      expect(end.capture?.ratio).toBe(1);
    }
  };
  await Promise.all([client(), client()]);
  await fleet.lanesWarm();
}

test(`${JOBS} jobs in a row on two lanes leave no process, directory, descriptor or zombie behind (flat memory)`, async () => {
  await runJobs(WARM_UP);
  const scratchBefore = readdirSync(tmpdir()).length;
  const before = read();
  await runJobs(JOBS - WARM_UP);
  const after = read();
  console.log(
    `soak: ${JOBS} jobs; processes ${before.processes} → ${after.processes}, ` +
      `hub ${humanSize(before.hub_rss)} → ${humanSize(after.hub_rss)}, fds ${before.hub_fds} → ${after.hub_fds}; ` +
      `worker ${humanSize(before.worker_rss)} → ${humanSize(after.worker_rss)}, fds ${before.worker_fds} → ${after.worker_fds}`,
  );
  expect(after.zombies).toBe(0);
  // A warm lane's Chromium may be starting or dropping a utility process at the moment of the reading.
  expect(Math.abs(after.processes - before.processes)).toBeLessThanOrEqual(6);
  expect(after.hub_fds - before.hub_fds).toBeLessThanOrEqual(4);
  expect(after.worker_fds - before.worker_fds).toBeLessThanOrEqual(4);
  expect(readdirSync(tmpdir()).length - scratchBefore).toBeLessThanOrEqual(0);
  // Per job after warm-up; a leak of one captured page (270 kB) per job would exceed this.
  const perJob = (grown: number) => grown / (JOBS - WARM_UP);
  if (JOBS >= 100) {
    expect(perJob(after.hub_rss - before.hub_rss)).toBeLessThan(150_000);
    expect(perJob(after.worker_rss - before.worker_rss)).toBeLessThan(150_000);
  }
}, 1_200_000);
