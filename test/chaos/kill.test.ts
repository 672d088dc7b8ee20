import { afterAll, beforeAll, expect, test } from "bun:test";
import { WORKER_LOST_ERROR } from "#shared/protocol/limits.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import {
  type FleetProcesses,
  processesOf,
  runDirsOf,
  startFleet,
  until,
} from "#test/support/rigs/fleet-process.ts";

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
  await fleet.lanesWarm(120_000);
}, 180_000);

afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
}, 180_000);

/** One victim at a time: what a bad day does to a fleet. */
const VICTIMS = ["chromium", "xvnc", "worker", "hub"] as const;
type Victim = (typeof VICTIMS)[number];
const PROGRAM = { chromium: /chrom.*--remote-debugging-pipe/, xvnc: /Xvnc|Xtigervnc/ };

/** Kills one that lives; false when there is none, or when it ended between the look and the kill. */
function tryKill(victim: Victim): boolean {
  if (victim === "hub" || victim === "worker") {
    if (!fleet[victim].alive) return false;
    fleet[victim].kill("SIGKILL");
    return true;
  }
  const candidates = processesOf(fleet.dir).filter(
    (p) => PROGRAM[victim].test(p.command) && !p.command.includes("--type=") && p.state !== "Z",
  );
  const chosen = candidates[Math.floor(Math.random() * candidates.length)];
  if (!chosen) return false;
  try {
    return process.kill(chosen.pid, "SIGKILL");
  } catch {
    return false;
  }
}

/** How the error of a job that lost its browser, its display or the fleet's patience begins. */
const ALLOWED_BEGINNINGS = [
  "Chromium was killed by SIGKILL during the job: submit it again",
  "Chromium was ended during the job, because it had lost its display: submit it again",
  // What it does by itself when its display goes away; the code depends on what it was doing.
  "Chromium exited with code 0 during the job: submit it again",
  "Chromium exited with code 1 during the job: submit it again",
  "the connection to Chromium was lost: submit the job again",
  "queue timeout: no worker took the job within",
];
const isAllowed = (error: string | null): boolean =>
  error?.startsWith(`${WORKER_LOST_ERROR}: `) ||
  ALLOWED_BEGINNINGS.some((b) => error?.startsWith(b));

test(`kill -9 of Chromium, Xvnc, worker and hub during ${JOBS} jobs leaves no stuck job and no lost lane`, async () => {
  const ids: string[] = [];
  const kills: Promise<void>[] = [];
  const killed: Record<Victim, number> = { chromium: 0, xvnc: 0, worker: 0, hub: 0 };
  const kill = async (victim: Victim) => {
    await Bun.sleep(Math.random() * 1_500);
    await until(`a living ${victim} to kill`, 60_000, () => tryKill(victim));
    killed[victim] += 1;
  };
  while (ids.length < JOBS) {
    // A client of a hub that is being killed sees refused connections; it tries again, as ours do.
    const job = await fleet
      .submit(`${site.url}?n=${ids.length}`, { idle_seconds: 0.3 })
      .catch(() => null);
    if (!job?.job_id) {
      await Bun.sleep(100);
      continue;
    }
    ids.push(job.job_id);
    if (ids.length % 3 !== 1) continue;
    const victim = VICTIMS[kills.length % VICTIMS.length] as Victim;
    const attempt = kill(victim);
    attempt.catch(() => {}); // told by the wait for all of them
    kills.push(attempt);
  }
  await Promise.all(kills);

  const jobs: Job[] = [];
  for (const id of ids) jobs.push(await fleet.finished(id));
  const statuses = Object.groupBy(jobs, (j) => j.status);
  const strange = (statuses.failed ?? []).filter((job) => !isAllowed(job.error));
  expect(strange.map((job) => job.error)).toEqual([]);
  expect(jobs.every((j) => j.status === "completed" || j.status === "failed")).toBe(true);

  await fleet.lanesWarm(120_000);
  const after = await fleet.submit(site.url.href, { idle_seconds: 0.3 });
  const last = await fleet.finished(after.job_id);
  expect({ status: last.status, error: last.error }).toEqual({ status: "completed", error: null });
  await fleet.lanesWarm();
  const told = VICTIMS.map((victim) => `${victim} ${killed[victim]}×`).join(", ");
  console.log(
    `chaos: ${JOBS} jobs, killed ${told}; ${statuses.completed?.length ?? 0} completed, ${statuses.failed?.length ?? 0} failed; ` +
      `hub started ${fleet.hub.starts}×, worker ${fleet.worker.starts}×`,
  );
  expect(Math.min(...Object.values(killed))).toBeGreaterThan(0);
  expect(fleet.hub.starts).toBe(1 + killed.hub);
  expect(fleet.worker.starts).toBe(1 + killed.worker);
}, 600_000);

test("after the chaos a stop leaves no process and no run directory", async () => {
  await fleet.lanesWarm(60_000);
  expect(runDirsOf(fleet.dir).length).toBeGreaterThan(0);
  const left = await fleet.halt();
  expect(left.map((p) => p.command.slice(0, 200))).toEqual([]);
  expect(runDirsOf(fleet.dir)).toEqual([]);
}, 180_000);
