import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ClaimedTask } from "#hub/platform/db/queue/queue-store.ts";
import { issueAt } from "#test/support/clients/api.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ env: { SVC_SUBMIT_WAIT_S: "0.01" } });
});
afterAll(() => hub.close());

const prefer = { headers: { prefer: "respond-async" } };
const submit = (labels?: unknown) => hub.call("POST", "/jobs", { url: TARGET, labels }, prefer);
const newJob = async (labels: object): Promise<string> => {
  const { status, body } = await submit(labels);
  expect(status).toBe(200);
  return (body as { job_id: string }).job_id;
};
const listed = async (query: string): Promise<string[]> => {
  const { status, body } = await hub.call("GET", `/jobs?${query}`);
  expect(status).toBe(200);
  return (body as { jobs: { job_id: string }[] }).jobs.map(({ job_id }) => job_id);
};

describe("labels of jobs (rules/labels#labels-of-jobs)", () => {
  test("they are in the record, {} without any, in the order of their keys", async () => {
    const id = await newJob({ team: "growth", env: "prod: eu" });
    const { body } = await hub.call("GET", `/jobs/${id}`);
    expect(JSON.stringify((body as { labels: object }).labels)).toBe(
      '{"env":"prod: eu","team":"growth"}',
    );
    expect((await submit()).body).toMatchObject({ labels: {} });
  });

  test("lists are narrowed by one or several, and by a key alone", async () => {
    const a = await newJob({ list: "one", kind: "x:y" });
    const b = await newJob({ list: "one" });
    const c = await newJob({ list: "two" });
    expect(await listed("label=list:one")).toEqual([b, a]);
    expect(await listed("label=list")).toEqual([c, b, a]);
    expect(await listed("label=list:one&label=kind:x%3Ay")).toEqual([a]);
    expect(await listed("label=list:three")).toEqual([]);
    expect((await hub.call("GET", "/jobs/count?label=list:one")).body).toEqual({
      count: 2,
      more: false,
    });
  });

  test.each([
    ["a key that begins with a dash", { "-a": "b" }],
    ["a key with a colon", { "a:b": "c" }],
    ["a key of 64 characters", { ["k".repeat(64)]: "v" }],
    ["a value of 201 characters", { a: "v".repeat(201) }],
    ["a value with a line break", { a: "b\nc" }],
    ["a value that is no text", { a: 5 }],
    ["17 labels", Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, "v"]))],
    ["a list", ["a"]],
  ])("422 for %s (rules/labels#what-a-label-is)", async (_, labels) => {
    expect((await submit(labels)).status).toBe(422);
  });

  test("PATCH sets, removes and leaves labels, also of a job that has ended (rules/labels#change-the-labels-of-a-job)", async () => {
    const id = await newJob({ keep: "1", drop: "2" });
    expect((await hub.call("POST", `/jobs/${id}/cancel`)).status).toBe(200);
    const patch = (body: unknown) => hub.call("PATCH", `/jobs/${id}`, body);
    const { status, body } = await patch({ labels: { drop: null, add: "3" } });
    expect(status).toBe(200);
    expect(body).toMatchObject({ labels: { keep: "1", add: "3" }, status: "cancelled" });
    expect(await listed("label=add:3")).toEqual([id]);
    expect(await listed("label=drop")).toEqual([]);
    const many = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, "v"]));
    expect(await patch({ labels: many })).toMatchObject({
      status: 422,
      body: issueAt("body", "labels"),
    });
    expect((await patch({ url: TARGET, labels: {} })).status).toBe(422);
    expect((await hub.call("PATCH", "/jobs/nope", { labels: {} })).status).toBe(404);
  });

  test("changes that are made at the same time are all kept", async () => {
    const id = await newJob({});
    const answers = await Promise.all(
      ["a", "b", "c"].map((key) => hub.call("PATCH", `/jobs/${id}`, { labels: { [key]: "1" } })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { body } = await hub.call("GET", `/jobs/${id}`);
    expect(body).toMatchObject({ labels: { a: "1", b: "1", c: "1" } });
  });
});

