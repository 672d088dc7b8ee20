import { afterEach, expect, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { stillClock } from "#test/support/fakes/still-clock.ts";
import { DEADLINE_MS, taskClock } from "#test/support/fakes/task-clock.ts";
import { askUntil, createPullRig } from "#test/support/rigs/pull-rig.ts";

const rig = createPullRig();
afterEach(() => rig.close());
const { api } = rig;

async function pythonWorkload(slug: string, source: string, more: Record<string, unknown> = {}) {
  const source_path = join(await rig.tempDir(), "plugin.py");
  await writeFile(source_path, source);
  const { status, text } = await api("POST", "/workloads", {
    slug,
    executor_type: "python_module",
    executor_config: { source_path, module: "plugin" },
    ...more,
  });
  if (status !== 201) throw new Error(text);
  return slug;
}

const drained = (slug: string) =>
  askUntil(`the end of ${slug}`, async () => {
    const { body } = await api("GET", `/workloads/${slug}/queue`);
    return body.pending + body.claimed === 0 && body;
  });
const submit = (slug: string, pks: string[]) =>
  api("POST", `/workloads/${slug}/tasks/batch`, { items: pks.map((pk) => ({ pk })) });

test("the typical flow: submit a batch, poll the counts until it drains, read the runs, reset the failed (rules/pipeline-overview#the-usual-client)", async () => {
  await rig.start();
  const slug = await pythonWorkload(
    "flow",
    `
from flotilla import NoRetry
def run(pk, extra, ctx):
    print("working on", pk)
    if pk == "p3": raise NoRetry("p3 never works")
    return {"length": len(pk)}
`,
    { batch_size: 4 },
  );
  await submit(
    slug,
    Array.from({ length: 50 }, (_, i) => `p${i}`),
  );
  await rig.worker();
  expect(await drained(slug)).toEqual({ pending: 0, claimed: 0, failed: 1, total: 1 });
  const { body } = await api("GET", `/workloads/${slug}/runs?limit=500`);
  expect(body.runs).toHaveLength(50);
  const p7 = body.runs.find((r: { pk: string }) => r.pk === "p7");
  expect(p7).toMatchObject({
    success: true,
    output_json: { length: 2 },
    stdout: "working on p7\n",
    worker_id: "p1",
  });
  const p3 = body.runs.find((r: { pk: string }) => r.pk === "p3");
  expect(p3).toMatchObject({ success: false, error: "NoRetry: p3 never works", attempt: 1 });
  expect((await api("POST", `/workloads/${slug}/queue/reset-failed`)).body).toEqual({ reset: 1 });
  await drained(slug);
  expect((await api("GET", `/workloads/${slug}/runs?pk=p3`)).body.runs).toHaveLength(2);
}, 180_000);

test("a module that does not load burns no attempt and is tried again when it was mended", async () => {
  await rig.start();
  const slug = await pythonWorkload("broken", "import not_there");
  await submit(slug, ["a"]);
  const worker = await rig.worker();
  await askUntil("the first try", async () =>
    worker.log.some((line) => line.includes("executor is broken")),
  );
  const { body } = await api("GET", `/workloads/${slug}/queue/peek`);
  expect(body.rows).toMatchObject([{ pk: "a", last_error: null }]);
  expect((await api("GET", `/workloads/${slug}/runs`)).body.runs).toEqual([]);
  await writeFile(
    (await api("GET", `/workloads/${slug}`)).body.executor_config.source_path,
    "def run(pk): return pk",
  );
  await drained(slug);
  expect((await api("GET", `/workloads/${slug}/runs`)).body.runs).toMatchObject([
    { success: true, attempt: 1, output_json: "a" },
  ]);
}, 180_000);

test("a stopping worker gives back what does not end in time, with its attempt", async () => {
  await rig.start();
  const slug = await pythonWorkload(
    "slow",
    "import time\ndef run(pk):\n  print('begun', flush=True)\n  time.sleep(600)",
  );
  await submit(slug, ["a", "b", "c"]);
  const worker = await rig.worker({ slots: 2 });
  await askUntil("two running", async () => {
    const { body } = await api("GET", `/workloads/${slug}/queue`);
    return body.claimed === 2;
  });
  await worker.stop(50);
  expect((await api("GET", `/workloads/${slug}/queue`)).body).toMatchObject({
    pending: 3,
    claimed: 0,
    failed: 0,
  });
  const { body } = await api("GET", `/workloads/${slug}/queue/peek`);
  expect(body.rows.map((r: { attempt: number }) => r.attempt)).toEqual([0, 0, 0]);
  expect((await api("GET", `/workloads/${slug}/runs`)).body.runs).toEqual([]);
}, 180_000);

test("an error of a million letters is recorded, cut to what a report may hold", async () => {
  await rig.start();
  const slug = await pythonWorkload("wordy", "def run(pk): raise ValueError('x' * 1_000_000)", {
    max_attempts: 1,
  });
  await submit(slug, ["a"]);
  await rig.worker();
  expect(await drained(slug)).toMatchObject({ failed: 1 });
  const { body } = await api("GET", `/workloads/${slug}/runs`);
  expect(body.runs).toHaveLength(1);
  expect(body.runs[0].error).toStartWith("ValueError: xxx");
  expect(body.runs[0].error.length).toBeLessThanOrEqual(65_536);
}, 180_000);

test("told to recycle, a worker replaces its warm process after the running task; told to stop, it stops (rules/pipeline-pull#commands-to-a-worker)", async () => {
  await rig.start();
  const dir = await rig.tempDir();
  const gate = join(dir, "open");
  const slug = await pythonWorkload(
    "warm",
    `
import os, time
def run(pk):
    while pk == "hold" and not os.path.exists(${JSON.stringify(gate)}): time.sleep(0.01)
    return os.getpid()
`,
    // While a task runs, its worker speaks up three times within its lease.
    { lease_secs: 9 },
  );
  const worker = await rig.worker({ slots: 1 });
  const told = (command: string) =>
    askUntil(command, async () => worker.log.some((line) => line.includes(`"${command}"`)));
  await submit(slug, ["a"]);
  await drained(slug);
  await submit(slug, ["hold"]);
  await api("POST", "/workers/p1/admin-command", { command: "recycle" });
  await told("recycle");
  await writeFile(gate, "");
  await drained(slug);
  await submit(slug, ["b"]);
  await drained(slug);
  const { body } = await api("GET", `/workloads/${slug}/runs`);
  const pid = (pk: string) => body.runs.find((r: { pk: string }) => r.pk === pk).output_json;
  expect(pid("hold")).toBe(pid("a"));
  expect(pid("b")).not.toBe(pid("a"));
  await rm(gate);
  await submit(slug, ["hold"]);
  await api("POST", "/workers/p1/admin-command", { command: "stop" });
  await worker.told_to_stop;
  await writeFile(gate, "");
}, 180_000);

test("what a task that runs for longer has printed so far can be read while it runs (rules/pipeline-pull#live-output)", async () => {
  await rig.start();
  const slug = await pythonWorkload(
    "chatty",
    "import time, os\ndef run(pk):\n  print('x' * 9000 + ' half way', flush=True)\n  time.sleep(600)",
  );
  await submit(slug, ["a/b"]);
  const worker = await rig.worker({ slots: 1 });
  const [run] = await askUntil("the running task, and what it printed", async () => {
    const { body } = await api("GET", "/workers/p1/runs");
    return body.runs?.[0]?.stdout.endsWith("\n") ? body.runs : false;
  });
  expect(run).toMatchObject({ workload: slug, pk: "a/b", attempt: 1, stderr: "" });
  expect(run.stdout).toEndWith("xxx half way\n");
  expect(run.stdout.length).toBe(8_192);
  await worker.stop(0);
}, 180_000);

test("a worker that has nothing to tell stops at once, although nobody answers it any more", async () => {
  const hub = await rig.start();
  let stopping = false;
  /** Deadlines that it has waited out. */
  const waited: number[] = [];
  const sleep: Clock["sleep"] = async (ms, signal) => {
    await systemClock.sleep(ms, signal);
    if (stopping && ms >= 5_000 && !signal?.aborted) waited.push(ms);
  };
  const worker = await rig.worker({ clock: { ...systemClock, sleep } });
  await askUntil("the worker", async () => (await api("GET", "/workers")).body.total === 1);
  await hub.close();
  stopping = true;
  await worker.stop(0);
  expect(waited).toEqual([]);
}, 180_000);

test("a lease shorter than the time between heartbeats of an idle worker is renewed in time", async () => {
  // The leases go by a time of their own, which passes as the worker speaks up.
  const clock = createFakeClock(Date.now());
  const hub = await rig.start({ alone: true, mode: "control", clock });
  const gate = join(await rig.tempDir(), "open");
  const slug = await pythonWorkload(
    "short",
    `
import os, time
def run(pk):
    while not os.path.exists(${JSON.stringify(gate)}): time.sleep(0.01)
`,
    { lease_secs: 6 },
  );
  const asked: number[] = [];
  const sleep: Clock["sleep"] = (ms, signal) => {
    asked.push(ms);
    return systemClock.sleep(ms, signal);
  };
  await rig.worker({ clock: { ...systemClock, sleep } });
  await askUntil("the worker", async () => (await api("GET", "/workers")).body.total === 1);
  await submit(slug, ["a"]);
  await askUntil("the task begins", async () => {
    const { body } = await api("GET", `/workloads/${slug}/queue`);
    return body.claimed === 1;
  });
  const beats = () => hub.log.filter(({ path }) => String(path).endsWith("/heartbeat")).length;
  for (let round = 0; round < 2; round += 1) {
    const before = beats();
    await askUntil("a heartbeat", async () => beats() > before);
    await clock.advance(4_000);
  }
  // Three times within the lease.
  expect(asked.filter((ms) => ms > 1_000 && ms <= 2_000)).not.toEqual([]);
  await writeFile(gate, "");
  await drained(slug);
  const { body } = await api("GET", `/workloads/${slug}/runs`);
  expect(body.runs).toMatchObject([{ pk: "a", attempt: 1, success: true }]);
}, 180_000);

test("every task of a batch has its own time; one that exceeds it is told with what it printed", async () => {
  await rig.start();
  // It is measured anew for each of them, and is over for the last one when that has begun.
  const tasks = taskClock(await rig.tempDir());
  let timed = 0;
  const sleep: Clock["sleep"] = (ms, signal) => {
    if (ms !== DEADLINE_MS) return systemClock.sleep(ms, signal);
    timed += 1;
    return (timed < 3 ? stillClock : tasks).sleep(ms, signal);
  };
  const slug = await pythonWorkload(
    "timed",
    `
import time
def run(pk):
    print("begun", pk, flush=True)
    if pk == "hang":
        open(${JSON.stringify(tasks.mark("polite"))}, "w").close()
        time.sleep(600)
`,
    { timeout_s: DEADLINE_MS / 1_000, batch_size: 3, max_attempts: 1 },
  );
  await submit(slug, ["a", "b", "hang"]);
  await rig.worker({ slots: 1, clock: { ...systemClock, sleep } });
  expect(await drained(slug)).toMatchObject({ failed: 1 });
  const { body } = await api("GET", `/workloads/${slug}/runs`);
  expect(body.runs.map((r: { pk: string; outcome: string }) => [r.pk, r.outcome])).toEqual([
    ["hang", "timeout"],
    ["b", "success"],
    ["a", "success"],
  ]);
  expect(body.runs[0]).toMatchObject({
    stdout: "begun hang\n",
    error: "the task did not finish within the timeout of 0.234 s",
  });
  // rules/failures#groups: a search for the word finds it.
  const found = await api("GET", `/failures?workload=${slug}&text=timeout`);
  expect(found.body.items).toMatchObject([{ count: 1, example: { pk: "hang" } }]);
  expect(timed).toBe(3);
}, 180_000);
