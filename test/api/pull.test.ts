import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ProgramContext } from "#hub/program/context.ts";
import { Claimed, type ClaimedBatch, Exchanged } from "#shared/protocol/schema/pull.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const api = (method: string, path: string, body?: unknown) =>
  hub.call(method, `/api/v1${path}`, body);

let made = 0;
/** A worker of its own for each test, which runs that test's workloads only. */
async function addWorker(workloads: string[], fields: Record<string, unknown> = {}) {
  const id = `p${++made}`;
  const incarnation = `incarnation-${made}`;
  const hello = { incarnation, host: `host-${made}`, slots: 4, version: "1", workloads, ...fields };
  const registered = await api("POST", `/workers/${id}/register`, hello);
  expect(registered.status).toBe(200);
  const call = async (name: string, body: Record<string, unknown>) =>
    api("POST", `/workers/${id}/${name}`, { incarnation, ...body });
  return {
    id,
    incarnation,
    call,
    claim: async (slots: number, more: Record<string, unknown> = {}): Promise<ClaimedBatch[]> => {
      const { status, body } = await call("claim", { slots, ...more });
      expect(status).toBe(200);
      return Claimed.parse(body).batches;
    },
  };
}

async function addWorkload(fields: Record<string, unknown> = {}, pks: string[] = []) {
  const slug = `pull-${++made}`;
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  const { status } = await api("POST", "/workloads", { slug, ...command, ...fields });
  expect(status).toBe(201);
  if (pks.length > 0)
    await api("POST", `/workloads/${slug}/tasks/batch`, { items: pks.map((pk) => ({ pk })) });
  // A call to another hub finds the workload, and a claim that does not wait its tasks, only when that hub has heard of them.
  const has_ready = pks.length > 0 && fields.enabled !== false;
  await hub.everywhere(({ pipeline }) => {
    const row = pipeline.workloads.bySlug(slug);
    return row !== undefined && (!has_ready || pipeline.ready.has(row.workload_id));
  });
  return slug;
}
/** Whether a hub knows of this filter; one that does not know the worker reads it with the next call. */
const runsOnly =
  (id: string, filter: string[]) =>
  ({ pipeline }: ProgramContext): boolean => {
    const known = pipeline.pullers.get(id)?.filter;
    return known === undefined || Bun.deepEquals(known?.toSorted(), filter.toSorted());
  };
const pksOf = (batches: ClaimedBatch[]) => batches.map((b) => b.tasks.map((t) => t.pk));
const refs = (batches: ClaimedBatch[]) =>
  batches.flatMap((b) => b.tasks.map(({ task_id, epoch }) => ({ task_id, epoch })));

