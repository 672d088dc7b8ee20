import { afterEach, expect, test } from "bun:test";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { readMetrics, sampleOf } from "#test/support/models/prometheus-text.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** What a hub and a control plane tell to Prometheus (rules/metrics). */

let hub: TestHub;
afterEach(() => hub.close());
// Each process counts what it did itself.
const start = async (options: TestHubOptions = {}) => {
  hub = await startTestHub({ alone: true, ...options });
};
const scrape = async () => {
  const { status, headers, text } = await hub.call("GET", "/metrics");
  expect(status).toBe(200);
  expect(headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
  const all = readMetrics(text);
  return (name: string, labels: Record<string, string> = {}) => sampleOf(all, name, labels);
};

test("an empty hub tells of its build, its process and its queue (rules/metrics#of-every-process)", async () => {
  await start();
  const get = await scrape();
  expect(get("flotilla_build_info", { version: "test", mode: "hub", bun: Bun.version })).toBe(1);
  expect(get("process_resident_memory_bytes")).toBeGreaterThan(1_000_000);
  expect(get("process_cpu_seconds_total")).toBeGreaterThan(0);
  expect(get("process_open_fds")).toBeGreaterThan(3);
  expect(get("flotilla_jobs_queued")).toBe(0);
  expect(get("flotilla_jobs_oldest_queued_seconds")).toBe(0);
  expect(get("flotilla_lanes", { state: "booting" })).toBe(0);
  for (const part of ["queue", "lanes", "sessions", "tasks", "pull workers", "process"])
    expect(get("flotilla_metrics_reading_failed", { part })).toBe(0);
});

test("jobs are counted from submit to end, with their bodies and uploads (rules/metrics#of-the-fleet)", async () => {
  await start();
  const worker = await hub.worker();
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const job = await worker.assigned.next();
  expect((await worker.putAsset(job, "hello")).status).toBe(200);
  worker.finish(job, { http_status: 200 });
  await hub.signals.next("job finished", { job_id });
  const get = await scrape();
  expect(get("flotilla_jobs_submitted_total")).toBe(1);
  expect(get("flotilla_jobs_finished_total", { status: "completed" })).toBe(1);
  expect(get("flotilla_job_assign_seconds_count")).toBe(1);
  expect(get("flotilla_job_queue_wait_seconds_count")).toBe(1);
  expect(get("flotilla_job_duration_seconds_count", { status: "completed" })).toBe(1);
  expect(get("flotilla_uploads_total", { way: "single" })).toBe(1);
  expect(get("flotilla_upload_bytes_total", { way: "single" })).toBe(5);
  expect(get("flotilla_workers", { status: "active" })).toBe(1);
  expect(get("flotilla_http_requests_total", { method: "POST", code: "200" })).toBe(1);
});

test("sessions and their actions are counted, with how long those took (rules/metrics#of-the-fleet)", async () => {
  await start();
  await hub.worker();
  const sid = (await hub.call("POST", "/sessions", {})).body.session_id;
  expect((await hub.call("POST", `/sessions/${sid}/evaluate`, { code: "1" })).status).toBe(200);
  expect((await hub.call("DELETE", `/sessions/${sid}`)).status).toBe(204);
  const get = await scrape();
  expect(get("flotilla_sessions_opened_total", { kind: "sdk" })).toBe(1);
  expect(get("flotilla_sessions_ended_total", { kind: "sdk" })).toBe(1);
  const evaluated = { action: "evaluate", outcome: "ok" };
  expect(get("flotilla_session_action_seconds_count", evaluated)).toBe(1);
  expect(get("flotilla_session_action_seconds_sum", evaluated)).toBeLessThan(10);
  expect(get("flotilla_calls_waiting", { kind: "session" })).toBe(0);
});

test("a job without a lane is a refusal with its reason, and waits in the queue (rules/metrics#of-the-fleet)", async () => {
  await start();
  expect((await hub.call("POST", "/jobs", { url: TARGET })).status).toBe(503);
  expect((await hub.call("POST", "/sessions", {})).status).toBe(503);
  const get = await scrape();
  expect(get("flotilla_refusals_total", { kind: "job", reason: "no_worker" })).toBe(1);
  expect(get("flotilla_refusals_total", { kind: "session", reason: "no_worker" })).toBe(1);
  expect(get("flotilla_jobs_queued")).toBe(1);
});

test("no label holds what callers send (rules/metrics#labels)", async () => {
  await start();
  const worker = await hub.worker({ worker_id: "secret-worker" });
  const url = "http://private-host.example/secret-path";
  const { job_id } = (await hub.call("POST", "/jobs", { url })).body;
  worker.finish(await worker.assigned.next(), { status: "failed", error: "secret-error" });
  await hub.signals.next("job finished", { job_id });
  await hub.call("BREW", "/secret-path");
  const { text } = await hub.call("GET", "/metrics");
  expect(text).not.toMatch(/secret|private-host/);
  expect(text).not.toContain(job_id);
  expect(text).not.toContain("BREW");
});

test("a part that cannot be read has no values, and is named (rules/metrics#parts-that-cannot-be-read)", async () => {
  await start();
  hub.ctx.db.figures.queue = () => Promise.reject(new Error("gone"));
  const get = await scrape();
  expect(get("flotilla_metrics_reading_failed", { part: "queue" })).toBe(1);
  expect(get("flotilla_jobs_queued")).toBeNull();
  expect(get("flotilla_workers", { status: "active" })).toBe(0);
});

test("metrics need a token where one is set; bearer works, as Prometheus sends it (rules/metrics#access)", async () => {
  await start({ env: { SVC_API_TOKEN: "t0ken" } });
  expect((await hub.call("GET", "/metrics")).status).toBe(401);
  expect((await hub.call("GET", "/pressure")).status).toBe(401);
  const headers = { authorization: "Bearer t0ken" };
  expect((await hub.call("GET", "/metrics", undefined, { headers })).status).toBe(200);
  expect((await hub.call("GET", "/live")).body).toEqual({ status: "live" });
  expect((await hub.call("GET", "/ready")).body).toEqual({ ready: true, reasons: [] });
});

test("the queue of a control plane: submits, claims, reports, and what waits (rules/metrics#of-the-pipeline)", async () => {
  await start({ mode: "control" });
  const api = (path: string, body: unknown) => hub.call("POST", `/api/v1${path}`, body);
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  await api("/workloads", { slug: "sizes", ...command });
  const items = [{ pk: "a" }, { pk: "b" }, { pk: "a" }];
  await api("/workloads/sizes/tasks/batch", { items });
  const me = { incarnation: "incarnation-1" };
  await api("/workers/p/register", { ...me, host: "h", slots: 4, version: "1" });
  const { body } = await api("/workers/p/claim", { ...me, slots: 1 });
  const [{ task_id, epoch }] = body.batches[0].tasks;
  const done = { task_id, epoch, duration_ms: 7 };
  const completed = await api("/workers/p/complete", { ...me, items: [done] });
  expect(completed.status).toBe(200);
  await api("/workers/p/complete", { ...me, items: [{ ...done, epoch: epoch + 1 }] });
  const get = await scrape();
  expect(get("flotilla_build_info", { version: "test", mode: "control", bun: Bun.version })).toBe(
    1,
  );
  expect(get("flotilla_tasks_submitted_total")).toBe(2);
  expect(get("flotilla_tasks_claimed_total")).toBe(1);
  expect(get("flotilla_claims_total", { result: "found" })).toBe(1);
  expect(get("flotilla_task_reports_total", { report: "complete" })).toBe(1);
  expect(get("flotilla_task_reports_stale_total")).toBe(1);
  expect(get("flotilla_tasks", { workload: "sizes", state: "ready" })).toBe(1);
  expect(get("flotilla_task_oldest_ready_seconds", { workload: "sizes" })).not.toBeNull();
  expect(get("flotilla_pull_workers", { state: "live" })).toBe(1);
});

test("a workload that is switched off has ready tasks, and none that could run (rules/metrics#of-the-pipeline)", async () => {
  const clock = createFakeClock();
  await start({ mode: "control", clock });
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  for (const [slug, enabled] of Object.entries({ on: true, off: false })) {
    await hub.call("POST", "/api/v1/workloads", { slug, enabled, ...command });
    expect((await hub.call("POST", `/api/v1/workloads/${slug}/tasks`, { pk: "a" })).status).toBe(
      201,
    );
  }
  await clock.advance(60_000);
  const get = await scrape();
  const ages = ["on", "off"].map((workload) =>
    get("flotilla_task_oldest_ready_seconds", { workload }),
  );
  expect([ages, get("flotilla_tasks", { workload: "off", state: "ready" })]).toEqual([[60, 0], 1]);
});

test("code that does not load is counted for each workload, and leases that ran out (rules/metrics#of-the-pipeline)", async () => {
  const clock = createFakeClock();
  await start({ mode: "control", clock });
  const api = (path: string, body: unknown) => hub.call("POST", `/api/v1${path}`, body);
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  await api("/workloads", { slug: "sizes", ...command });
  await api("/workloads/sizes/tasks", { pk: "a" });
  const me = { incarnation: "incarnation-1" };
  await api("/workers/p/register", { ...me, host: "h", slots: 4, version: "1" });
  const [batch] = (await api("/workers/p/claim", { ...me, slots: 1 })).body.batches;
  const { revision } = batch;
  const failed = { workload: "sizes", revision, error: "no module", trace: "" };
  const beat = { ...me, in_flight: [], broken: [{ ...failed, broken_ms: 5 }] };
  expect((await api("/workers/p/heartbeat", beat)).status).toBe(200);
  expect((await scrape())("flotilla_executors_broken", { workload: "sizes" })).toBe(1);
  await clock.advance(600_000);
  const get = await scrape();
  expect(get("flotilla_task_leases_expired_total")).toBe(1);
  expect(get("flotilla_pull_workers", { state: "offline" })).toBe(1);
  expect(get("flotilla_executors_broken", { workload: "sizes" }) ?? 0).toBe(0);
});
