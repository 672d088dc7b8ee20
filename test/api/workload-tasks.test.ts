import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ClaimedTask } from "#hub/platform/db/queue/queue-store.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const api = (method: string, path: string, body?: unknown) =>
  hub.call(method, `/api/v1${path}`, body);

let made = 0;
const newSlug = () => `work-${++made}`;
const command = { executor_type: "command", executor_config: { argv: ["true"] } };

async function addWorkload(fields: Record<string, unknown> = {}): Promise<string> {
  const slug = newSlug();
  const answer = await api("POST", "/workloads", { slug, ...command, ...fields });
  expect(answer.status).toBe(201);
  return slug;
}

async function claim(slug: string, max = 10): Promise<ClaimedTask[]> {
  const { pipeline } = hub.ctx;
  const { workload_id } = await pipeline.workloads.require(slug);
  const { tasks } = await pipeline.turns.call({
    op: "claim",
    worker: "w",
    worker_id: "worker-1",
    workload_id,
    max,
    lease_ms: 60_000,
    timeout_ms: null,
    max_in_flight: null,
    rate_limit: null,
  });
  return tasks;
}
const printed = { duration_ms: 3, stdout: "", stderr: "", truncated: false };
const complete = (tasks: ClaimedTask[], output: string | null = null, stdout = "") =>
  hub.ctx.pipeline.turns.call({
    op: "complete",
    worker: "w",
    items: tasks.map(({ task_id, epoch }) => ({ task_id, epoch, ...printed, output, stdout })),
  });
async function fail(slug: string, tasks: ClaimedTask[], no_retry: boolean) {
  const { workload_id, backoff } = await hub.ctx.pipeline.workloads.require(slug);
  return hub.ctx.pipeline.turns.call({
    op: "fail",
    worker: "w",
    workload_id,
    backoff,
    items: tasks.map(({ task_id, epoch }) => ({
      task_id,
      epoch,
      ...printed,
      outcome: "error" as const,
      error: "it broke",
      retry_after_ms: null,
      no_retry,
    })),
  });
}

describe("tasks (rules/pipeline-tasks#submit-a-task)", () => {
  test("a task answers 201 with what became of it; the same key again is a duplicate", async () => {
    const slug = await addWorkload();
    const submit = () => api("POST", `/workloads/${slug}/tasks`, { pk: "a/b c", extra: { n: 1 } });
    const first = await submit();
    expect(first.status).toBe(201);
    expect(first.body).toEqual({ submitted: 1, duplicates: 0, pks_rejected: [] });
    expect((await submit()).body).toEqual({ submitted: 0, duplicates: 1, pks_rejected: [] });
    expect((await api("GET", `/workloads/${slug}/queue`)).body).toEqual({
      pending: 1,
      claimed: 0,
      failed: 0,
      total: 1,
    });
  });

  test("a batch of 10,000 is taken whole; 10,001 are 422 and none is stored (rules/pipeline-tasks#submit-a-batch)", async () => {
    const slug = await addWorkload();
    const items = Array.from({ length: 10_000 }, (_, i) => ({ pk: `p${i}` }));
    const batch = (list: unknown[]) =>
      api("POST", `/workloads/${slug}/tasks/batch`, { items: list });
    const tooMany = await batch([...items, { pk: "one more" }]);
    expect(tooMany.status).toBe(422);
    expect(tooMany.text).toContain("items");
    expect((await api("GET", `/workloads/${slug}/queue`)).body.total).toBe(0);
    expect((await batch(items)).body).toMatchObject({ submitted: 10_000, duplicates: 0 });
    expect((await batch([])).body).toMatchObject({ submitted: 0 });
    expect((await api("GET", `/workloads/${slug}/queue`)).body.pending).toBe(10_000);
  });

  test("a bad item is 422 naming its place, and no item of its batch is stored", async () => {
    const slug = await addWorkload();
    for (const bad of [
      { pk: "" },
      { pk: "x", extra: 5 },
      { pk: "x", colour: 1 },
      { pk: "\u0000" },
    ]) {
      const { status, body } = await api("POST", `/workloads/${slug}/tasks/batch`, {
        items: [{ pk: "good" }, bad],
      });
      expect(status).toBe(422);
      expect(body.detail[0].loc.slice(0, 3)).toEqual(["body", "items", 1]);
    }
    const large = { pk: "x", extra: { text: "é".repeat(600_000) } };
    const { status, body } = await api("POST", `/workloads/${slug}/tasks/batch`, {
      items: [{ pk: "good" }, large],
    });
    expect([status, body.detail[0].loc]).toEqual([422, ["body", "items", 1, "extra"]]);
    expect((await api("GET", `/workloads/${slug}/queue`)).body.total).toBe(0);
  });

  test("an unknown workload is 404, a missing pk 400, a body that is not JSON 400", async () => {
    expect((await api("POST", "/workloads/none/tasks", { pk: "a" })).status).toBe(404);
    const slug = await addWorkload();
    expect((await api("POST", `/workloads/${slug}/tasks`, {})).status).toBe(400);
    expect((await api("POST", `/workloads/${slug}/tasks`, "{")).status).toBe(400);
  });
});