describe("a pull worker (rules/pipeline-pull#what-a-worker-must-do)", () => {
  test("registers, is listed as active, and is refused without doing so", async () => {
    const slug = await addWorkload();
    const worker = await addWorker([slug], { labels: { zone: "a" } });
    const { body } = await api("GET", "/workers");
    expect(body.total).toBe(body.workers.length);
    expect(body.workers.find((w: { id: string }) => w.id === worker.id)).toMatchObject({
      state: "active",
      slots: 4,
      in_flight: 0,
      workloads: [slug],
      filter: [slug],
      labels: { zone: "a" },
    });
    const stranger = { incarnation: "somebody-else", slots: 1 };
    const refused = await api("POST", `/workers/${worker.id}/claim`, stranger);
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      "this incarnation is not registered; register and try again",
    ]);
  });

  test("a live worker keeps its name: another process is refused with what to do, one that knows it dead takes over", async () => {
    const worker = await addWorker([]);
    const host = `host-${made}`;
    const again = (incarnation: string, at: string, more: Record<string, unknown> = {}) =>
      api("POST", `/workers/${worker.id}/register`, {
        incarnation,
        host: at,
        slots: 1,
        version: "1",
        ...more,
      });
    for (const at of ["elsewhere", host]) {
      const { status, body } = await again("other-incarnation", at);
      expect(status).toBe(409);
      expect(body.detail).toBe(
        `duplicate worker_id: a live worker on ${host} is ${worker.id}; set SVC_WORKER_ID (--worker-id) to another name on one of them`,
      );
    }
    expect((await worker.call("claim", { slots: 1 })).status).toBe(200);
    const { incarnation } = worker;
    expect((await again("restarted-one", host, { replaces: incarnation })).status).toBe(200);
    expect((await worker.call("claim", { slots: 1 })).status).toBe(409);
  });

  test("a worker that says goodbye leaves its name, and is not heard any more", async () => {
    const worker = await addWorker([]);
    expect((await worker.call("drain", { leaving: true })).status).toBe(200);
    expect((await worker.call("claim", { slots: 1 })).status).toBe(409);
    const hello = { incarnation: "next-process", host: "elsewhere", slots: 1, version: "1" };
    expect((await api("POST", `/workers/${worker.id}/register`, hello)).status).toBe(200);
  });

  test("claims as many batches as it has slots, each of batch_size tasks of one workload", async () => {
    const slug = await addWorkload({ batch_size: 3 }, ["a", "b", "c", "d", "e", "f", "g"]);
    const worker = await addWorker([slug]);
    expect(pksOf(await worker.claim(2))).toEqual([
      ["a", "b", "c"],
      ["d", "e", "f"],
    ]);
    expect(pksOf(await worker.claim(2))).toEqual([["g"]]);
    expect(await worker.claim(2)).toEqual([]);
  });

  test("gets a workload's settings once, and again when they change", async () => {
    const slug = await addWorkload({ timeout_s: 5 }, ["a", "b", "c"]);
    const worker = await addWorker([slug]);
    const first = (await worker.call("claim", { slots: 1 })).body;
    expect(first.workloads).toMatchObject([
      { slug, executor_type: "command", lease_ms: 60_000, timeout_ms: 5_000 },
    ]);
    const known = { [slug]: first.workloads[0].revision };
    expect((await worker.call("claim", { slots: 1, known })).body.workloads).toEqual([]);
    await api("PATCH", `/workloads/${slug}/supervisor_enabled`, { supervisor_enabled: true });
    await hub.everywhere(
      ({ pipeline }) => pipeline.workloads.bySlug(slug)?.supervisor_enabled === true,
    );
    expect((await worker.call("claim", { slots: 1, known })).body.workloads).toHaveLength(1);
  });

  test("a waiting claim is answered when work comes, and a single task wakes a single worker", async () => {
    const slug = await addWorkload();
    const workers = await Promise.all([addWorker([slug]), addWorker([slug])]);
    const claims = workers.map((w) => w.claim(1, { wait_ms: 20_000 }));
    await api("POST", `/workloads/${slug}/tasks`, { pk: "only" });
    expect(pksOf(await Promise.race(claims))).toEqual([["only"]]);
    // The other one waits on, until its worker takes no more.
    for (const { call } of workers) await call("drain", {});
    const [first, second] = await Promise.all(claims);
    expect([...pksOf(first ?? []), ...pksOf(second ?? [])]).toEqual([["only"]]);
  });

  test("workloads of the highest priority go first, those of one priority share the slots", async () => {
    const many = Array.from({ length: 20 }, (_, i) => `t${i}`);
    const flooded = await addWorkload({}, many);
    const small = await addWorkload({}, ["x", "y"]);
    const urgent = await addWorkload({ priority: 9 }, ["now"]);
    const worker = await addWorker([flooded, small, urgent]);
    const batches = await worker.claim(5);
    expect(batches[0]?.workload).toBe(urgent);
    expect(batches.filter((b) => b.workload === small)).toHaveLength(2);
    expect(batches.filter((b) => b.workload === flooded)).toHaveLength(2);
  });

  test("host_affinity, the filter and a workload that is off keep tasks away", async () => {
    const bound = await addWorkload({ host_affinity: ["elsewhere"] }, ["a"]);
    const off = await addWorkload({ enabled: false }, ["a"]);
    const filtered = await addWorkload({}, ["a"]);
    const worker = await addWorker([bound, off]);
    expect(await worker.claim(4)).toEqual([]);
    await api("POST", `/workers/${worker.id}/filter`, { op: "add", workloads: [filtered] });
    await api("PATCH", `/workloads/${off}/enabled`, { enabled: true });
    await hub.everywhere(runsOnly(worker.id, [bound, off, filtered]));
    await hub.everywhere(({ pipeline }) => pipeline.workloads.bySlug(off)?.enabled === true);
    const got = (await worker.claim(4)).map((b) => b.workload);
    expect(got.sort()).toEqual([off, filtered].sort());
    await api("POST", `/workers/${worker.id}/filter`, { op: "remove", workloads: [filtered] });
    await hub.everywhere(runsOnly(worker.id, [bound, off]));
    await api("POST", `/workloads/${filtered}/tasks`, { pk: "b" });
    expect(await worker.claim(4)).toEqual([]);
  });

  test("exchange reports and claims in one call; each report has its answer in order", async () => {
    const slug = await addWorkload({}, ["a", "b", "c", "d"]);
    const next = await addWorkload();
    const worker = await addWorker([slug]);
    const [a, b, c] = refs(await worker.claim(3));
    const { status, body } = await worker.call("exchange", {
      done: [
        {
          ...a,
          duration_ms: 7,
          stdout: "hi",
          output: { n: 1, emit: [{ workload: next, pk: "child", extra: { of: "a" } }] },
        },
      ],
      failed: [{ ...b, duration_ms: 2, workload: slug, error: "no", no_retry: true }],
      released: [c],
      want: { slots: 2 },
    });
    expect(status).toBe(200);
    const answer = Exchanged.parse(body);
    expect(answer.results.map((r) => r.status)).toEqual(["ok", "ok", "ok"]);
    expect(pksOf(answer.batches)).toEqual([["c"], ["d"]]);
    expect((await api("GET", `/workloads/${slug}/queue`)).body).toEqual({
      pending: 0,
      claimed: 2,
      failed: 1,
      total: 3,
    });
    expect((await api("GET", `/workloads/${next}/queue`)).body.pending).toBe(1);
    const again = await worker.call("complete", { items: [{ ...a, duration_ms: 7, output: 1 }] });
    expect(again.body.items[0]).toEqual(answer.results[0]);
    const late = await worker.call("complete", { items: [{ ...b, duration_ms: 7 }] });
    expect(late.body.items[0].status).toBe("stale");
  });

  test("a heartbeat renews what is in flight and tells what is lost; drain ends the claims", async () => {
    const slug = await addWorkload({}, ["a", "b"]);
    const worker = await addWorker([slug]);
    const [a] = refs(await worker.claim(1));
    const in_flight = [
      { ...a, workload: slug },
      { task_id: 999_999, epoch: 1, workload: slug },
    ];
    const { body } = await worker.call("heartbeat", { in_flight, cpu_percent: 12.5 });
    const lost = [{ task_id: 999_999, epoch: 1 }];
    expect(body).toEqual({ lost, drain: false, version: "test", commands: [], checks: [] });
    expect((await worker.call("drain", {})).body).toEqual({ ok: true });
    await hub.everywhere(({ pipeline }) => pipeline.pullers.get(worker.id)?.draining !== false);
    expect(await worker.claim(1)).toEqual([]);
    const listed = (await api("GET", "/workers")).body.workers;
    expect(listed.find((w: { id: string }) => w.id === worker.id)).toMatchObject({
      state: "draining",
      in_flight: 2,
      cpu_percent: 12.5,
    });
  });

  test("a client that left while it waited takes no task with it", async () => {
    const slug = await addWorkload();
    const worker = await addWorker([slug]);
    const leave = new AbortController();
    const waiting = fetch(`${hub.url}/api/v1/workers/${worker.id}/claim`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ incarnation: worker.incarnation, slots: 1, wait_ms: 20_000 }),
      signal: leave.signal,
    }).catch(() => "left");
    await hub.call("GET", "/health");
    leave.abort();
    expect(await waiting).toBe("left");
    // The hub learns of it a moment later; until then the claim may still be answered into the void.
    for (let i = 0; i < 50; i += 1) await hub.call("GET", "/health");
    await api("POST", `/workloads/${slug}/tasks`, { pk: "a" });
    expect((await api("GET", `/workloads/${slug}/queue`)).body).toMatchObject({ pending: 1 });
  });
});

test("with WORKER_SECRET set, a worker's calls need it; the list does not", async () => {
  const guarded = await startTestHub({ env: { WORKER_SECRET: "hush" } });
  try {
    const hello = { incarnation: "12345678", host: "h", slots: 1, version: "1" };
    const register = (headers: Record<string, string>) =>
      guarded.call("POST", "/api/v1/workers/w1/register", hello, { headers });
    expect((await register({})).status).toBe(401);
    expect((await register({ "x-worker-secret": "wrong" })).status).toBe(401);
    expect((await register({ "x-worker-secret": "hush" })).status).toBe(200);
    expect((await guarded.call("GET", "/api/v1/workers")).body.total).toBe(1);
  } finally {
    await guarded.close();
  }
});
