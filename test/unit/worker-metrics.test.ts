import { afterEach, expect, test } from "bun:test";
import { createLog } from "#shared/kit/log.ts";
import { checkMetrics } from "#test/support/clients/promtool.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { readMetrics, sampleOf } from "#test/support/models/prometheus-text.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { createEgress } from "#worker/egress/egress.ts";
import { egressSettings } from "#worker/egress/settings.ts";
import { addLaneReadings } from "#worker/metrics/lane-meters.ts";
import { type MetricsListener, startMetricsListener } from "#worker/metrics/listener.ts";
import { createMeters, type Meters } from "#worker/metrics/meters.ts";
import { addTaskReadings } from "#worker/metrics/task-meters.ts";
import { createWorkerMetrics } from "#worker/metrics/worker-metrics.ts";

/** What a worker tells to Prometheus, and its listener (rules/metrics#of-a-worker). */

const lines: string[] = [];
const log = createLog("debug", (line) => lines.push(line));
const make = () => {
  const clock = createFakeClock();
  return { clock, meters: createMeters({ clock, log }) };
};
const read = async (meters: Pick<Meters, "text">) => {
  const all = readMetrics(await meters.text());
  return (name: string, labels = {}) => sampleOf(all, name, labels);
};

let listener: MetricsListener | undefined;
let blocker: ReturnType<typeof Bun.serve> | undefined;
afterEach(async () => {
  await listener?.stop();
  await blocker?.stop(true);
  listener = undefined;
  blocker = undefined;
});

test("counters, gauges and histograms are written as Prometheus reads them (rules/metrics#of-a-worker)", async () => {
  const { meters } = make();
  meters.counter("calls_total", "Calls,\nby who \\ what", ["who"]).inc({ who: 'a"\\\nb' }, 2);
  meters.counter("none_total", "Nothing yet");
  meters.gauge("depth", "Depth", ["of"]).set({ of: "x" }, 1.5);
  meters.gauge("unset", "Never set");
  const took = meters.histogram("took_seconds", "Time", [0.1, 1], ["by"]);
  for (const s of [0.05, 0.1, 0.5, 7]) took.observe({ by: "me" }, s);
  meters.tally("read_total", "Read when asked", () => 9);
  const text = await meters.text();
  await checkMetrics(text);
  const get = await read(meters);
  expect(get("calls_total", { who: 'a\\"\\\\\\nb' })).toBe(2);
  expect(get("none_total")).toBe(0);
  expect(text).not.toContain("unset");
  expect(get("depth", { of: "x" })).toBe(1.5);
  const bucket = (le: string) => get("took_seconds_bucket", { by: "me", le });
  expect([bucket("0.1"), bucket("1"), bucket("+Inf")]).toEqual([2, 3, 4]);
  expect(get("took_seconds_count", { by: "me" })).toBe(4);
  expect(get("took_seconds_sum", { by: "me" })).toBeCloseTo(7.65);
  expect(get("read_total")).toBe(9);
});

test("an answer is used again for 3 s; a part that cannot be read has no values and is named (rules/metrics#parts-that-cannot-be-read)", async () => {
  const { clock, meters } = make();
  const fine = meters.gauge("fine", "Fine");
  const gone = meters.gauge("gone", "Gone");
  let reads = 0;
  meters.reading("good", [fine], () => fine.set(++reads));
  meters.reading("bad", [gone], () => {
    gone.set(1);
    if (reads > 0) throw new Error("no lanes");
  });
  const first = await read(meters);
  expect([first("fine"), first("gone")]).toEqual([1, null]);
  expect(first("flotilla_metrics_reading_failed", { part: "bad" })).toBe(1);
  expect(first("flotilla_metrics_reading_failed", { part: "good" })).toBe(0);
  expect(lines.some((line) => line.includes("some metrics could not be read"))).toBe(true);
  expect((await read(meters))("fine")).toBe(1);
  await clock.advance(3_000);
  expect((await read(meters))("fine")).toBe(2);
});

