import { afterEach, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stillClock } from "#test/support/fakes/still-clock.ts";
import { askUntil, createPullRig } from "#test/support/rigs/pull-rig.ts";

const rig = createPullRig();
afterEach(() => rig.close());
const { api } = rig;

/** A Python workload whose module has this source; gives its file. */
async function create(slug: string, source: string, more: Record<string, unknown> = {}) {
  const source_path = join(await rig.tempDir(), "plugin.py");
  await writeFile(source_path, source);
  const body = {
    slug,
    executor_type: "python_module",
    executor_config: { source_path, module: "plugin" },
    ...more,
  };
  expect((await api("POST", "/workloads", body)).status).toBe(201);
  return source_path;
}
const submit = (slug: string, pk: string) => api("POST", `/workloads/${slug}/tasks`, { pk });
const read = async (slug: string) => (await api("GET", `/workloads/${slug}`)).body;
const becomes = (slug: string, state: string) =>
  askUntil(`${slug} ${state}`, async () => {
    const { executor } = await read(slug);
    return executor.state === state && executor;
  });

const BROKEN: [what: string, source: string, error: string, config?: Record<string, unknown>][] = [
  ["an import that fails", "import not_there_at_all", "No module named 'not_there_at_all'"],
  ["a syntax error", "def run(pk:\n  return", "SyntaxError"],
  ["no run", "answer = 42", "neither run"],
  [
    "init_kwargs that do not fit",
    "class Plugin:\n  def __init__(self, a): pass\n  def run(self, pk): return 1",
    "unexpected keyword argument 'b'",
    { init_kwargs: { b: 1 } },
  ],
];

test("code that does not load is told in the record, the overview, the flow, of the worker, and by the supervisor", async () => {
  await rig.start();
  await rig.worker();
  for (const [i, [what, source, error, config]] of BROKEN.entries()) {
    const slug = `broken-${i}`;
    const source_path = await create(slug, source, { supervisor_enabled: true });
    if (config) {
      const executor_config = { source_path, module: "plugin", ...config };
      const put = { name: slug, executor_type: "python_module", executor_config };
      await api("PUT", `/workloads/${slug}`, { ...put, supervisor_enabled: true });
    }
    await submit(slug, "a");
    const told = await becomes(slug, "broken");
    expect(told, what).toMatchObject({
      error: expect.stringContaining(error),
      since: expect.stringMatching(/Z$/),
      trace: expect.stringContaining("Error"),
      workers: [{ id: "p1" }],
    });
  }
  const { problems } = (await api("GET", "/dashboard/overview")).body;
  expect(problems).toHaveLength(BROKEN.length);
  expect(problems[0]).toMatchObject({
    workload: "broken-0",
    kind: "broken_executor",
    workers: ["p1"],
    message: expect.stringMatching(/^its code does not load on p1: .*not_there_at_all/),
  });
  const { nodes } = (await api("GET", "/flow/snapshot")).body;
  expect(nodes.find((n: { id: string }) => n.id === "workload:broken-0").stats).toMatchObject({
    executor: "broken",
    executor_error: expect.stringContaining("not_there_at_all"),
  });
  const [worker] = (await api("GET", "/workers")).body.workers;
  expect(worker.broken.map((b: { workload: string }) => b.workload).sort()).toEqual(
    BROKEN.map((_, i) => `broken-${i}`),
  );
  const supervision = await askUntil("the supervisor", async () => {
    const { body } = await api("GET", "/workloads/broken-1/supervisor");
    return body.problem === "broken_executor" && body;
  });
  expect(supervision).toMatchObject({
    action: "report",
    reason: expect.stringContaining("SyntaxError"),
  });
  // No attempt was used up, and the task waits; a worker holds it for as long as it tries the code again.
  const waiting = await askUntil("the return of the task", async () => {
    const { rows } = (await api("GET", "/workloads/broken-0/queue/peek")).body;
    return rows[0]?.state === "pending" && rows;
  });
  expect(waiting).toMatchObject([{ state: "pending", attempt: 0 }]);
}, 180_000);

test("a worker tells of code that does not load when it finds it, not at its next heartbeat (rules/pipeline-workloads#the-state-of-the-code)", async () => {
  await rig.start();
  // No heartbeat of this clock is ever due.
  await rig.worker({ clock: stillClock });
  await create("told-at-once", "import not_there_at_all");
  await submit("told-at-once", "a");
  expect((await becomes("told-at-once", "broken")).workers).toMatchObject([{ id: "p1" }]);
}, 180_000);

test("a program that is not there is a broken executor too", async () => {
  await rig.start();
  await rig.worker();
  const command = { slug: "tool", executor_type: "command" };
  await api("POST", "/workloads", { ...command, executor_config: { argv: ["no-such-program"] } });
  await submit("tool", "a");
  expect(await becomes("tool", "broken")).toMatchObject({
    error: expect.stringContaining("no-such-program cannot be started"),
  });
}, 180_000);

test("a new revision is tried at once, whatever the wait of the one before; what loads is ok again", async () => {
  await rig.start();
  await rig.worker();
  const source_path = await create("mended", "import not_there_at_all");
  await submit("mended", "a");
  await becomes("mended", "broken");
  await writeFile(source_path, "def run(pk): return pk");
  const put = {
    name: "mended",
    executor_type: "python_module",
    executor_config: { source_path, module: "plugin" },
  };
  expect((await api("PUT", "/workloads/mended", put)).body.executor.state).toBe("ok");
  await askUntil("the run", async () => {
    const { runs } = (await api("GET", "/workloads/mended/runs")).body;
    return runs.length === 1 && runs[0].success;
  });
  expect((await read("mended")).executor).toEqual({
    state: "ok",
    error: null,
    trace: null,
    since: null,
    workers: [],
  });
  const [worker] = (await api("GET", "/workers")).body.workers;
  expect(worker.broken).toEqual([]);
}, 180_000);

test("POST /workloads/{slug}/check loads the code on a worker and answers what it found; creating can ask for it", async () => {
  await rig.start();
  const source_path = await create("checked", "def run(pk): return 1");
  const check = (body?: unknown) => api("POST", "/workloads/checked/check", body);
  expect((await check()).status).toBe(409);
  expect((await api("POST", "/workloads/nobody/check")).status).toBe(404);
  await rig.worker();
  await askUntil("the worker", async () => (await api("GET", "/workers")).body.total === 1);
  expect(await check()).toMatchObject({
    status: 200,
    body: { workload: "checked", state: "ok", error: null, worker_id: "p1" },
  });
  await writeFile(source_path, "import not_there_at_all");
  expect((await check({ worker_id: "p1", timeout_s: 30 })).body).toMatchObject({
    state: "broken",
    error: expect.stringContaining("not_there_at_all"),
    trace: expect.stringContaining("Traceback"),
  });
  // No task was submitted, and people are told all the same.
  expect((await becomes("checked", "broken")).workers).toMatchObject([{ id: "p1" }]);
  await writeFile(source_path, "def run(pk): return 1");
  expect((await check()).body).toMatchObject({ state: "ok" });
  await becomes("checked", "ok");
  expect((await check({ worker_id: "nobody" })).status).toBe(404);
  expect((await check({ timeout_s: 0 })).status).toBe(422);
  const made = await api("POST", "/workloads?check=true", {
    slug: "made",
    executor_type: "command",
    executor_config: { argv: ["no-such-program"] },
  });
  expect(made).toMatchObject({
    status: 201,
    body: {
      check: { state: "broken", error: expect.stringContaining("no-such-program") },
      slug: "made",
    },
  });
}, 180_000);
