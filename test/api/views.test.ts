import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  DashboardOverview,
  FlowRates,
  FlowSnapshot,
  GpuMetrics,
  RunsSummary,
  WorkersCpu,
} from "#shared/protocol/schema/flow.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const api = (method: string, path: string, body?: unknown) =>
  hub.call(method, `/api/v1${path}`, body);
async function read<T>(path: string, schema: { parse(value: unknown): T }): Promise<T> {
  const { status, body } = await api("GET", path);
  expect(status).toBe(200);
  return schema.parse(body);
}

let made = 0;
async function addWorkload(fields: Record<string, unknown> = {}, pks: string[] = []) {
  const slug = `view-${++made}`;
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  expect((await api("POST", "/workloads", { slug, ...command, ...fields })).status).toBe(201);
  await submit(slug, pks);
  return slug;
}
const submit = (slug: string, pks: string[]) =>
  api("POST", `/workloads/${slug}/tasks/batch`, { items: pks.map((pk) => ({ pk })) });

/** A worker that runs the tasks of `slug` as the test tells it. */
async function addWorker(slug: string, host = `host-${++made}`) {
  const id = `worker-${++made}`;
  const incarnation = `incarnation-${made}`;
  const call = async (name: string, body: Record<string, unknown>) => {
    const { status, body: answer } = await api("POST", `/workers/${id}/${name}`, {
      incarnation,
      ...body,
    });
    expect(status).toBe(200);
    return answer;
  };
  await call("register", { host, slots: 9, version: "1" });
  await api("POST", `/workers/${id}/filter`, { op: "replace", workloads: [slug] });
  const claim = async (slots: number): Promise<{ task_id: number; epoch: number }[]> => {
    const { batches } = await call("claim", { slots });
    return batches.flatMap((b: { tasks: { task_id: number; epoch: number }[] }) =>
      b.tasks.map(({ task_id, epoch }) => ({ task_id, epoch })),
    );
  };
  const end = async (ref: { task_id: number; epoch: number }, output: unknown, ok = true) =>
    call(ok ? "complete" : "fail", {
      items: [
        ok
          ? { ...ref, duration_ms: 1, output }
          : { ...ref, duration_ms: 1, workload: slug, error: "it broke", no_retry: true },
      ],
    });
  return { id, host, call, claim, end };
}

