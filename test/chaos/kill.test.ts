import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { WORKER_LOST_ERROR } from "#shared/limits.ts";
import type { Job } from "#shared/schema/job.ts";
import { type FleetProcesses, startFleet, processesOf } from "#test/support/fleet-process.ts";

/** Full size: `CHAOS_JOBS=50 bun test test/chaos/kill.test.ts`; the suite runs a short one. */
const JOBS = Number(process.env.CHAOS_JOBS ?? 12);

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      new URL(request.url).pathname === "/"
        ? new Response("<title>chaos</title><img src=/a.png><img src=/b.png>", {
            headers: { "content-type": "text/html" },
          })
        : new Response("x".repeat(20_000), { headers: { "content-type": "image/png" } }),
  });
  fleet = await startFleet({ lanes: 2 });
  await fleet.lanesWarm(60_000);
}, 90_000);

afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
});

/** One victim at a time: what a bad day does to a fleet. */
const VICTIMS = ["chromium", "xvnc", "worker", "hub"] as const;

function killOne(victim: (typeof VICTIMS)[number]): void {
  if (victim === "hub" || victim === "worker") {
    fleet[victim].kill("SIGKILL");
    return;
  }
  const pattern = victim === "xvnc" ? /Xvnc|Xtigervnc/ : /chrom.*--remote-debugging-pipe/;
  const candidates = processesOf(fleet.dir).filter(
    (p) => pattern.test(p.command) && !p.command.includes("--type="),
  );
  const chosen = candidates[Math.floor(Math.random() * candidates.length)];
  if (!chosen) return;
  try {
    process.kill(chosen.pid, "SIGKILL");
  } catch {
    // it ended by itself between the look and the kill
  }
}

const ALLOWED_ERRORS = [WORKER_LOST_ERROR, "queue timeout", "browser", "Chromium"];

test(`kill -9 of Chromium, Xvnc, worker and hub during ${JOBS} jobs leaves no stuck job and no lost lane`, async () => {
  const ids: string[] = [];
  const kills: Promise<void>[] = [];
  while (ids.length < JOBS) {
    // A client of a hub that is being killed sees refused connections; it tries again, as ours do.
    const job = await fleet
      .submit(`${site.url}?n=${ids.length}`, { idle_seconds: 0.3, max_wait_seconds: 15 })
      .catch(() => null);
    if (!job?.job_id) {
      await Bun.sleep(100);
      continue;
    }
    ids.push(job.job_id);
    if (ids.length % 3 !== 1) continue;
    const victim = VICTIMS[kills.length % VICTIMS.length] as (typeof VICTIMS)[number];
    kills.push(Bun.sleep(Math.random() * 1_500).then(() => killOne(victim)));
  }
  await Promise.all(kills);

  const jobs: Job[] = [];
  for (const id of ids) jobs.push(await fleet.finished(id, 60_000));
  const statuses = Object.groupBy(jobs, (j) => j.status);
  const strange = (statuses.failed ?? []).filter(
    (job) => !ALLOWED_ERRORS.some((part) => job.error?.includes(part)),
  );
  expect(strange.map((job) => job.error)).toEqual([]);
  expect(jobs.every((j) => j.status === "completed" || j.status === "failed")).toBe(true);

  await fleet.lanesWarm(60_000);
  const after = await fleet.submit(site.url.href, { idle_seconds: 0.3 });
  const last = await fleet.finished(after.job_id);
  expect({ status: last.status, error: last.error }).toEqual({ status: "completed", error: null });
  await fleet.lanesWarm();
  console.log(
    `chaos: ${JOBS} jobs, ${kills.length} kills, ${statuses.completed?.length ?? 0} completed, ${statuses.failed?.length ?? 0} failed; ` +
      `hub started ${fleet.hub.starts}×, worker ${fleet.worker.starts}×`,
  );
}, 600_000);

test("after the chaos a stop leaves no process and no run directory", async () => {
  const runs = join(fleet.dir, "worker", "runs");
  await fleet.lanesWarm(60_000);
  const left = await fleet.stop();
  expect(left.map((p) => p.command.slice(0, 200))).toEqual([]);
  expect(existsSync(runs) ? readdirSync(runs) : []).toEqual([]);
}, 60_000);
