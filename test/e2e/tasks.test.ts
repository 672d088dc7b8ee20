import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createClient, type Job } from "flotilla";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { referenceOf, TASKS } from "#test/support/tasks/list.ts";
import { startTaskServer, type TaskServer } from "#test/support/tasks/server.ts";
import type { Task } from "#test/support/tasks/task.ts";

/** Mode rerun (rules/scripts#rerun): the fixed task set by its reference scripts, in a real Chromium and a real sandbox. */

/** Far above the 30 s that all of them take on an idle machine. */
const SLOW_MS = 300_000;

let fleet: FleetProcesses;
let site: TaskServer;
/** One for each task, all submitted at once. */
const done = new Map<Task, Promise<Rerun>>();

interface Rerun {
  run: string;
  job: Job;
  /** `result.json`. */
  result: unknown;
}

async function rerun(task: Task, run: string): Promise<Rerun> {
  const { jobs } = createClient({ base_url: fleet.url });
  const code = await referenceOf(task);
  const options = { mode: "rerun", goal: task.goal, code } as const;
  const { job_id } = await jobs.submit({ url: site.urlOf(task, run), options }, { patience_ms: 0 });
  const job = await jobs.wait(job_id, { timeout_ms: SLOW_MS });
  const stored = (await jobs.assets(job_id)).some(({ name }) => name === "result.json");
  const result = stored ? await (await jobs.download(job_id, "result.json")).json() : undefined;
  return { run, job, result };
}

async function problemOf(task: Task, { run, job, result }: Rerun): Promise<string | null> {
  const { jobs } = createClient({ base_url: fleet.url });
  const assets = (await jobs.assets(job.job_id)).map(({ name, mime }) => ({
    name,
    mime,
    read: async () => (await jobs.download(job.job_id, name)).text(),
  }));
  return task.verify({ result, assets, server_state: site.statesOf(task, run).at(-1) });
}

beforeAll(async () => {
  site = startTaskServer();
  // One lane is always left to fetch jobs, so that two scripts run at a time.
  fleet = await startFleet({ lanes: 3, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  await fleet.lanesWarm(60_000);
  for (const task of TASKS) done.set(task, rerun(task, `${task.name}-1`));
  // A failure is its own test's.
  await Promise.allSettled(done.values());
}, SLOW_MS);
afterAll(async () => {
  await fleet?.stop();
  await site?.stop();
}, 180_000);

describe("the reference script reaches its goal in mode rerun (rules/scripts#rerun)", () => {
  for (const task of TASKS)
    test(`${task.name}`, async () => {
      const rerun = await done.get(task);
      expect(rerun?.job).toMatchObject({ status: "completed", error: null, attempts: 1 });
      expect(await problemOf(task, rerun as Rerun)).toBeNull();
    });
});

test(
  "the same script gives the same result again, and a job can be rerun by its id (rules/scripts#rerun)",
  async () => {
    const [task] = TASKS as [Task];
    const first = (await done.get(task)) as Rerun;
    const { jobs } = createClient({ base_url: fleet.url });
    const run = `${task.name}-2`;
    const options = { mode: "rerun", rerun_from: first.job.job_id, goal: task.goal } as const;
    const { job_id } = await jobs.submit(
      { url: site.urlOf(task, run), options },
      { patience_ms: 0 },
    );
    const job = await jobs.wait(job_id, { timeout_ms: SLOW_MS });
    expect(job).toMatchObject({ status: "completed", error: null });
    const text = async (id: string) => (await jobs.download(id, "result.json")).text();
    expect(await text(job_id)).toBe(await text(first.job.job_id));
    expect(site.statesOf(task, run)).toEqual(site.statesOf(task, first.run));
  },
  SLOW_MS,
);

test("a page where nothing was done is told from one where the task was", async () => {
  for (const task of TASKS) {
    const rerun = (await done.get(task)) as Rerun;
    const untouched = { result: rerun.result, assets: [], server_state: task.newState() };
    expect([task.name, await task.verify(untouched)]).toEqual([task.name, expect.any(String)]);
  }
});