test("jobs, actions, uploads and tasks are counted by what became of them (rules/metrics#of-a-worker)", async () => {
  const metrics = createWorkerMetrics(
    { clock: createFakeClock(), log },
    { version: "1.2", mode: "worker" },
  );
  const lanes = metrics.lanes();
  const capture = { captured: 7, partial: 1, lost: 2, skipped: 3 };
  lanes.jobEnded({ status: "completed", ms: 1_500, capture });
  lanes.jobEnded({ status: "stopped", ms: 10, capture: null });
  lanes.actionEnded("click", true, 20);
  lanes.actionEnded("click", false, 20);
  lanes.egressRefused();
  lanes.egressReceived(512);
  const uploads = metrics.uploads();
  uploads.begun(100, false);
  uploads.begun(50, true);
  uploads.begun(7, false);
  uploads.ended(100, true);
  uploads.ended(7, false);
  metrics.tasks().taskEnded("sizes", "done", 250);
  metrics.tasks().taskEnded("sizes", "not_run", 0);
  addLaneReadings(metrics.meters, {
    lanes: () => [{ state: "warm" }, { state: "warm" }, { state: "dead" }],
    jobs: () => 1,
    sessions: () => 2,
    isLinked: () => true,
  });
  const figures = { slots: 4, taken: 3, in_flight: 9, reports: 2, broken: 1 };
  addTaskReadings(metrics.meters, () => figures);
  await checkMetrics(await metrics.meters.text());
  const get = await read(metrics.meters);
  expect(get("flotilla_build_info", { version: "1.2", mode: "worker", bun: Bun.version })).toBe(1);
  expect(get("process_resident_memory_bytes")).toBeGreaterThan(1_000_000);
  expect(get("flotilla_worker_job_seconds_count", { status: "completed" })).toBe(1);
  expect(get("flotilla_worker_job_seconds_count", { status: "stopped" })).toBe(1);
  expect(get("flotilla_worker_capture_bodies_total", { outcome: "lost" })).toBe(2);
  expect(get("flotilla_worker_capture_bytes_total")).toBe(107);
  const actions = { action: "click", outcome: "error" };
  expect(get("flotilla_worker_action_seconds_count", actions)).toBe(1);
  expect(get("flotilla_worker_egress_refused_total")).toBe(1);
  expect(get("flotilla_worker_egress_received_bytes_total")).toBe(512);
  expect(get("flotilla_worker_uploads_total", { outcome: "stored" })).toBe(1);
  expect(get("flotilla_worker_uploads_total", { outcome: "failed" })).toBe(1);
  expect(get("flotilla_worker_upload_bytes_total")).toBe(100);
  expect(get("flotilla_worker_uploads_waiting")).toBe(1);
  expect(get("flotilla_worker_uploads_waiting_bytes")).toBe(50);
  expect(get("flotilla_worker_tasks_total", { workload: "sizes", outcome: "done" })).toBe(1);
  expect(get("flotilla_worker_tasks_total", { workload: "sizes", outcome: "not_run" })).toBe(1);
  expect(get("flotilla_worker_task_seconds_count", { outcome: "done" })).toBe(1);
  expect(get("flotilla_worker_lanes", { state: "warm" })).toBe(2);
  expect(get("flotilla_worker_lanes", { state: "booting" })).toBe(0);
  expect(get("flotilla_worker_lanes_held", { by: "session" })).toBe(2);
  expect(get("flotilla_worker_link_up")).toBe(1);
  expect(get("flotilla_worker_slots_taken")).toBe(3);
  expect(get("flotilla_worker_reports_waiting")).toBe(2);
  expect(get("flotilla_worker_executors_broken")).toBe(1);
});

test("a thousand workloads make no more series than a hundred and one (rules/metrics#labels)", async () => {
  const metrics = createWorkerMetrics(
    { clock: createFakeClock(), log },
    { version: "1", mode: "worker" },
  );
  for (let i = 0; i < 1_000; i += 1) metrics.tasks().taskEnded(`w${i}`, "done", 1);
  const all = readMetrics(await metrics.meters.text());
  const tasks = all.filter(({ name }) => name === "flotilla_worker_tasks_total");
  expect(tasks).toHaveLength(101);
  expect(sampleOf(all, "flotilla_worker_tasks_total", { workload: "other", outcome: "done" })).toBe(
    900,
  );
});