test("max_attempts of a queued task is the workload's as it is now, unless it has its own (rules/pipeline-tasks#fields-of-a-task)", async () => {
  const slug = await addWorkload({ max_attempts: 2 });
  await api("POST", `/workloads/${slug}/tasks`, { pk: "follows" });
  await api("POST", `/workloads/${slug}/tasks/batch`, { items: [{ pk: "own", max_attempts: 2 }] });
  await api("PUT", `/workloads/${slug}`, { ...command, name: "n", max_attempts: 7 });
  const { body } = await api("GET", `/workloads/${slug}/queue/peek?state=pending`);
  expect(body.rows.map((row: { max_attempts: number }) => row.max_attempts)).toEqual([7, 2]);
  for (const [pk, max_attempts] of [
    ["follows", 7],
    ["own", 2],
  ])
    expect((await api("GET", `/workloads/${slug}/tasks/${pk}`)).body.task).toMatchObject({
      max_attempts,
    });
  const worker = { incarnation: "attempts-1" };
  await api("POST", "/workers/attempts/register", { ...worker, host: "h", slots: 9, version: "1" });
  await api("POST", "/workers/attempts/filter", { op: "replace", workloads: [slug] });
  const claimed = await api("POST", "/workers/attempts/claim", { ...worker, slots: 9 });
  const tasks = claimed.body.batches.flatMap((batch: { tasks: unknown[] }) => batch.tasks);
  expect(tasks).toMatchObject([
    { pk: "follows", max_attempts: 7 },
    { pk: "own", max_attempts: 2 },
  ]);
});

describe("the queue (rules/pipeline-queue#states-of-a-task)", () => {
  test("peek shows the rows of a state, page by page; a bad state or limit is 422", async () => {
    const slug = await addWorkload();
    await api("POST", `/workloads/${slug}/tasks/batch`, {
      items: [{ pk: "a", extra: { n: 1 }, priority: 2 }, { pk: "b" }, { pk: "c" }],
    });
    await claim(slug, 1);
    const peek = (query: string) => api("GET", `/workloads/${slug}/queue/peek?${query}`);
    const { body } = await peek("state=claimed");
    expect(body.rows).toMatchObject([
      {
        pk: "a",
        state: "claimed",
        attempt: 1,
        extra: { n: 1 },
        worker_id: "worker-1",
        priority: 2,
      },
    ]);
    const page = await peek("state=pending&limit=1");
    expect(page.body).toMatchObject({ rows: [{ pk: "b" }], next_offset: 1 });
    expect((await peek("state=pending&limit=1&offset=1")).body).toMatchObject({
      rows: [{ pk: "c" }],
      next_offset: null,
    });
    for (const bad of ["state=broken", "limit=0", "limit=-1", "limit=abc", "limit=100000"])
      expect((await peek(bad)).status).toBe(422);
  });

  test("reset-failed moves every failed row to pending and says how many", async () => {
    const slug = await addWorkload();
    await api("POST", `/workloads/${slug}/tasks/batch`, { items: [{ pk: "a" }, { pk: "b" }] });
    await fail(slug, await claim(slug), true);
    expect((await api("GET", `/workloads/${slug}/queue`)).body.failed).toBe(2);
    const { body } = await api("POST", `/workloads/${slug}/queue/reset-failed`);
    expect(body).toEqual({ reset: 2 });
    expect((await api("GET", `/workloads/${slug}/queue`)).body).toMatchObject({
      pending: 2,
      failed: 0,
    });
  });

  test("a task is removed by its key, also one with slashes; the second time is 404", async () => {
    const slug = await addWorkload();
    await api("POST", `/workloads/${slug}/tasks`, { pk: "a/b?c" });
    const drop = () => api("DELETE", `/workloads/${slug}/queue/${encodeURIComponent("a/b?c")}`);
    expect((await drop()).status).toBe(204);
    expect((await drop()).status).toBe(404);
  });
});