describe("load of workers (rules/pipeline-views#cpu-use)", () => {
  test("GET /workers/cpu tells the share of each worker, of each host, and the busiest host's (rules/pipeline-views#cpu-use)", async () => {
    const slug = await addWorkload();
    const [a, b] = [await addWorker(slug, "twin"), await addWorker(slug, "twin")];
    const c = await addWorker(slug, "lone");
    const silent = await addWorker(slug, "silent");
    await a.call("heartbeat", { cpu_percent: 10, host_cpu_percent: 61 });
    await b.call("heartbeat", { cpu_percent: 20.5, host_cpu_percent: 62.5 });
    await c.call("heartbeat", { cpu_percent: 1, host_cpu_percent: 30 });
    const cpu = await read("/workers/cpu", WorkersCpu);
    expect(cpu.workers).toContainEqual({ id: b.id, host: "twin", cpu_percent: 20.5 });
    expect(cpu.workers).toContainEqual({ id: silent.id, host: "silent", cpu_percent: null });
    expect(cpu.hosts).toContainEqual({ host: "twin", cpu_percent: 62.5 });
    expect(cpu.hosts).toContainEqual({ host: "lone", cpu_percent: 30 });
    expect(cpu.hosts).toContainEqual({ host: "silent", cpu_percent: null });
    expect(cpu.cluster_max).toBe(62.5);
    const [listed] = (await api("GET", "/workers")).body.workers.filter(
      (w: { id: string }) => w.id === a.id,
    );
    expect(listed).toMatchObject({ cpu_percent: 10, host_cpu_percent: 61 });
  });

  test("GET /workers/metrics has a series for each GPU that heartbeats reported (rules/pipeline-views#gpu-metrics)", async () => {
    const slug = await addWorkload();
    const worker = await addWorker(slug, "gpu-host");
    const gpus = (util_percent: number | null) => [
      { index: 0, name: "Card 0", util_percent, mem_used_mb: 1_000, mem_total_mb: 24_564 },
      { index: 1, name: "Card 1", util_percent: null, mem_used_mb: null, mem_total_mb: null },
    ];
    await worker.call("heartbeat", { gpus: gpus(5) });
    await worker.call("heartbeat", { gpus: gpus(77) });
    const { minutes, series } = await read("/workers/metrics?minutes=5", GpuMetrics);
    const own = series.filter(({ host }) => host === "gpu-host");
    expect([minutes, own.map(({ gpu, name }) => [gpu, name])]).toEqual([
      5,
      [
        [0, "Card 0"],
        [1, "Card 1"],
      ],
    ]);
    expect(own[0]?.points.at(-1)).toMatchObject({
      ts: expect.stringMatching(/:00\.000Z$/),
      util_percent: 77,
      mem_used_mb: 1_000,
      mem_total_mb: 24_564,
    });
    for (const bad of ["0", "-1", "abc", "2881"])
      expect((await api("GET", `/workers/metrics?minutes=${bad}`)).status).toBe(422);
  });

  test("GET /workers/metrics has how busy each host was, a reading a minute (rules/pipeline-views#gpu-metrics)", async () => {
    const slug = await addWorkload();
    const worker = await addWorker(slug, "busy-host");
    await worker.call("heartbeat", { host_cpu_percent: null });
    await worker.call("heartbeat", { host_cpu_percent: 40.5 });
    const { cpu } = await read("/workers/metrics?minutes=5", GpuMetrics);
    const own = cpu.filter(({ host }) => host === "busy-host");
    expect(own.map(({ points }) => points[0]?.cpu_percent)).toEqual([40.5]);
    expect(own[0]?.points[0]?.ts).toMatch(/:00\.000Z$/);
  });
});

describe("dashboard (rules/pipeline-views#dashboard-overview)", () => {
  test("GET /dashboard/overview aggregates running, recent_failures and queue_depths (rules/pipeline-views#dashboard-overview)", async () => {
    const slug = await addWorkload({}, ["a", "b", "c", "d"]);
    const idle = await addWorkload();
    const [one, two] = [await addWorker(slug), await addWorker(slug)];
    const [a] = await one.claim(2);
    await two.claim(1);
    await one.end(a as never, null, false);
    const overview = await read("/dashboard/overview", DashboardOverview);
    expect(overview.running.filter((r) => r.workload === slug)).toEqual([
      { workload: slug, claimed: 2, workers: 2 },
    ]);
    expect(overview.recent_failures[0]).toMatchObject({
      workload: slug,
      pk: "a",
      success: false,
      error: "it broke",
      worker_id: one.id,
    });
    const depth = (of: string) => overview.queue_depths.find((d) => d.workload === of);
    expect(depth(slug)).toMatchObject({ pending: 1, claimed: 2, failed: 1 });
    expect(depth(slug)?.oldest_pending_s).toBeLessThan(60);
    expect(depth(idle)).toEqual({
      workload: idle,
      pending: 0,
      claimed: 0,
      failed: 0,
      oldest_pending_s: null,
      done_per_min: 0,
    });
  });

  test("the runs summary has the last 20 runs of a workload, the newest last (rules/pipeline-views#runs-summary)", async () => {
    const slug = await addWorkload();
    const idle = await addWorkload();
    const worker = await addWorker(slug);
    const ends = Array.from({ length: 23 }, (_, i) => i % 4 !== 0);
    for (const [i, ok] of ends.entries()) {
      await submit(slug, [`t${i}`]);
      const [ref] = await worker.claim(1);
      await worker.end(ref as never, null, ok);
    }
    const { workloads } = await read("/dashboard/workloads-runs-summary", RunsSummary);
    expect(workloads.find((w) => w.slug === slug)).toEqual({
      slug,
      runs: ends.slice(-20),
      success_rate: 0.75,
    });
    expect(workloads.find((w) => w.slug === idle)).toEqual({
      slug: idle,
      runs: [],
      success_rate: null,
    });
  });
});

