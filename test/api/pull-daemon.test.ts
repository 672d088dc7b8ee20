import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Leases } from "#shared/protocol/schema/pull-daemon.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const api = (method: string, path: string, body?: unknown) =>
  hub.call(method, `/api/v1${path}`, body);

let made = 0;
async function addWorker() {
  const id = `d${++made}`;
  const register = async (incarnation: string, replaces?: string) => {
    const hello = { incarnation, replaces, host: `daemon-${id}`, slots: 2, version: "1" };
    expect((await api("POST", `/workers/${id}/register`, hello)).status).toBe(200);
  };
  const incarnation = `incarnation-${id}`;
  await register(incarnation);
  const call = (name: string, body: Record<string, unknown> = {}) =>
    api("POST", `/workers/${id}/${name}`, { incarnation, ...body });
  return { id, call, succeed: (successor: string) => register(successor, incarnation) };
}

async function addWorkload() {
  const slug = `daemon-${++made}`;
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  expect((await api("POST", "/workloads", { slug, ...command })).status).toBe(201);
  return slug;
}

describe("what an operator tells a worker (rules/pipeline-pull#commands-to-a-worker)", () => {
  test("a command reaches the worker with its heartbeat, and not the process that is started after it", async () => {
    const { id, call, succeed } = await addWorker();
    const told = await api("POST", `/workers/${id}/admin-command`, { command: "stop" });
    expect(told.status).toBe(202);
    expect((await call("heartbeat")).body).toMatchObject({
      drain: false,
      commands: [{ command_id: told.body.command_id, command: "stop" }],
    });
    await succeed("its-successor");
    const beat = await api("POST", `/workers/${id}/heartbeat`, { incarnation: "its-successor" });
    expect(beat.body.commands).toEqual([]);
  });

  test("drain ends its claims immediately, resume begins them again", async () => {
    const { id, call } = await addWorker();
    const slug = await addWorkload();
    await api("POST", `/workers/${id}/filter`, { op: "replace", workloads: [slug] });
    await api("POST", `/workloads/${slug}/tasks`, { pk: "a" });
    const first = await call("claim", { slots: 1, wait_ms: 20_000 });
    expect(first.body.batches).toHaveLength(1);
    await api("POST", `/workloads/${slug}/tasks`, { pk: "b" });
    await api("POST", `/workers/${id}/admin-command`, { command: "drain" });
    await hub.everywhere(({ pipeline }) => pipeline.pullers.get(id)?.draining !== false);
    expect((await call("claim", { slots: 1 })).body.batches).toEqual([]);
    expect((await call("heartbeat")).body.drain).toBe(true);
    await api("POST", `/workers/${id}/admin-command`, { command: "resume" });
    await hub.everywhere(({ pipeline }) => pipeline.pullers.get(id)?.draining !== true);
    expect((await call("claim", { slots: 1 })).body.batches).toHaveLength(1);
  });

  test("an unknown worker is 404, an unknown command 422 naming the field", async () => {
    const { id } = await addWorker();
    const nobody = await api("POST", "/workers/nobody/admin-command", { command: "drain" });
    expect(nobody.status).toBe(404);
    const odd = await api("POST", `/workers/${id}/admin-command`, { command: "explode" });
    expect(odd.status).toBe(422);
    expect(odd.body.detail[0].loc).toEqual(["body", "command"]);
  });
});

describe("a worker's configuration (rules/pipeline-pull#poll-the-configuration)", () => {
  test("is answered immediately when it is new, and as soon as it changes", async () => {
    const { id, call } = await addWorker();
    const slug = await addWorkload();
    await api("POST", `/workers/${id}/filter`, { op: "replace", workloads: [slug] });
    await hub.everywhere(({ pipeline }) => pipeline.workloads.all().some((w) => w.slug === slug));
    const first = await call("config");
    expect(first.body).toMatchObject({ drain: false, filter: [slug], commands: [] });
    expect(first.body.workloads.map((w: { slug: string }) => w.slug)).toEqual([slug]);
    const changed = call("config", { revision: first.body.revision, wait_ms: 20_000 });
    await api("POST", `/workers/${id}/admin-command`, { command: "drain" });
    const { status, body } = await changed;
    expect([status, body.drain]).toEqual([200, true]);
    expect(body.revision).not.toBe(first.body.revision);
  });

  test("is answered as it was when the time is over", async () => {
    const { call } = await addWorker();
    const { body } = await call("config");
    const again = await call("config", { revision: body.revision, wait_ms: 10 });
    expect([again.status, again.body.revision]).toEqual([200, body.revision]);
  });

  test("a process that is not registered is refused", async () => {
    const { id } = await addWorker();
    const stranger = { incarnation: "somebody-else" };
    expect((await api("POST", `/workers/${id}/config`, stranger)).status).toBe(409);
  });
});

describe("what a worker holds (rules/pipeline-pull#leases-of-a-worker)", () => {
  test("each task it claimed with the end of its lease, the first to end first; nothing once they are reported", async () => {
    const { id, call } = await addWorker();
    const slug = await addWorkload();
    await api("POST", `/workers/${id}/filter`, { op: "replace", workloads: [slug] });
    await api("POST", `/workloads/${slug}/tasks`, { pk: "a" });
    // Another hub may have been told of the workload than the one that is asked: it knows a message later.
    const { body: claimed } = await call("claim", { slots: 1, wait_ms: 20_000 });
    const [{ task_id, epoch }] = claimed.batches[0].tasks;
    const { status, body } = await api("GET", `/workers/${id}/leases`);
    expect(status).toBe(200);
    const { at, leases } = Leases.parse(body);
    expect(leases).toMatchObject([{ task_id, epoch, workload: slug, pk: "a", attempt: 1 }]);
    const left_ms = Date.parse(leases[0]?.lease_until ?? "") - Date.parse(at);
    expect(left_ms).toBeGreaterThan(0);
    expect(left_ms).toBeLessThanOrEqual(60_000);
    await call("complete", { items: [{ task_id, epoch, duration_ms: 1 }] });
    expect((await api("GET", `/workers/${id}/leases`)).body.leases).toEqual([]);
  });

  test("an unknown worker is 404", async () => {
    expect((await api("GET", "/workers/nobody/leases")).status).toBe(404);
  });
});

describe("what runs on a worker now (rules/pipeline-pull#live-output)", () => {
  const run = { task_id: 1, epoch: 1, workload: "w", pk: "a/b", attempt: 1, running_ms: 2_000 };

  test("the newest that the worker told is shown, with the end of the output", async () => {
    const { id, call } = await addWorker();
    expect((await api("GET", `/workers/${id}/runs`)).body).toEqual({ at: null, runs: [] });
    await call("runs/logs", { items: [{ ...run, stdout: "half way\n" }] });
    expect((await api("GET", `/workers/${id}/runs`)).body).toMatchObject({
      at: expect.any(String),
      runs: [{ ...run, stdout: "half way\n", stderr: "" }],
    });
    await call("runs/logs", { items: [] });
    expect((await api("GET", `/workers/${id}/runs`)).body.runs).toEqual([]);
  });

  test("an output beyond the limit is 422, an unknown worker 404", async () => {
    const { call } = await addWorker();
    const long = await call("runs/logs", { items: [{ ...run, stdout: "x".repeat(8_193) }] });
    expect([long.status, long.body.detail[0].loc]).toEqual([422, ["body", "items", 0, "stdout"]]);
    expect((await api("GET", "/workers/nobody/runs")).status).toBe(404);
  });
});
