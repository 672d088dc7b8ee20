import { afterEach, expect, test } from "bun:test";
import {
  EXAMPLE_TASK,
  PYTHON_EXAMPLE,
  TYPESCRIPT_EXAMPLE,
} from "#shared/protocol/code-examples.ts";
import { EXECUTOR_TYPES, EXECUTORS } from "#shared/protocol/executors.ts";
import { askUntil, createPullRig } from "#test/support/rigs/pull-rig.ts";

const rig = createPullRig();
afterEach(() => rig.close());
const { api } = rig;

/** A hub, and a worker that has joined it. */
async function start() {
  await rig.start();
  const joined = Promise.withResolvers<void>();
  await rig.worker({ onJoined: joined.resolve });
  await joined.promise;
}
const coded = (code: string, executor_type = "python_module") => ({
  executor_type,
  executor_config: { code },
});
const answering = (word: string) => `def run(pk, extra):\n    return {"said": "${word}"}\n`;

async function create(slug: string, code: string, type?: string) {
  const { status, body } = await api("POST", "/workloads", { slug, ...coded(code, type) });
  expect(status).toBe(201);
  return body;
}
const save = (slug: string, code: string) =>
  api("PUT", `/workloads/${slug}`, { name: slug, ...coded(code) });
const submit = (slug: string, pk: string, extra = {}) =>
  api("POST", `/workloads/${slug}/tasks`, { pk, extra });
const outputOf = (slug: string, pk: string) =>
  askUntil(`the run of ${pk}`, async () => {
    const { runs } = (await api("GET", `/workloads/${slug}/runs?pk=${pk}`)).body;
    return runs.length > 0 && runs[0];
  });
const becomes = (slug: string, state: string) =>
  askUntil(`${slug} ${state}`, async () => {
    const { executor } = (await api("GET", `/workloads/${slug}`)).body;
    return executor.state === state && executor;
  });

test("the examples run as they stand, in both languages (rules/pipeline-code#examples)", async () => {
  await start();
  const examples = [
    ["py", PYTHON_EXAMPLE, "python_module"],
    ["ts", TYPESCRIPT_EXAMPLE, "bun_module"],
  ] as const;
  for (const [slug, code, type] of examples) {
    expect(EXECUTORS[type].example).toEqual({ code });
    await create(slug, code, type);
    await submit(slug, EXAMPLE_TASK.pk, EXAMPLE_TASK.extra);
    const run = await outputOf(slug, EXAMPLE_TASK.pk);
    expect(run).toMatchObject({ success: true, output_json: { greeting: "Hello, Ada!" } });
    expect(run.log).toMatchObject([{ level: "info", text: "greeting Ada" }]);
  }
});

test("the example of every kind of workload that runs here is a task that succeeds", async () => {
  await start();
  for (const executor_type of EXECUTOR_TYPES.filter((type) => EXECUTORS[type].runs_code)) {
    const { example, pks } = EXECUTORS[executor_type];
    const slug = executor_type.replace("_", "-");
    const made = await api("POST", "/workloads", { slug, executor_type, executor_config: example });
    expect(made.status).toBe(201);
    await api("POST", `/workloads/${slug}/tasks/batch`, { items: pks.map((pk) => ({ pk })) });
    for (const pk of pks) expect(await outputOf(slug, pk)).toMatchObject({ success: true });
  }
});

test("new code runs from the next task on, and what it replaced is one call away (rules/pipeline-code#roll-back)", async () => {
  await start();
  await create("words", answering("one"));
  await submit("words", "a");
  expect(await outputOf("words", "a")).toMatchObject({ output_json: { said: "one" } });
  await save("words", answering("two"));
  await submit("words", "b");
  expect(await outputOf("words", "b")).toMatchObject({ output_json: { said: "two" } });
  const back = await api("POST", "/workloads/words/versions/1/restore");
  expect(back.body.executor_config).toEqual({ code_version: 3 });
  await submit("words", "c");
  expect(await outputOf("words", "c")).toMatchObject({ output_json: { said: "one" } });
});

test("code that does not load is told without a task, within a heartbeat, and a roll back mends it (rules/pipeline-code#a-new-version-is-tried-at-once)", async () => {
  await start();
  await create("fragile", answering("fine"));
  await save("fragile", `import not_there_at_all\n${answering("never")}`);
  const saved = Date.now();
  const told = await becomes("fragile", "broken");
  // A heartbeat is 5 s; the rest is what a busy machine takes to start Python.
  expect(Date.now() - saved).toBeLessThan(30_000);
  expect(told.error).toContain("No module named 'not_there_at_all'");
  expect(told.trace).toContain("main.py");
  await submit("fragile", "a");
  await api("POST", "/workloads/fragile/versions/1/restore");
  expect(await outputOf("fragile", "a")).toMatchObject({ success: true });
  expect(await becomes("fragile", "ok")).toMatchObject({ error: null });
});

test("a worker tries a draft with one task: output, log, streams and the traceback (rules/pipeline-code#check-before-saving)", async () => {
  await start();
  const source = `def run(pk, extra, ctx):
    print("printed", pk)
    ctx.log("logged", "warn")
    if extra.get("fail"):
        raise ValueError("no such thing")
    return {"n": extra["n"] + 1}
`;
  const check = (task: object, code = source) =>
    api("POST", "/workloads/check", { ...coded(code), task });
  const good = await check({ pk: "p", extra: { n: 1 } });
  expect(good).toMatchObject({ status: 200 });
  expect(good.body).toMatchObject({
    state: "ok",
    worker_id: "p1",
    error: null,
    run: { outcome: "success", output: { n: 2 }, stdout: "printed p\n", truncated: false },
  });
  expect(good.body.run.log).toEqual([{ level: "warn", text: "logged" }]);
  const bad = await check({ extra: { fail: true } });
  expect(bad.body).toMatchObject({
    state: "ok",
    run: { outcome: "error", error: "ValueError: no such thing", output: null },
  });
  expect(bad.body.run.stderr).toContain('main.py", line 5');
  const broken = await check({}, "def run(pk:\n");
  expect(broken.body).toMatchObject({ state: "broken", run: null });
  expect(broken.body.trace).toContain("SyntaxError");
  // Nothing is left behind of what nobody saved.
  expect((await api("GET", "/workloads")).body.workloads).toEqual([]);
  expect((await api("GET", "/runs")).body.runs).toEqual([]);
  expect((await api("GET", "/workers")).body.workers[0].broken).toEqual([]);
});

test("a saved workload is tested the same way, and what it prints too much is cut", async () => {
  await start();
  await create("loud", `def run(pk, extra):\n    print("x" * 100_000)\n    return "y" * 100_000\n`);
  const { body } = await api("POST", "/workloads/loud/check", { task: { pk: "one" } });
  expect(body.run).toMatchObject({ outcome: "success", truncated: true });
  expect(body.run.stdout.length).toBe(32 * 1024);
  expect(body.run.output.length).toBe(64 * 1024);
  expect((await api("GET", "/workloads/loud/runs")).body.runs).toEqual([]);
});

test("a test that takes too long ends and says so", async () => {
  await start();
  const code = "import time\ndef run(pk):\n    time.sleep(60)\n";
  const { body } = await api("POST", "/workloads/check", {
    ...coded(code),
    task: { pk: "slow" },
    timeout_s: 12,
  });
  expect(body.run).toMatchObject({ outcome: "timeout" });
});