describe("runs (rules/pipeline-runs#list-runs)", () => {
  test("are listed newest first with output, streams and error, of one workload or of all", async () => {
    const slug = await addWorkload();
    await api("POST", `/workloads/${slug}/tasks/batch`, { items: [{ pk: "a" }, { pk: "b" }] });
    const [a, b] = (await claim(slug)) as [ClaimedTask, ClaimedTask];
    await complete([a], '{"n":1}', "hello\n");
    await fail(slug, [b], false);
    const { body } = await api("GET", `/workloads/${slug}/runs`);
    expect(body.runs).toMatchObject([
      { pk: "b", success: false, outcome: "error", error: "it broke", output_json: null },
      {
        pk: "a",
        success: true,
        outcome: "success",
        error: null,
        output_json: { n: 1 },
        stdout: "hello\n",
        stderr: "",
        worker_id: "worker-1",
        workload: slug,
        attempt: 1,
      },
    ]);
    const { body: all } = await api("GET", "/runs?limit=1000");
    expect(all.runs.slice(0, 2)).toEqual(body.runs);
    const one = body.runs[1];
    expect((await api("GET", `/runs/${one.run_id}`)).body).toEqual(one);
    expect((await api("GET", `/workloads/${slug}/runs?success=true`)).body.runs).toEqual([one]);
    expect((await api("GET", `/workloads/${slug}/runs?before=${one.run_id}`)).body.runs).toEqual(
      [],
    );
    await api("DELETE", `/workloads/${slug}`);
    expect((await api("GET", `/runs/${one.run_id}`)).body.workload).toBe("(deleted)");
  });

  test("are found by outcome, worker and time; brief ones come without what they printed", async () => {
    const slug = await addWorkload();
    await api("POST", `/workloads/${slug}/tasks/batch`, { items: [{ pk: "a" }, { pk: "b" }] });
    const [a, b] = (await claim(slug)) as [ClaimedTask, ClaimedTask];
    await complete([a], '{"n":1}', "hello\n");
    await fail(slug, [b], true);
    const pksOf = async (query: string, of = `/workloads/${slug}/runs`) => {
      const { status, body } = await api("GET", `${of}?${query}`);
      expect({ status, next: body.next_before }).toEqual({ status: 200, next: null });
      return body.runs.map((run: { pk: string }) => run.pk);
    };
    expect(await pksOf("outcome=error")).toEqual(["b"]);
    expect(await pksOf("worker_id=worker-1")).toEqual(["b", "a"]);
    expect(await pksOf("worker_id=nobody", "/runs")).toEqual([]);
    expect(await pksOf("since=2020-01-01T00:00:00Z&pk=a")).toEqual(["a"]);
    expect(await pksOf("until=2020-01-01T00:00:00Z")).toEqual([]);
    const brief = (await api("GET", `/workloads/${slug}/runs?brief=true&pk=a`)).body.runs[0];
    expect(brief).toMatchObject({ success: true, output_json: null, stdout: "" });
    const paged = (await api("GET", `/workloads/${slug}/runs?limit=1`)).body;
    expect(paged.next_before).toBe(paged.runs[0].run_id);
    expect((await api("GET", "/runs?outcome=lost")).status).toBe(422);
    expect((await api("GET", "/runs?since=yesterday")).status).toBe(422);
  });

  test("lead to their task: its row while it is in the queue, and all its attempts", async () => {
    const slug = await addWorkload();
    await api("POST", `/workloads/${slug}/tasks/batch`, {
      items: [{ pk: "a/1", extra: { n: 1 } }],
    });
    await fail(slug, await claim(slug), true);
    const at = `/workloads/${slug}/tasks/${encodeURIComponent("a/1")}`;
    const { body: failed } = await api("GET", at);
    expect(failed).toMatchObject({
      workload: slug,
      pk: "a/1",
      task: { state: "failed", extra: { n: 1 }, attempt: 1 },
      attempts: [{ attempt: 1, outcome: "error", error: "it broke" }],
    });
    const reset = `/workloads/${slug}/queue/${encodeURIComponent("a/1")}/reset`;
    expect((await api("POST", reset)).status).toBe(204);
    expect(await api("POST", reset)).toMatchObject({
      status: 409,
      body: { detail: "the task is pending, not failed" },
    });
    expect((await api("POST", `/workloads/${slug}/queue/nothing/reset`)).status).toBe(404);
    await complete(await claim(slug));
    const { body: done } = await api("GET", at);
    expect(done).toMatchObject({
      task: null,
      attempts: [{ outcome: "error" }, { outcome: "success" }],
    });
    const [first] = done.attempts;
    expect((await api("GET", `/runs/${first.run_id}/task`)).body).toEqual(done);
    expect((await api("GET", `/workloads/${slug}/tasks/nothing`)).status).toBe(404);
    expect((await api("GET", "/runs/999999999/task")).status).toBe(404);
  });

  for (const [path, over] of [
    ["/runs", 1_001],
    ["/workloads/SLUG/runs", 501],
  ] as const)
    test(`limit=${over} on ${path} is 422, as are 0, -1 and abc (rules/pipeline-runs#list-runs)`, async () => {
      const slug = await addWorkload();
      for (const limit of [over, 0, -1, "abc"])
        expect((await api("GET", `${path.replace("SLUG", slug)}?limit=${limit}`)).status).toBe(422);
      expect((await api("GET", `${path.replace("SLUG", slug)}?limit=${over - 1}`)).status).toBe(
        200,
      );
    });
});
