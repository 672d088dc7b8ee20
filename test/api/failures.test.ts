import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const api = (method: string, path: string, body?: unknown) =>
  hub.call(method, `/api/v1${path}`, body);

let made = 0;
async function addWorkload(): Promise<string> {
  const slug = `triage-${++made}`;
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  expect((await api("POST", "/workloads", { slug, ...command })).status).toBe(201);
  return slug;
}

const TRACE = (line: number, error: string) =>
  `Traceback (most recent call last):\n  File "/srv/a.py", line ${line}, in run\n    x\n${error}\n`;

const claim = (workload_id: number, max: number) =>
  hub.ctx.pipeline.turns.call({
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
const claimOne = async (workload_id: number) => (await claim(workload_id, 1)).tasks.length;

/** Tasks with these errors, by their keys; each has failed for good, as a worker would report it. */
async function failTasks(slug: string, errors: Record<string, string>): Promise<void> {
  const items = Object.keys(errors).map((pk) => ({ pk, max_attempts: 1 }));
  await api("POST", `/workloads/${slug}/tasks/batch`, { items });
  const { workload_id } = await hub.ctx.pipeline.workloads.require(slug);
  const { tasks } = await claim(workload_id, 1_000);
  const { failTasks: report } = await import("#hub/pipeline/pull/reports.ts");
  const printed = { duration_ms: 3, stdout: "", truncated: false };
  await report(
    hub.ctx,
    "w",
    tasks.map(({ task_id, epoch, pk }, i) => ({
      task_id,
      epoch,
      ...printed,
      workload: slug,
      outcome: "error" as const,
      error: errors[pk] ?? "",
      stderr: TRACE(i, errors[pk] ?? ""),
      retry_after_ms: null,
      no_retry: false,
    })),
  );
}
const SOME = { a1: "OSError: no file '/x/1'", a2: "OSError: no file '/y/2'", b1: "KeyError: 'k'" };

interface Group {
  fingerprint: string;
  kind: string;
  count: number;
}
const groupsOf = async (slug: string, query = ""): Promise<Group[]> =>
  (await api("GET", `/failures?workload=${slug}${query}`)).body.items;
async function groupOf(slug: string, kind: string): Promise<string> {
  const found = (await groupsOf(slug)).find((group) => group.kind === kind);
  return found?.fingerprint ?? "";
}

describe("GET /api/v1/failures (rules/failures#groups)", () => {
  test("failures that differ only in a path are one group, with a trend, where it happened and a traceback", async () => {
    const slug = await addWorkload();
    await failTasks(slug, SOME);
    const { status, body } = await api("GET", `/failures?workload=${slug}&sort=count&buckets=4`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ complete: true, bucket_s: 21_600, next_cursor: null });
    expect(body.items).toMatchObject([
      {
        kind: "OSError",
        message: "no file ‹path›",
        count: 2,
        trend: [0, 0, 0, 2],
        workloads: [slug],
        workers: ["worker-1"],
        example: { workload: slug, pk: "a2", attempt: 1, worker_id: "worker-1" },
      },
      { kind: "KeyError", message: "‹text›", count: 1 },
    ]);
    const [group] = body.items;
    expect(group.example.traceback).toContain('File "/srv/a.py"');
    expect(group.example.traceback).toEndWith("OSError: no file '/y/2'");
    expect(group.first_seen <= group.last_seen).toBe(true);
    const run = await hub.call("GET", group.example.href);
    expect(run.body).toMatchObject({ pk: "a2", fingerprint: group.fingerprint });
    const listed = await api("GET", `/runs?fingerprint=${group.fingerprint}`);
    expect(listed.body.runs.map((one: { pk: string }) => one.pk)).toEqual(["a2", "a1"]);
  });

  test("filters narrow one another, and pages follow one another", async () => {
    const slug = await addWorkload();
    await failTasks(slug, SOME);
    expect(await groupsOf(slug, "&text=no%20FILE")).toMatchObject([{ kind: "OSError" }]);
    expect(await groupsOf(slug, "&worker=worker-1")).toHaveLength(2);
    expect(await groupsOf(slug, "&worker=other")).toEqual([]);
    expect(await groupsOf(slug, "&until=2020-01-01T00:00:00Z")).toEqual([]);
    const fingerprint = await groupOf(slug, "KeyError");
    expect(await groupsOf(slug, `&fingerprint=${fingerprint}`)).toMatchObject([{ count: 1 }]);
    const first = await api("GET", `/failures?workload=${slug}&sort=count&limit=1`);
    expect(first.body.items).toMatchObject([{ kind: "OSError" }]);
    const { next_cursor } = first.body;
    const next = await api(
      "GET",
      `/failures?workload=${slug}&sort=count&limit=1&cursor=${next_cursor}`,
    );
    expect(next.body).toMatchObject({ items: [{ kind: "KeyError" }], next_cursor: null });
    expect((await api("GET", "/failures?workload=no-such")).status).toBe(404);
    expect((await api("GET", "/failures?fingerprint=x")).status).toBe(422);
    expect((await api("GET", "/failures?cursor=x")).status).toBe(422);
  });
});

describe("acting by filter (rules/failures#acting-by-filter)", () => {
  const queueOf = async (slug: string) => (await api("GET", `/workloads/${slug}/queue`)).body;

  test("a preview changes nothing; the retry says how many, and once more finds nothing", async () => {
    const slug = await addWorkload();
    await failTasks(slug, SOME);
    const fingerprint = await groupOf(slug, "OSError");
    const act = (body: unknown) => api("POST", "/failures/retry", body);
    const preview = await act({ fingerprint, workload: slug, dry_run: true });
    expect(preview.body).toEqual({
      dry_run: true,
      matched: 2,
      changed: 0,
      moved_on: 0,
      duplicates: 0,
      complete: true,
      examples: [
        { workload: slug, pk: "a1", state: "failed" },
        { workload: slug, pk: "a2", state: "failed" },
      ],
    });
    expect(await queueOf(slug)).toMatchObject({ failed: 3, pending: 0 });
    expect((await act({ fingerprint, workload: slug })).body).toMatchObject({
      matched: 2,
      changed: 2,
    });
    expect(await queueOf(slug)).toMatchObject({ failed: 1, pending: 2 });
    expect((await act({ fingerprint, workload: slug })).body).toMatchObject({
      matched: 0,
      changed: 0,
    });
  });

  test("by a text, by the worker, and by the time of the last failure", async () => {
    const slug = await addWorkload();
    await failTasks(slug, SOME);
    const count = async (body: Record<string, unknown>) =>
      (await api("POST", `/workloads/${slug}/tasks/delete`, { ...body, dry_run: true })).body
        .matched;
    expect(await count({})).toBe(3);
    expect(await count({ text: "keyerror" })).toBe(1);
    expect(await count({ text: "a2" })).toBe(1);
    expect(await count({ worker: "worker-1" })).toBe(3);
    expect(await count({ worker: "w-2" })).toBe(0);
    expect(await count({ since: "2999-01-01T00:00:00Z" })).toBe(0);
    expect(await count({ fingerprint: "unknown" })).toBe(0);
  });

  test("delete takes failed tasks, cancel those that wait; their runs stay", async () => {
    const slug = await addWorkload();
    await failTasks(slug, SOME);
    await api("POST", `/workloads/${slug}/tasks/batch`, { items: [{ pk: "p1" }, { pk: "p2" }] });
    const act = (action: string, body: unknown) =>
      api("POST", `/workloads/${slug}/tasks/${action}`, body);
    expect((await act("cancel", { text: "p2" })).body).toMatchObject({ matched: 1, changed: 1 });
    expect((await act("delete", { text: "OSError" })).body).toMatchObject({ changed: 2 });
    expect(await queueOf(slug)).toEqual({ pending: 1, claimed: 0, failed: 1, total: 2 });
    expect((await act("delete", { state: "pending" })).status).toBe(422);
    expect((await api("GET", `/workloads/${slug}/runs`)).body.runs).toHaveLength(3);
  });

  test("move puts them into another queue; what is there already stays and is counted", async () => {
    const [slug, other] = [await addWorkload(), await addWorkload()];
    await failTasks(slug, SOME);
    await api("POST", `/workloads/${other}/tasks`, { pk: "a1" });
    const move = (body: unknown) => api("POST", `/workloads/${slug}/tasks/move`, body);
    expect((await move({ to: other, at_most: 3 })).body).toMatchObject({
      matched: 3,
      changed: 2,
      duplicates: 1,
    });
    expect(await queueOf(slug)).toMatchObject({ failed: 1, total: 1 });
    expect(await queueOf(other)).toMatchObject({ pending: 3, total: 3 });
    expect((await move({ to: slug, at_most: 3 })).status).toBe(422);
    expect((await move({ to: "no-such", at_most: 3 })).status).toBe(422);
    expect((await move({})).status).toBe(400);
  });

  test("what means all tasks needs a number, and changes nothing when there are more", async () => {
    const slug = await addWorkload();
    await failTasks(slug, SOME);
    const remove = (body: unknown) => api("POST", `/workloads/${slug}/tasks/delete`, body);
    for (const body of [{}, { state: "failed" }]) {
      const { status, text } = await remove(body);
      expect([status, text.includes("at_most")]).toEqual([422, true]);
    }
    const refused = await remove({ at_most: 2 });
    expect([refused.status, refused.text.includes("finds 3")]).toEqual([409, true]);
    expect((await remove({ text: "OSError", at_most: 1 })).status).toBe(409);
    expect((await remove({ at_most: -1 })).status).toBe(422);
    expect(await queueOf(slug)).toMatchObject({ failed: 3 });
    expect((await remove({ at_most: 3 })).body).toMatchObject({ changed: 3, complete: true });
    expect(await queueOf(slug)).toMatchObject({ failed: 0, total: 0 });
  });

  test("of what came after the count no more is changed than at_most says", async () => {
    const slug = await addWorkload();
    await failTasks(slug, SOME);
    const { triage } = hub.ctx.db;
    const counted = triage.countTasks;
    triage.countTasks = async (...args) => {
      triage.countTasks = counted;
      const answer = await counted(...args);
      await failTasks(slug, { later: "OSError: no file '/z/3'" });
      return answer;
    };
    const body = { text: "OSError", at_most: 2 };
    const done = await api("POST", `/workloads/${slug}/tasks/delete`, body);
    expect(done.body).toMatchObject({ matched: 2, changed: 2 });
    expect(await queueOf(slug)).toMatchObject({ failed: 2, total: 2 });
  });

  test("ten thousand tasks are deleted in pieces, and claims go on meanwhile", async () => {
    const [slug, other] = [await addWorkload(), await addWorkload()];
    for (let piece = 0; piece < 10; piece += 1) {
      const names = Array.from({ length: 1_000 }, (_, i) => [`t${piece}-${i}`, "OSError: full"]);
      await failTasks(slug, Object.fromEntries(names));
    }
    await api("POST", `/workloads/${other}/tasks/batch`, {
      items: Array.from({ length: 1_000 }, (_, i) => ({ pk: `w${i}` })),
    });
    const { workload_id } = await hub.ctx.pipeline.workloads.require(other);
    let is_over = false;
    let claimed = 0;
    const remove = api("POST", `/workloads/${slug}/tasks/delete`, { at_most: 10_000 }).finally(
      () => {
        is_over = true;
      },
    );
    while (!is_over && claimed < 1_000) claimed += await claimOne(workload_id);
    expect((await remove).body).toMatchObject({ changed: 10_000, complete: true });
    // One statement for all of them would let none in between.
    expect(claimed).toBeGreaterThan(5);
  }, 60_000);

  test("across workloads a fingerprint is needed, and an unknown one finds nothing", async () => {
    expect((await api("POST", "/failures/retry", {})).status).toBe(400);
    const fingerprint = "0123456789abcdef";
    const answer = await api("POST", "/failures/cancel", { fingerprint });
    expect(answer.body).toMatchObject({ matched: 0, complete: true });
    const old = await api("POST", "/failures/retry", { fingerprint: "unknown", dry_run: true });
    expect(old.body).toMatchObject({ matched: 0 });
  });
});
