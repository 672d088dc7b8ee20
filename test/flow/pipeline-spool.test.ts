import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import { createLog } from "#shared/kit/log.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { type PullWorker, startPullWorker } from "#worker/tasks/pull.ts";

// Processes start slowly on a busy machine.
setDefaultTimeout(180_000);

let hub: TestHub;
let dir: string;
let log: string[];
const workers: PullWorker[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((w) => w.stop(0)));
  await hub.close();
  await rm(dir, { recursive: true, force: true });
});

/** The waits of a stopping worker for an answer, without the waiting. */
const hasty: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms >= 10_000 ? 200 : ms, signal),
};

function startWorker(clock: Clock = systemClock): PullWorker {
  const worker = startPullWorker({
    control_url: hub.url,
    worker_id: "p1",
    slots: 1,
    dir,
    version: "1",
    clock,
    secret: null,
    api_token: null,
    random: Math.random,
    environment: { PATH: process.env.PATH ?? "" },
    log: createLog("info", (line) => log.push(line)),
  });
  workers.push(worker);
  return worker;
}

test("what a stopping worker could not tell is told by its successor: the task does not run again", async () => {
  dir = await mkdtemp(join(tmpdir(), "flotilla-spool-"));
  log = [];
  hub = await startTestHub({ mode: "hub", env: { SVC_PORT: String(freePort()) } });
  const ran = join(dir, "ran");
  const script = `echo run >> ${ran}; until [ -e ${dir}/go ]; do sleep 0.01; done; echo '"told"'`;
  await hub.call("POST", "/api/v1/workloads", {
    slug: "once",
    executor_type: "command",
    lease_secs: 60,
    executor_config: { argv: ["sh", "-c", script] },
  });
  await hub.call("POST", "/api/v1/workloads/once/tasks", { pk: "a" });
  const worker = startWorker(hasty);
  await until("the task's begin", 60_000, () => existsSync(ran));
  await hub.stop();
  await writeFile(join(dir, "go"), "");
  await worker.stop(5_000);
  expect(existsSync(join(dir, "unsent.json"))).toBe(true);

  await hub.restart();
  startWorker();
  const runs = await until("the run", 60_000, async () => {
    const { body } = await hub.call("GET", "/api/v1/workloads/once/runs");
    return body.runs.length > 0 && body.runs;
  });
  expect(runs).toMatchObject([{ success: true, attempt: 1, output_json: "told" }]);
  expect(await Bun.file(ran).text()).toBe("run\n");
  await until("the end of the file", 60_000, () => !existsSync(join(dir, "unsent.json")));
});

test("reports that another control plane was to hear are dropped, and the worker joins", async () => {
  dir = await mkdtemp(join(tmpdir(), "flotilla-spool-"));
  log = [];
  hub = await startTestHub({ mode: "hub" });
  for (const text of ["no json", JSON.stringify({ control_url: "http://other", calls: [] })]) {
    await writeFile(join(dir, "unsent.json"), text);
    const worker = startWorker();
    await until("joining", 60_000, () => log.some((line) => line.includes("joined the control")));
    expect(existsSync(join(dir, "unsent.json"))).toBe(false);
    await worker.stop(0);
    log = [];
  }
});