describe("flow (rules/pipeline-views#flow-snapshot)", () => {
  test("the snapshot draws sources, workloads, plugins and workers, and what goes between them (rules/pipeline-views#flow-snapshot)", async () => {
    const dir = join(hub.ctx.pipeline.plugins.dir, "resize");
    await mkdir(dir, { recursive: true });
    const manifest = { slug: "resize", name: "Resize", version: "1" };
    await writeFile(join(dir, "plugin.json"), JSON.stringify(manifest));
    const target = await addWorkload({ name: "Target" });
    const undeclared = await addWorkload();
    const gone = await addWorkload();
    const slug = await addWorkload(
      {
        emits: [target, gone],
        schedule: "0 0 1 1 *",
        executor_config: { argv: ["x"], plugin: "resize" },
      },
      ["a", "b"],
    );
    expect((await api("DELETE", `/workloads/${gone}`)).status).toBe(204);
    const worker = await addWorker(slug);
    const [a] = await worker.claim(2);
    await worker.end(a as never, { emit: [{ workload: undeclared, pk: "child" }] });
    const { nodes, edges } = await read("/flow/snapshot", FlowSnapshot);
    const node = (id: string) => nodes.find((n) => n.id === id);
    expect(node(`workload:${slug}`)).toMatchObject({
      kind: "workload",
      stats: { pending: 0, claimed: 1, failed: 0, state: "enabled" },
    });
    expect(node(`workload:${target}`)?.label).toBe("Target");
    expect(node(`worker:${worker.id}`)).toMatchObject({ kind: "worker", stats: { slots: 9 } });
    expect(node("plugin:resize")).toMatchObject({ kind: "plugin", stats: { workloads: 1 } });
    expect(node("source:api")?.kind).toBe("source");
    expect(node("source:schedule")?.kind).toBe("source");
    const ids = new Set(nodes.map(({ id }) => id));
    expect(ids.size).toBe(nodes.length);
    for (const { source, target: to } of edges)
      expect([ids.has(source), ids.has(to)]).toEqual([true, true]);
    const kindOf = (from: string, to: string) => edges.find((e) => e.id === `${from}>${to}`);
    expect(kindOf("source:api", `workload:${slug}`)).toMatchObject({ kind: "submit" });
    expect(kindOf("source:api", `workload:${slug}`)?.rate_per_min).toBeGreaterThan(0);
    expect(kindOf("source:schedule", `workload:${slug}`)?.kind).toBe("submit");
    expect(kindOf(`workload:${slug}`, `workload:${target}`)).toMatchObject({ rate_per_min: 0 });
    const emitted = kindOf(`workload:${slug}`, `workload:${undeclared}`);
    expect(emitted?.kind).toBe("emit");
    expect(emitted?.rate_per_min).toBeGreaterThan(0);
    expect(kindOf("source:api", `workload:${undeclared}`)).toBeUndefined();
    expect(kindOf(`workload:${slug}`, `worker:${worker.id}`)?.rate_per_min).toBeGreaterThan(0);
    expect(kindOf("plugin:resize", `workload:${slug}`)?.kind).toBe("executor");
    const places = nodes.map(({ position }) => `${position.x},${position.y}`);
    expect(new Set(places).size).toBe(places.length);
  });

  test("workloads that emit in a circle are drawn nevertheless (rules/pipeline-views#flow-layout)", async () => {
    const a = await addWorkload();
    const b = await addWorkload({ emits: [a] });
    const { body: settings } = await api("GET", `/workloads/${a}`);
    expect((await api("PUT", `/workloads/${a}`, { ...settings, emits: [b] })).status).toBe(200);
    const { edges } = await read("/flow/snapshot", FlowSnapshot);
    expect(edges.filter((e) => e.id.includes(`workload:${a}`) && e.id.includes(b))).toHaveLength(2);
  });

  test("rates are one-minute buckets, one for every minute, narrowed by slug and metric (rules/pipeline-views#flow-rates)", async () => {
    const slug = await addWorkload({}, ["a", "b", "c"]);
    await submit(slug, ["d"]);
    const all = await read(`/flow/rates?since_min=2880&slug=${slug}&metric=`, FlowRates);
    expect(all).toMatchObject({ since_min: 2880, bucket_s: 60 });
    expect(all.series.map((s) => [s.slug, s.metric])).toEqual([[slug, "submitted"]]);
    const points = all.series[0]?.points ?? [];
    expect(points).toHaveLength(2880);
    expect(
      points.every(([ts], i) => ts % 60_000 === 0 && ts - (points[0]?.[0] ?? 0) === i * 60_000),
    ).toBe(true);
    expect(points.reduce((sum, [, n]) => sum + n, 0)).toBe(4);
    expect(Math.abs((points.at(-1)?.[0] ?? 0) - Date.now())).toBeLessThan(120_000);
    const none = await read(`/flow/rates?since_min=3&slug=${slug}&metric=failed`, FlowRates);
    expect(none.series.map((s) => [s.metric, s.points.map(([, n]) => n)])).toEqual([
      ["failed", [0, 0, 0]],
    ]);
    const whole = await read("/flow/rates?slug=&metric=submitted", FlowRates);
    expect(whole.since_min).toBe(60);
    expect(whole.series.some((s) => s.slug === slug)).toBe(true);
    expect(whole.series.every((s) => s.metric === "submitted")).toBe(true);
  });

  test("more than 2880 minutes are 422, as are 0, -1, abc and an unknown metric; an unknown slug is 404 (rules/pipeline-views#flow-rates)", async () => {
    for (const query of [
      "since_min=2881",
      "since_min=0",
      "since_min=-1",
      "since_min=abc",
      "metric=joy",
    ]) {
      const { status, body } = await api("GET", `/flow/rates?${query}`);
      expect(status).toBe(422);
      expect(body.detail[0].loc).toEqual(["query", query.split("=")[0]]);
    }
    expect((await api("GET", "/flow/rates?slug=none")).status).toBe(404);
  });

  test("POST /flow/layout keeps positions, and the snapshot shows them (rules/pipeline-views#flow-layout)", async () => {
    const slug = await addWorkload();
    const id = `workload:${slug}`;
    const save = (positions: unknown) => api("POST", "/flow/layout", { positions });
    expect((await save({ [id]: { x: 12.5, y: -7 } })).body.positions[id]).toEqual({
      x: 12.5,
      y: -7,
    });
    const { body } = await save({ "source:api": { x: 1, y: 2 } });
    expect(body.positions).toMatchObject({
      [id]: { x: 12.5, y: -7 },
      "source:api": { x: 1, y: 2 },
    });
    const { nodes } = await read("/flow/snapshot", FlowSnapshot);
    expect(nodes.find((n) => n.id === id)?.position).toEqual({ x: 12.5, y: -7 });
    const many = Object.fromEntries(
      Array.from({ length: 2_001 }, (_, i) => [`n${i}`, { x: 0, y: 0 }]),
    );
    for (const bad of [
      { a: { x: 1 } },
      { a: { x: "1", y: 2 } },
      { a: { x: 1e7, y: 0 } },
      { a: { x: 1, y: 2, z: 3 } },
      many,
    ])
      expect([400, 422]).toContain((await save(bad)).status);
    expect((await api("POST", "/flow/layout", { position: {} })).status).toBe(400);
  });

  test("DELETE /flow/layout forgets them, and the snapshot is in columns again (rules/pipeline-views#flow-layout)", async () => {
    const slug = await addWorkload();
    const id = `workload:${slug}`;
    const placeOf = async () =>
      (await read("/flow/snapshot", FlowSnapshot)).nodes.find((n) => n.id === id)?.position;
    await api("POST", "/flow/layout", { positions: { [id]: { x: 4_321, y: -1_234 } } });
    expect(await placeOf()).toEqual({ x: 4_321, y: -1_234 });
    expect(await api("DELETE", "/flow/layout")).toMatchObject({
      status: 200,
      body: { positions: {} },
    });
    expect(await placeOf()).not.toEqual({ x: 4_321, y: -1_234 });
  });
});