describe("labels of tasks (rules/labels#labels-of-tasks)", () => {
  const api = (method: string, path: string, body?: unknown) =>
    hub.call(method, `/api/v1${path}`, body);
  const labels = { customer: "acme", tier: "gold" };

  async function withTasks(slug: string): Promise<void> {
    const made = { slug, executor_type: "command", executor_config: { argv: ["true"] } };
    expect((await api("POST", "/workloads", made)).status).toBe(201);
    const items = [{ pk: "a", labels }, { pk: "b" }, { pk: "c", labels: { customer: "acme" } }];
    const { body } = await api("POST", `/workloads/${slug}/tasks/batch`, { items });
    expect(body).toMatchObject({ submitted: 3 });
  }
  async function claim(slug: string): Promise<ClaimedTask[]> {
    const { workload_id } = await hub.ctx.pipeline.workloads.require(slug);
    const { tasks } = await hub.ctx.pipeline.turns.call({
      op: "claim",
      worker: "w",
      worker_id: "w1",
      workload_id,
      max: 9,
      lease_ms: 60_000,
      timeout_ms: null,
      max_in_flight: null,
      rate_limit: null,
    });
    return tasks;
  }
  const pks = (rows: { pk: string }[]) => rows.map(({ pk }) => pk);

  test("the queue and the task show them, and the queue is narrowed by them", async () => {
    await withTasks("labelled-queue");
    const peek = async (query: string) => {
      const { body } = await api("GET", `/workloads/labelled-queue/queue/peek?${query}`);
      return body as { rows: { pk: string; labels: object }[]; next_cursor: string | null };
    };
    expect((await peek("")).rows.map((row) => row.labels)).toEqual([
      labels,
      {},
      { customer: "acme" },
    ]);
    expect(pks((await peek("label=customer:acme")).rows)).toEqual(["a", "c"]);
    expect(pks((await peek("label=customer:acme&label=tier")).rows)).toEqual(["a"]);
    const first = await peek("label=customer&limit=1");
    expect(pks((await peek(`label=customer&limit=1&cursor=${first.next_cursor}`)).rows)).toEqual([
      "c",
    ]);
    expect((await api("GET", "/workloads/labelled-queue/tasks/a")).body).toMatchObject({
      task: { labels },
    });
  });

  test("its runs have them after it has left the queue, and runs are narrowed by them", async () => {
    await withTasks("labelled-runs");
    const tasks = await claim("labelled-runs");
    const printed = { duration_ms: 3, stdout: "", stderr: "", truncated: false, output: null };
    await hub.ctx.pipeline.turns.call({
      op: "complete",
      worker: "w",
      items: tasks.map(({ task_id, epoch }) => ({ task_id, epoch, ...printed })),
    });
    const runs = async (query: string) => {
      const { body } = await api("GET", `/workloads/labelled-runs/runs?${query}`);
      return (body as { runs: { run_id: number; pk: string; labels: object }[] }).runs;
    };
    const [, b, a] = await runs("");
    expect([a?.labels, b?.labels]).toEqual([labels, {}]);
    expect(pks(await runs("label=tier:gold"))).toEqual(["a"]);
    expect(pks(await runs("label=customer&brief=true"))).toEqual(["c", "a"]);
    expect((await api("GET", `/runs/${a?.run_id}`)).body).toMatchObject({ labels });
    expect((await api("GET", `/runs/${a?.run_id}/task`)).body).toMatchObject({
      attempts: [{ labels }],
    });
  });

  test("a task that is a duplicate keeps the labels it has", async () => {
    await withTasks("labelled-twice");
    await api("POST", "/workloads/labelled-twice/tasks", { pk: "b", labels: { late: "1" } });
    expect((await api("GET", "/workloads/labelled-twice/tasks/b")).body).toMatchObject({
      task: { labels: {} },
    });
  });

  test("422 for labels that break a rule, naming the item", async () => {
    await withTasks("labelled-wrong");
    const items = [{ pk: "x" }, { pk: "y", labels: { "a b": "c" } }];
    const { status, body } = await api("POST", "/workloads/labelled-wrong/tasks/batch", { items });
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain('"items",1,"labels"');
  });
});
