import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { checkMetrics } from "#test/support/clients/promtool.ts";
import { readMetrics, type Sample } from "#test/support/models/prometheus-text.ts";
import { metricsOf } from "#test/support/models/promql.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { ROOT } from "../../scripts/build.ts";

/** What a hub and a worker tell to Prometheus after a job, a session and a task (rules/metrics). */

setDefaultTimeout(180_000);

let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;
const port = freePort();
beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    // Nothing may be reached at the second address (rules/egress#never-reachable).
    fetch: () =>
      new Response('<h1>Hello</h1><img src="http://169.254.1.1/picture.png">', {
        headers: { "content-type": "text/html" },
      }),
  });
  fleet = await startFleet({
    lanes: 1,
    headless: true,
    pipeline: true,
    env: { SVC_METRICS_ADDR: `127.0.0.1:${port}` },
  });
  await fleet.lanesWarm();
}, 180_000);
afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
});

const post = async (path: string, body: unknown, method = "POST") => {
  const answer = await fetch(fleet.url + path, {
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
};
const scrape = async (base: string) => {
  const text = await (await fetch(`${base}/metrics`)).text();
  await checkMetrics(text);
  return readMetrics(text);
};
/** The sum over the series that have these labels. */
const sum = (all: readonly Sample[], name: string, labels: Record<string, string> = {}) =>
  all
    .filter((one) => one.name === name)
    .filter((one) => Object.entries(labels).every(([key, value]) => one.labels[key] === value))
    .reduce((n, { value }) => n + value, 0);

const textOf = (path: string) => Bun.file(join(ROOT, "scripts/monitoring", path)).text();
const queries = async (): Promise<string[]> => {
  const alerts = Bun.YAML.parse(await textOf("flotilla-alerts.yml")) as {
    groups: { rules: { expr: string }[] }[];
  };
  const { panels } = JSON.parse(await textOf("flotilla-dashboard.json")) as {
    panels: { targets?: { expr: string }[] }[];
  };
  const all = [
    ...alerts.groups.flatMap(({ rules }) => rules),
    ...panels.flatMap(({ targets = [] }) => targets),
  ];
  return all.map(({ expr }) => expr);
};

test("a worker counts its jobs, actions, refusals, uploads and tasks (rules/metrics#of-a-worker)", async () => {
  const { job_id } = await fleet.submit(site.url.href, { idle_seconds: 1 });
  expect((await fleet.finished(job_id)).status).toBe("completed");
  await fleet.lanesWarm();
  const { session_id } = await post("/sessions", { url: site.url.href });
  await post(`/sessions/${session_id}/click`, { selector: "h1" });
  const executor = { executor_type: "command", executor_config: { argv: ["true"] } };
  await post("/api/v1/workloads", { slug: "sizes", ...executor });
  await post("/api/v1/workloads/sizes/tasks", { pk: "a" });
  const done = { workload: "sizes", outcome: "done" };
  const worker = await until("the task", 60_000, async () => {
    const all = await scrape(`http://127.0.0.1:${port}`);
    return sum(all, "flotilla_worker_tasks_total", done) === 1 ? all : null;
  });
  const of = (name: string, labels = {}) => sum(worker, `flotilla_worker_${name}`, labels);
  expect(of("job_seconds_count", { status: "completed" })).toBe(1);
  expect(of("capture_bodies_total", { outcome: "captured" })).toBeGreaterThanOrEqual(1);
  expect(of("capture_bytes_total")).toBeGreaterThan(50);
  expect(of("uploads_total", { outcome: "stored" })).toBeGreaterThan(1);
  expect(of("uploads_waiting")).toBe(0);
  expect(of("action_seconds_count", { action: "click", outcome: "ok" })).toBe(1);
  expect(of("egress_refused_total")).toBeGreaterThanOrEqual(1);
  expect(of("egress_received_bytes_total")).toBeGreaterThan(100);
  expect(of("lanes_held", { by: "session" })).toBe(1);
  expect(of("link_up")).toBe(1);
  expect(of("slots")).toBe(4);
  expect(sum(worker, "flotilla_build_info", { mode: "worker" })).toBe(1);
  expect(sum(worker, "flotilla_metrics_reading_failed")).toBe(0);
  const hub = await scrape(fleet.url);
  expect(sum(hub, "flotilla_jobs_finished_total", { status: "completed" })).toBe(1);
  expect(sum(hub, "flotilla_sessions")).toBe(1);
});

test("alerts and dashboard ask for metrics and labels that the running program has (rules/metrics#alerts-and-dashboard)", async () => {
  const texts = await Promise.all(
    [fleet.url, `http://127.0.0.1:${port}`].map(async (base) =>
      (await fetch(`${base}/metrics`)).text(),
    ),
  );
  const text = texts.join("\n");
  const names = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const labels = new Map<string, Set<string>>();
  // A summary has none while nothing has been seen since the scrape before.
  for (const [, name = ""] of text.matchAll(/^# TYPE (\S+) summary$/gm))
    labels.set(name, new Set(["instance", "job", "quantile"]));
  for (const sample of readMetrics(text)) {
    const name = sample.name.replace(/_(bucket|sum|count)$/, "");
    const known = labels.get(name) ?? new Set(["instance", "job"]);
    labels.set(name, known);
    for (const label of Object.keys(sample.labels)) known.add(label);
  }
  const asked = (await queries()).flatMap(metricsOf);
  expect(asked.length).toBeGreaterThan(80);
  const unknown = asked.filter(({ name }) => !names.has(name)).map(({ name }) => name);
  expect(unknown).toEqual([]);
  for (const { name, labels: wanted } of asked)
    for (const label of wanted)
      if (labels.has(name))
        expect([name, label, labels.get(name)?.has(label)]).toEqual([name, label, true]);
});
