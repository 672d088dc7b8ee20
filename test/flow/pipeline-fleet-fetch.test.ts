import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import { createLog } from "#shared/kit/log.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { DEADLINE_MS } from "#test/support/fakes/task-clock.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { type PullWorker, startPullWorker } from "#worker/tasks/pull.ts";

// Processes start slowly on a busy machine.
setDefaultTimeout(180_000);

/** fleet_fetch (rules/pipeline-executors#fleet-jobs): a task of the pipeline is a job of the fleet. */

let hub: TestHub;
let browser: FakeWorker;
let puller: PullWorker;
let dir: string;
let log: string[];
/** Tasks of {@link DEADLINE_MS} are given it from when a browser has their job. */
let due: PromiseWithResolvers<void>;
const clock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => (ms === DEADLINE_MS ? due.promise : systemClock.sleep(ms, signal)),
};
beforeEach(async () => {
  due = Promise.withResolvers();
  dir = await mkdtemp(join(tmpdir(), "flotilla-fetch-"));
  hub = await startTestHub({ mode: "hub" });
  browser = await hub.worker({ lanes: 2 });
  log = [];
  puller = startPullWorker({
    control_url: hub.url,
    worker_id: "p1",
    slots: 1,
    dir,
    version: "1",
    secret: null,
    api_token: null,
    clock,
    random: Math.random,
    environment: {},
    fleet: { hub_url: hub.url, token: null },
    log: createLog("info", (line) => log.push(line)),
  });
});
afterEach(async () => {
  await puller.stop(0);
  await hub.close();
  await rm(dir, { recursive: true, force: true });
});

const api = async (method: string, path: string, body?: unknown) => {
  const answer = await hub.call(method, `/api/v1${path}`, body);
  if (answer.status >= 300) throw new Error(answer.text);
  return answer.body;
};
const create = (more: Record<string, unknown> = {}) =>
  api("POST", "/workloads", {
    slug: "pages",
    executor_type: "fleet_fetch",
    backoff: { base_s: 0 },
    executor_config: { options: { idle_seconds: 0.5, scroll: true } },
    ...more,
  });
const submit = (...items: unknown[]) => api("POST", "/workloads/pages/tasks/batch", { items });
const runs = async () => (await api("GET", "/workloads/pages/runs")).runs;
const runsOf = (n: number) =>
  until(`${n} runs`, 60_000, async () => {
    const list = await runs();
    return list.length >= n && list;
  });

test("a task becomes a job with the options of its workload and its own; its output tells what was captured", async () => {
  await create();
  await submit({
    pk: "http://site.test/page",
    extra: { options: { scroll: false, settle_seconds: 2 } },
  });
  const job = await browser.assigned.next();
  expect(job).toMatchObject({
    url: "http://site.test/page",
    options: { idle_seconds: 0.5, scroll: false, settle_seconds: 2 },
  });
  browser.log(job, "navigate", "opened the page");
  await browser.putAsset(job, "body of a", { name: "a.png" });
  await browser.putAsset(job, "script", { name: "b.js", kind: "other", mime: "text/javascript" });
  browser.finish(job);
  const [run] = await runsOf(1);
  expect(run).toMatchObject({ success: true, pk: "http://site.test/page", worker_id: "p1" });
  expect(run.output_json).toMatchObject({
    job_id: job.job_id,
    status: "completed",
    url: "http://site.test/page",
    http_status: 200,
    hub: hub.url,
    title: "Title",
    worker_id: browser.worker_id,
    asset_count: 2,
    asset_bytes: 15,
    kinds: { image: { count: 1, bytes: 9 }, other: { count: 1, bytes: 6 } },
    assets: [{ name: "a.png", size: 9 }, { name: "b.js" }],
  });
  expect(run.stdout).toContain(`job ${job.job_id}\n`);
  expect(run.stdout).toContain("info navigate: opened the page");
});

test("the tasks of a batch are jobs side by side, each with its own end; extra.url wins over the key", async () => {
  await create({ batch_size: 2, max_attempts: 1 });
  await submit({ pk: "one", extra: { url: "http://site.test/1" } }, { pk: "http://site.test/2" });
  const jobs = [await browser.assigned.next(), await browser.assigned.next()];
  expect(jobs.map((job) => job.url).sort()).toEqual(["http://site.test/1", "http://site.test/2"]);
  for (const job of jobs)
    browser.finish(
      job,
      job.url.endsWith("1") ? {} : { status: "failed", error: "no answer", stage: "navigate" },
    );
  const [a, b] = (await runsOf(2)).sort((x: { pk: string }, y: { pk: string }) =>
    x.pk < y.pk ? -1 : 1,
  );
  expect(a).toMatchObject({ pk: "http://site.test/2", success: false, outcome: "error" });
  expect(a.error).toMatch(/^job \w+ failed at navigate: no answer$/);
  expect(b).toMatchObject({ pk: "one", success: true, output_json: { asset_count: 0 } });
});

test("a URL the hub refuses fails the task at once, whatever attempts are left", async () => {
  await create({ max_attempts: 5 });
  await submit({ pk: "ftp://site.test/" });
  const [run] = await runsOf(1);
  expect(run).toMatchObject({ success: false, attempt: 1 });
  expect(run.error).toContain("the hub refused the job: url: scheme ftp:");
  expect(await api("GET", "/workloads/pages/queue")).toMatchObject({ failed: 1, pending: 0 });
});

test("at its deadline the task fails as timeout and its job is cancelled", async () => {
  await create({ timeout_s: DEADLINE_MS / 1_000, max_attempts: 1 });
  await submit({ pk: "http://site.test/slow" });
  const job = await browser.assigned.next();
  await until("the job's begin", 60_000, async () => {
    const { body } = await hub.call("GET", `/jobs/${job.job_id}`);
    return body.status === "running";
  });
  due.resolve();
  const [run] = await runsOf(1);
  expect(run).toMatchObject({ success: false, outcome: "timeout" });
  expect(run.error).toContain(`job ${job.job_id} did not finish within the timeout of 0.234 s`);
  expect((await hub.call("GET", `/jobs/${job.job_id}`)).body.status).toBe("cancelled");
});

test("a job that somebody cancels is not tried again", async () => {
  await create({ max_attempts: 5 });
  await submit({ pk: "http://site.test/" });
  const job = await browser.assigned.next();
  await hub.call("POST", `/jobs/${job.job_id}/cancel`);
  const [run] = await runsOf(1);
  expect(run.error).toBe(`job ${job.job_id} was cancelled`);
  expect(await api("GET", "/workloads/pages/queue")).toMatchObject({ failed: 1 });
});

test("a hub that cannot be reached costs no attempt; when the workload names another, tasks run there", async () => {
  const nowhere = `http://127.0.0.1:${freePort()}`;
  const executor_config = { hub_url: nowhere };
  const made = await create({ executor_config });
  await submit({ pk: "http://site.test/" });
  await until("the first try", 60_000, () =>
    log.some((line) => line.includes("executor is broken") && line.includes(nowhere)),
  );
  const { slug, created_at, updated_at, ...settings } = made;
  await api("PUT", `/workloads/${slug}`, { ...settings, executor_config: { hub_url: hub.url } });
  browser.finish(await browser.assigned.next());
  expect(await runsOf(1)).toMatchObject([{ success: true, attempt: 1 }]);
});
