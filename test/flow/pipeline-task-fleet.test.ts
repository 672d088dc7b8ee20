import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { workerSecret } from "#shared/kit/secret.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { createPullRig, type PullRig } from "#test/support/rigs/pull-rig.ts";

// Processes start slowly on a busy machine.
setDefaultTimeout(60_000);

/** `fleet: true` (rules/pipeline-executors#the-fleet-in-a-task): a task runs jobs with the worker's token, and never has it. */

const TOKEN = "a-token-that-no-task-may-see";
const CLIENT = JSON.stringify(join(import.meta.dir, "../../shared/client/index.ts"));
/** Runs a job as any client does, and what no task may do. */
const CODE = `
import { createClient } from ${CLIENT};
const base_url = process.env.FLOTILLA_FLEET_URL;
export const run = async ({ pk, extra }) => {
  const { jobs } = createClient({ base_url });
  const { job_id } = await jobs.submit({ url: pk }, { idempotency_key: "one-key" });
  const again = await jobs.submit({ url: pk }, { idempotency_key: "one-key" });
  const job = await jobs.wait(job_id);
  const asset = await (await jobs.download(job_id, "a.png")).text();
  const status = async (path, init) => (await fetch(base_url + path, init)).status;
  const refused = [];
  for (const path of extra.refused) refused.push(await status(path));
  refused.push(await status("/jobs/" + job_id, { method: "DELETE" }));
  const address = new URL(base_url);
  refused.push((await fetch(address.origin + "/jobs/" + job_id)).status);
  return {
    same: again.job_id === job_id,
    status: job.status,
    asset,
    refused,
    environment: JSON.stringify(process.env),
    workload: process.env.FLOTILLA_WORKLOAD,
  };
};`;
/** Other calls of the hub, and ways to write them. */
const REFUSED = [
  "/workers",
  "/api/v1/workloads",
  "/jobs",
  "/sessions",
  "/jobs/x/../../workers",
  "/jobs/x/%2e%2e/%2e%2e/workers",
  "/jobs/x/assets/..",
  "//workers",
];

let rig: PullRig;
let browser: FakeWorker;
beforeEach(async () => {
  rig = createPullRig();
  const hub = await rig.start({ mode: "hub", env: { SVC_API_TOKEN: TOKEN } });
  browser = await hub.worker({ lanes: 1 });
});
afterEach(() => rig.close());

test("a module submits, follows and reads its job under one key, and can do nothing else with the worker's token", async () => {
  const { url } = rig.hub();
  const dir = await rig.tempDir();
  await writeFile(join(dir, "jobs.ts"), CODE);
  const auth = { headers: { authorization: `Bearer ${TOKEN}` } };
  const body = {
    slug: "jobs",
    executor_type: "bun_module",
    executor_config: { source_path: join(dir, "jobs.ts"), fleet: true },
  };
  expect((await rig.api("POST", "/workloads", body, auth)).status).toBe(201);
  await rig.worker({
    api_token: TOKEN,
    secret: workerSecret(undefined, TOKEN),
    fleet: { hub_url: url, token: TOKEN },
  });
  const task = { pk: "http://site.test/", extra: { refused: REFUSED } };
  await rig.api("POST", "/workloads/jobs/tasks", task, auth);
  const job = await browser.assigned.next();
  await browser.putAsset(job, "its bytes");
  browser.finish(job);
  const run = await until("the run", 60_000, async () => {
    const { body } = await rig.api("GET", "/runs?limit=1", undefined, auth);
    return body.runs[0];
  });
  expect(run.error).toBeNull();
  const { environment, ...output } = run.output_json;
  expect(output).toEqual({
    same: true,
    status: "completed",
    asset: "its bytes",
    refused: [...REFUSED.map(() => 404), 404, 404],
    workload: "jobs",
  });
  expect(environment).not.toContain(TOKEN);
});
