import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Client, createClient, type Job } from "flotilla";
import {
  type CodegenRig,
  script,
  startCodegenRig,
  verdict,
} from "#test/support/rigs/codegen-rig.ts";
import { type Site, startSite } from "#test/support/servers/site/site.ts";
import { referenceOf, TASKS } from "#test/support/tasks/list.ts";
import { startTaskServer, type TaskServer } from "#test/support/tasks/server.ts";
import type { Task } from "#test/support/tasks/task.ts";

/**
 * What a replay promises, on the hardest pages there are: the conformance page of the capture, and the sites of the task
 * set with their scripts. `REPLAY_ALL=1` takes every site of the set.
 */

const SLOW_MS = 600_000;
const SLICE = ["search-and-extract", "login-download", "popup"];
const TAKEN = Bun.env.REPLAY_ALL === "1" ? TASKS : TASKS.filter(({ name }) => SLICE.includes(name));

let rig: CodegenRig;
let client: Client;
let site: Site;
let tasks: TaskServer;
let conformance: ReturnType<typeof replayConformance>;
/** One for each task. They wait for no page, so they run while the conformance page waits for silence. */
const scripts = new Map<Task, ReturnType<typeof replayTask>>();

const run = async (url: string, options: object): Promise<Job> => {
  const { job_id } = await client.jobs.submit({ url, options }, { patience_ms: 0 });
  return client.jobs.wait(job_id, { timeout_ms: SLOW_MS });
};

beforeAll(async () => {
  [site, rig] = await Promise.all([startSite(), startCodegenRig({ lanes: 3 })]);
  tasks = startTaskServer();
  client = createClient({ base_url: rig.fleet.url });
  conformance = replayConformance();
  for (const task of TAKEN) scripts.set(task, replayTask(task));
  // A failure is its own test's.
  await Promise.allSettled([conformance, ...scripts.values()]);
}, SLOW_MS);
afterAll(async () => {
  expect(await rig?.stop()).toEqual([]);
  await Promise.all([site?.stop(), tasks?.stop()]);
}, SLOW_MS);

/** A busy machine may stop a page for so long that its job gives it up: then it is visited once more. */
async function visit(options: object): Promise<Job> {
  const all = { idle_seconds: 4, max_wait_seconds: 240, ...options };
  const job = await run(site.url, all);
  const is_whole = job.final_url?.endsWith("/last.html") && job.capture?.lost === 0;
  return is_whole ? job : run(site.url, all);
}

/** The page's capture, and what its replay and that of its imported web archive are. */
async function replayConformance() {
  const captured = await visit({});
  const wacz = await (await client.jobs.archive([captured.job_id])).blob();
  const imported = await client.jobs.import(wacz);
  const before = site.connections();
  // One after the other: two of these pages at a time would take each other's processor.
  const replays = [
    await visit({ replay: captured.job_id }),
    await visit({ replay: imported.job_id }),
  ];
  return { captured, replays, connections: site.connections() - before };
}

/** A script's visit of its site, and the same script in a replay of it. */
async function replayTask(task: Task) {
  const url = tasks.urlOf(task, task.name);
  const options = { mode: "rerun", goal: task.goal, code: await referenceOf(task) } as const;
  const captured = await run(url, options);
  const before = tasks.requests(task);
  const replayed = await run(url, { ...options, replay: captured.job_id });
  return { captured, replayed, requests: tasks.requests(task) - before };
}

describe("the conformance page (rules/replay#what-is-answered)", () => {
  const pageOf = async ({ job_id }: Job): Promise<string> =>
    (await rig.call("GET", `/jobs/${job_id}/page.html`)).text;

  for (const [n, what] of ["its capture", "the web archive of it, imported"].entries())
    test(`is the same page from ${what}, and nearly every request has its answer`, async () => {
      const { captured, replays } = await conformance;
      expect(captured).toMatchObject({ status: "completed", capture: { lost: 0, ratio: 1 } });
      const job = replays[n] as Job;
      expect(job).toMatchObject({
        status: "completed",
        error: null,
        final_url: captured.final_url,
        capture: { traffic: { received_bytes: 0, sent_bytes: 0 } },
      });
      expect(await pageOf(job)).toBe(await pageOf(captured));
      const { answered = 0, missed_count = 0, missed = [] } = job.capture?.replay ?? {};
      // A request that was cut off by a navigation has no answer in the capture either.
      const cut = missed.filter(({ reason }) => reason.startsWith("it had no answer"));
      const share = answered / (answered + missed_count - cut.length);
      expect(answered).toBeGreaterThan(70);
      expect({ missed, is_enough: share >= 0.99 }).toEqual({ missed, is_enough: true });
      if (Bun.env.REPLAY_ALL) console.log(JSON.stringify({ what, answered, missed }));
    });

  test("no replay of it connects to its site", async () => {
    expect((await conformance).connections).toBe(0);
  });
});

/** What the task says of a job whose site was in the state that the capture left. */
async function problemOf(task: Task, { job_id }: Job): Promise<string | null> {
  const assets = (await client.jobs.assets(job_id)).map(({ name, mime }) => ({
    name,
    mime,
    read: async () => (await client.jobs.download(job_id, name)).text(),
  }));
  const result = await assets.find(({ name }) => name === "result.json")?.read();
  const server_state = tasks.statesOf(task, task.name).at(-1);
  return task.verify({ result: result && JSON.parse(result), assets, server_state });
}

describe("a script reaches its goal in a replay of its visit, and its site sees nothing (rules/replay#scripts)", () => {
  for (const task of TAKEN)
    test(`${task.name}`, async () => {
      const done = await scripts.get(task);
      const { captured, replayed, requests } = done as NonNullable<typeof done>;
      expect(await problemOf(task, captured)).toBeNull();
      expect(replayed).toMatchObject({ status: "completed", error: null, attempts: 1 });
      expect(await problemOf(task, replayed)).toBeNull();
      const { missed = [] } = replayed.capture?.replay ?? {};
      // A page that reads no body leaves none: it has the status that it looks at.
      const unread = "the capture does not have its body";
      expect({ missed: missed.filter(({ reason }) => reason !== unread), requests }).toEqual({
        missed: [],
        requests: 0,
      });
    });

  test(
    "one that an engine writes is tried against the capture alone",
    async () => {
      const [task] = TAKEN as [Task];
      const { captured } = (await scripts.get(task)) as { captured: Job };
      const before = tasks.requests(task);
      const broken = `import { session } from "flotilla";\nawait session.click("#nope", { timeout_s: 0.3 });`;
      const plan = [script(broken), script(await referenceOf(task))];
      const scenario = { goal: task.goal, plan, judge: [verdict("success")] };
      const url = tasks.urlOf(task, task.name);
      const { job } = await rig.outcome(
        await rig.submit(url, scenario, { replay: captured.job_id }),
      );
      expect(job).toMatchObject({ status: "completed", error: null, attempts: 2 });
      expect(await problemOf(task, job)).toBeNull();
      expect(job.capture?.replay?.missed).toEqual([]);
      expect(tasks.requests(task)).toBe(before);
    },
    SLOW_MS,
  );
});