test("the listener answers /metrics and /live and nothing else (rules/metrics#of-a-worker)", async () => {
  const { clock, meters } = make();
  meters.gauge("depth", "Depth").set(3);
  const address = { hostname: "127.0.0.1", port: freePort() };
  listener = startMetricsListener({ address, token: null, meters, clock, log });
  const at = `http://127.0.0.1:${listener.port()}`;
  const answer = await fetch(`${at}/metrics`);
  expect(answer.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
  expect(await answer.text()).toContain("depth 3\n");
  expect(await (await fetch(`${at}/live`)).json()).toEqual({ status: "live" });
  expect((await fetch(`${at}/`)).status).toBe(404);
  expect((await fetch(`${at}/metrics`, { method: "POST", body: "x" })).status).toBe(405);
});

test("a token is asked for where one is set (rules/metrics#of-a-worker)", async () => {
  const { clock, meters } = make();
  const address = { hostname: "127.0.0.1", port: freePort() };
  listener = startMetricsListener({ address, token: "t0ken", meters, clock, log });
  const call = async (authorization?: string) => {
    const headers: Record<string, string> = authorization ? { authorization } : {};
    return (await fetch(`http://127.0.0.1:${address.port}/metrics`, { headers })).status;
  };
  expect([await call(), await call("Bearer wrong"), await call("Bearer t0ken")]).toEqual([
    401, 401, 200,
  ]);
  expect((await fetch(`http://127.0.0.1:${address.port}/live`)).status).toBe(200);
});

test("a port that another process has is tried again, and the log says so (rules/metrics#of-a-worker)", async () => {
  const { clock, meters } = make();
  blocker = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("mine") });
  const address = { hostname: "127.0.0.1", port: Number(blocker.port) };
  listener = startMetricsListener({ address, token: null, meters, clock, log });
  await clock.sleeperIn(10_000);
  expect(listener.port()).toBeNull();
  expect(lines.some((line) => line.includes("metrics cannot be served"))).toBe(true);
  await blocker.stop(true);
  await clock.advance(10_000);
  expect(listener.port()).toBe(address.port);
});

test("the address is a host and a port, and is off by default (rules/metrics#of-a-worker)", () => {
  const of = (SVC_METRICS_ADDR: string) =>
    loadWorkerConfig({ SVC_METRICS_ADDR }, {}).metrics.address;
  expect(of("")).toBeNull();
  expect(of("127.0.0.1:9464")).toEqual({ hostname: "127.0.0.1", port: 9464 });
  expect(of("[::1]:9464")).toEqual({ hostname: "::1", port: 9464 });
  expect(of(":9464")).toEqual({ hostname: "0.0.0.0", port: 9464 });
  for (const bad of ["9464", "host:0", "host:70000", "http://host:1", "a b:1"])
    expect(() => of(bad)).toThrow(/^SVC_METRICS_ADDR: must be a host and a port/);
});

test("an agent keeps the address for itself: its instances would fight for it (rules/metrics#of-a-worker)", () => {
  const { agent } = loadWorkerConfig({ SVC_METRICS_ADDR: ":9464", SVC_SLOTS: "2" }, {});
  expect(agent.environment).toMatchObject({ SVC_SLOTS: "2" });
  expect(agent.environment).not.toHaveProperty("SVC_METRICS_ADDR");
});

test("pages in a lane cannot reach the worker's metrics (rules/egress#never-reachable)", () => {
  const config = loadWorkerConfig({ SVC_METRICS_ADDR: "127.0.0.1:9464" }, {});
  const { judge } = createEgress(egressSettings(config), { clock: createFakeClock(), log });
  expect(judge.refusal("127.0.0.1", 9464)).toContain("a port of this worker's own lanes");
  expect(judge.refusal("127.0.0.1", 9465)).toBeNull();
});
