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

describe("workloads (rules/pipeline-workloads#fields-of-a-workload)", () => {
  test("a new one answers 201 with every default filled in, and is read and listed (rules/pipeline-workloads#create-a-workload)", async () => {
    const slug = newSlug();
    const { status, body } = await api("POST", "/workloads", { slug, ...command });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      slug,
      name: slug,
      enabled: true,
      supervisor_enabled: false,
      priority: 0,
      batch_size: 1,
      lease_secs: 60,
      max_attempts: 3,
      timeout_s: null,
      host_affinity: [],
      max_in_flight: null,
      rate_limit: null,
      schedule: null,
      backoff: { kind: "exponential", base_s: 1, max_s: 300, jitter: 0.25 },
    });
    expect((await api("GET", `/workloads/${slug}`)).body).toEqual(body);
    const { body: list } = await api("GET", "/workloads");
    expect(list.workloads).toContainEqual(body);
  });

  test("a slug that exists is 409 (rules/pipeline-workloads#create-a-workload)", async () => {
    const slug = await addWorkload();
    const { status, body } = await api("POST", "/workloads", { slug, ...command });
    expect(status).toBe(409);
    expect(body.detail).toBe(`workload ${slug} exists`);
  });

  for (const [what, body, field] of [
    ["an unknown key", { ...command, slug: "x", colour: "red" }, "colour"],
    ["an unknown executor", { slug: "x", executor_type: "cobol" }, "executor_type"],
    ["a command without argv", { slug: "x", executor_type: "command" }, "argv"],
    ["a python_module without module", { slug: "x", executor_type: "python_module" }, "module"],
    ["a slug with a slash", { ...command, slug: "a/b" }, "slug"],
    ["lease_secs 0", { ...command, slug: "x", lease_secs: 0 }, "lease_secs"],
    ["batch_size 10,001", { ...command, slug: "x", batch_size: 10_001 }, "batch_size"],
  ] as const)
    test(`${what} is 422 naming the field, and stores nothing (rules/pipeline-workloads#fields-of-a-workload)`, async () => {
      const answer = await api("POST", "/workloads", body);
      expect(answer.status).toBe(422);
      expect(answer.text).toContain(field);
      expect((await api("GET", "/workloads/x")).status).toBe(404);
    });

  test("PUT replaces every mutable field; another slug in the body is 422", async () => {
    const slug = await addWorkload({ priority: 5, description: "old" });
    const put = (body: unknown) => api("PUT", `/workloads/${slug}`, body);
    const { status, body } = await put({ ...command, name: "New", batch_size: 7 });
    expect(status).toBe(200);
    expect(body).toMatchObject({ name: "New", batch_size: 7, priority: 0, description: "" });
    expect((await put({ ...command, name: "New", slug: "other" })).status).toBe(422);
    expect((await api("PUT", "/workloads/none", { ...command, name: "n" })).status).toBe(404);
  });

  test("emits names workloads that are there, or itself; one that is gone may stay, all others are 422", async () => {
    const target = await addWorkload();
    const slug = newSlug();
    const emits = ["none-1", slug, target, "none-2"];
    const refused = await api("POST", "/workloads", { slug, ...command, emits });
    expect(refused.status).toBe(422);
    expect(
      refused.body.detail.map(({ loc, msg }: { loc: unknown; msg: string }) => [loc, msg]),
    ).toEqual([
      [["body", "emits", 0], "there is no workload none-1"],
      [["body", "emits", 3], "there is no workload none-2"],
    ]);
    expect((await api("GET", `/workloads/${slug}`)).status).toBe(404);
    await api("POST", "/workloads", { slug, ...command, emits: [slug, target] });
    await api("DELETE", `/workloads/${target}`);
    const { body: stored } = await api("GET", `/workloads/${slug}`);
    const put = (body: unknown) => api("PUT", `/workloads/${slug}`, body);
    expect((await put({ ...stored, priority: 4 })).body.emits).toEqual([slug, target]);
    expect((await put({ ...stored, emits: [target, "none-1"] })).status).toBe(422);
    expect((await put({ ...stored, emits: [] })).status).toBe(200);
    expect((await put({ ...stored, emits: [target] })).status).toBe(422);
  });

  test("If-Match lets an edit through only while the settings are those that were read", async () => {
    const slug = newSlug();
    const made = await api("POST", "/workloads", { slug, ...command });
    const read = () => api("GET", `/workloads/${slug}`);
    const tagOf = ({ headers }: { headers: Headers }) => headers.get("etag") ?? "";
    const edit = (method: string, rest: string, body: unknown, tag: string) =>
      hub.call(method, `/api/v1/workloads/${slug}${rest}`, body, { headers: { "if-match": tag } });
    const put = (priority: number, tag: string) =>
      edit("PUT", "", { ...command, name: "n", priority }, tag);
    const first = tagOf(await read());
    expect(first).toMatch(/^"[0-9]+"$/);
    expect(tagOf(made)).toBe(first);
    const second = await put(1, first);
    expect([second.status, tagOf(await read())]).toEqual([200, tagOf(second)]);
    expect(tagOf(second)).not.toBe(first);
    for (const stale of [first, `W/${tagOf(second)}`, '"abc"', '""', "abc", '"9999999999999999"']) {
      const { status, body } = await put(2, stale);
      expect([stale, status, body.detail]).toEqual([
        stale,
        412,
        expect.stringContaining("settings have changed"),
      ]);
      expect((await edit("PATCH", "/enabled", { enabled: false }, stale)).status).toBe(412);
      const supervised = await edit(
        "PATCH",
        "/supervisor_enabled",
        { supervisor_enabled: true },
        stale,
      );
      expect(supervised.status).toBe(412);
    }
    expect((await read()).body).toEqual(second.body);
    const off = await edit("PATCH", "/enabled", { enabled: false }, `"1", ${tagOf(second)}`);
    expect(off.status).toBe(200);
    expect((await put(3, tagOf(second))).status).toBe(412);
    expect((await put(4, "*")).body).toMatchObject({ priority: 4, enabled: true });
    expect((await api("PUT", `/workloads/${slug}`, { ...command, name: "n" })).status).toBe(200);
    await api("DELETE", `/workloads/${slug}`);
    expect((await put(5, "*")).status).toBe(404);
    expect((await put(5, first)).status).toBe(404);
  });

  test("of edits that are made at once over the same settings, one is made", async () => {
    const slug = await addWorkload();
    const tag = (await api("GET", `/workloads/${slug}`)).headers.get("etag") ?? "";
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, priority) =>
        hub.call(
          "PUT",
          `/api/v1/workloads/${slug}`,
          { ...command, name: "n", priority },
          { headers: { "if-match": tag } },
        ),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...new Array(7).fill(412)]);
  });

  test("PATCH enabled and supervisor_enabled switch one flag and nothing else", async () => {
    const slug = await addWorkload({ priority: 3 });
    const off = await api("PATCH", `/workloads/${slug}/enabled`, { enabled: false });
    expect(off.body).toMatchObject({ enabled: false, supervisor_enabled: false, priority: 3 });
    const on = await api("PATCH", `/workloads/${slug}/supervisor_enabled`, {
      supervisor_enabled: true,
    });
    expect(on.body).toMatchObject({ enabled: false, supervisor_enabled: true });
    expect((await api("PATCH", `/workloads/${slug}/enabled`, { enabled: "no" })).status).toBe(422);
  });

  test("PUT takes what GET gave, with one setting changed: what cannot be written is left alone", async () => {
    const slug = await addWorkload({ priority: 3, max_in_flight: 2 });
    const { body: before } = await api("GET", `/workloads/${slug}`);
    const { status, body } = await api("PUT", `/workloads/${slug}`, { ...before, priority: 4 });
    expect(status).toBe(200);
    expect({ ...body, updated_at: "" }).toEqual({ ...before, priority: 4, updated_at: "" });
    const faulty = await api("PUT", `/workloads/${slug}`, { ...before, colour: "red" });
    expect(faulty.status).toBe(422);
  });

  test("a batch with several faults names them all, each in a sentence", async () => {
    const slug = await addWorkload();
    let deep: unknown = 0;
    for (let n = 0; n < 505; n += 1) deep = [deep];
    const late = [{ pk: "a" }, { pk: "b", extra: { deep } }, { pk: "c", extra: { deep } }];
    const told = async (items: unknown[]) => {
      const { status, body } = await api("POST", `/workloads/${slug}/tasks/batch`, { items });
      expect(status).toBe(422);
      return body.detail.map(({ loc, msg }: { loc: unknown[]; msg: string }) => [loc[2], msg]);
    };
    expect(await told(late)).toEqual([
      [1, "items.1.extra must be at most 500 levels deep"],
      [2, "items.2.extra must be at most 500 levels deep"],
    ]);
    expect(
      await told([
        { pk: "a", priority: "x" },
        { pk: "", max_attempts: 2_000 },
      ]),
    ).toEqual([
      [0, 'items.0.priority must be a number, not "x"'],
      [1, "items.1.pk must not be empty"],
      [1, "items.1.max_attempts must be at most 1000, not 2000"],
    ]);
    expect((await api("GET", `/workloads/${slug}/queue`)).body.total).toBe(0);
  });

  test("DELETE answers 204 once; 409 while a task is claimed unless it is forced", async () => {
    const slug = await addWorkload();
    await api("POST", `/workloads/${slug}/tasks`, { pk: "a" });
    await claim(slug);
    expect((await api("DELETE", `/workloads/${slug}`)).status).toBe(409);
    expect((await api("DELETE", `/workloads/${slug}?force=true`)).status).toBe(204);
    expect((await api("DELETE", `/workloads/${slug}`)).status).toBe(404);
    expect((await api("GET", `/workloads/${slug}/queue`)).status).toBe(404);
  });
});
