import { afterEach, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { askUntil, createPullRig } from "#test/support/rigs/pull-rig.ts";

const rig = createPullRig();
afterEach(() => rig.close());
const { api } = rig;

async function create(
  slug: string,
  executor_type: string,
  source: string,
  more: Record<string, unknown> = {},
) {
  const source_path = join(
    await rig.tempDir(),
    executor_type === "bun_module" ? "plugin.ts" : "plugin.py",
  );
  await writeFile(source_path, source);
  const executor_config = { source_path, module: "plugin" };
  const made = await api("POST", "/workloads", { slug, executor_type, executor_config, ...more });
  expect(made.status).toBe(201);
}
const submit = (slug: string, pk: string) => api("POST", `/workloads/${slug}/tasks`, { pk });
const runOf = (slug: string) =>
  askUntil(`the run of ${slug}`, async () => {
    const { runs } = (await api("GET", `/workloads/${slug}/runs`)).body;
    return runs[0] ?? false;
  });

const PYTHON = `
def run(pk, extra, ctx):
    ctx.progress(0.25, "a quarter")
    ctx.log("begun")
    ctx.log("odd", "warn")
    ctx.progress(7)
    ctx.progress(float("nan"), "no number")
    ctx.log("x" * 5000, "loud")
    if pk == "fails": raise ValueError("no")
    return 1
`;
const BUN = `
export default async ({ pk }, ctx) => {
  ctx.progress(0.25, "a quarter");
  ctx.log("begun");
  ctx.log("odd", "warn");
  ctx.progress(7);
  ctx.progress(NaN, "no number");
  ctx.log("x".repeat(5000), "loud");
  if (pk === "fails") throw new Error("no");
  return 1;
};`;

test.each([
  ["python_module", PYTHON],
  ["bun_module", BUN],
])(
  "%s: ctx.progress and ctx.log reach the run, of a success and of a failure",
  async (type, source) => {
    await rig.start();
    await rig.worker();
    const said = {
      progress: { value: 1, text: "" },
      log_dropped: 0,
      log: [
        { level: "info", text: "begun", ts: expect.stringMatching(/Z$/) },
        { level: "warn", text: "odd" },
        { level: "info", text: "x".repeat(2_000) },
      ],
    };
    await create("fine", type, source);
    await submit("fine", "a");
    expect(await runOf("fine")).toMatchObject({ success: true, ...said });
    await create("bad", type, source, { max_attempts: 1 });
    await submit("bad", "fails");
    const { run_id, ...run } = await runOf("bad");
    expect(run).toMatchObject({ success: false, outcome: "error", ...said });
    expect((await api("GET", `/runs/${run_id}`)).body).toMatchObject(said);
    expect((await api("GET", "/workloads/bad/runs?brief=true")).body.runs[0]).toMatchObject({
      progress: null,
      log: [],
    });
  },
  180_000,
);

test("of a long log the last lines are kept, and how many came before them", async () => {
  await rig.start();
  await rig.worker();
  await create(
    "talks",
    "python_module",
    "def run(pk, extra, ctx):\n  for i in range(1000): ctx.log('line %d' % i)",
  );
  await submit("talks", "a");
  const { log, log_dropped } = await runOf("talks");
  expect(log).toHaveLength(200);
  expect(log_dropped).toBe(800);
  expect(log.at(-1)).toMatchObject({ text: "line 999" });
}, 180_000);

test("in a batch the words are those of the task that run_batch is at", async () => {
  await rig.start();
  await rig.worker({ slots: 1 });
  await create(
    "batch",
    "python_module",
    `
def run_batch(items, ctx):
    for item in items:
        ctx.log("at " + item["pk"])
        yield item["pk"]
`,
    { batch_size: 3 },
  );
  await api("POST", "/workloads/batch/tasks/batch", { items: [{ pk: "a" }, { pk: "b" }] });
  const runs = await askUntil("both runs", async () => {
    const { body } = await api("GET", "/workloads/batch/runs");
    return body.runs.length === 2 && body.runs;
  });
  const texts = runs.flatMap((r: { log: { text: string }[] }) => r.log.map((line) => line.text));
  expect(texts.sort()).toEqual(["at a", "at b"]);
}, 180_000);

test("a running task shows how far it is, and the words of a worker that died are on the run its lease's end records", async () => {
  // The lease ends when the test says so.
  const clock = createFakeClock(Date.now());
  await rig.start({ alone: true, mode: "control", clock });
  const made = await api("POST", "/workloads", {
    slug: "dies",
    executor_type: "command",
    executor_config: { argv: ["true"] },
    lease_secs: 1,
    max_attempts: 1,
  });
  expect(made.status).toBe(201);
  await submit("dies", "a");
  const incarnation = "b1946ac92492d234";
  const call = (name: string, body: object) =>
    api("POST", `/workers/dying/${name}`, { incarnation, ...body });
  const hello = await call("register", { host: "h", slots: 1, version: "1" });
  expect(hello.body.accepts).toEqual(["notes", "snooze", "broken", "checks", "update", "within"]);
  const [batch] = (await call("claim", { slots: 1 })).body.batches;
  const { task_id, epoch, pk, attempt } = batch.tasks[0];
  const ts = "2026-01-02T03:04:05.000Z";
  const tell = (seq: number, value: number) =>
    call("runs/logs", {
      items: [
        {
          task_id,
          epoch,
          pk,
          attempt,
          workload: "dies",
          running_ms: 2_000,
          notes: {
            seq,
            progress: { value, text: "halfway" },
            log_dropped: 0,
            log: [{ ts, level: "info", text: "last words" }],
          },
        },
      ],
    });
  expect((await tell(2, 0.5)).status).toBe(200);
  // What was sent before and arrives after it changes nothing.
  expect((await tell(1, 0.1)).status).toBe(200);
  const said = {
    progress: { value: 0.5, text: "halfway" },
    log_dropped: 0,
    log: [{ ts, level: "info", text: "last words" }],
  };
  expect((await api("GET", "/workers/dying/runs")).body.runs).toMatchObject([{ pk: "a", ...said }]);
  const run = await askUntil("the run of dies", async () => {
    await clock.advance(1_000);
    const { runs } = (await api("GET", "/workloads/dies/runs")).body;
    return runs[0] ?? false;
  });
  expect(run).toMatchObject({ outcome: "lease_expired", ...said });
}, 180_000);

test("RetryLater is a snooze: with one attempt the task still runs until it succeeds, and only that is a run", async () => {
  await rig.start();
  await rig.worker();
  const marker = join(await rig.tempDir(), "tries");
  await create(
    "snoozes",
    "python_module",
    `
import os
from flotilla import RetryLater
def run(pk, extra, ctx):
    with open(${JSON.stringify(marker)}, "a") as f: f.write("x")
    if os.path.getsize(${JSON.stringify(marker)}) < 3: raise RetryLater(0.01, "not yet")
    return ctx.attempt
`,
    { max_attempts: 1 },
  );
  await submit("snoozes", "a");
  const run = await runOf("snoozes");
  expect(run).toMatchObject({ success: true, attempt: 1, output_json: 1 });
  expect(await Bun.file(marker).text()).toBe("xxx");
  expect((await api("GET", "/workloads/snoozes/runs")).body.runs).toHaveLength(1);
}, 180_000);
