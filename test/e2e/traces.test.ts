import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";
import {
  type CollectedSpan,
  type Collector,
  startCollector,
} from "#test/support/servers/collector.ts";

/** What a collector receives of a job, a session and a task, and how it hangs together (rules/spans). */

setDefaultTimeout(180_000);

const PARENT = "b7ad6b7169203331";
let fleet: FleetProcesses;
let site: ReturnType<typeof Bun.serve>;
let collector: Collector;
/** Lines of the hub's log. */
const logged: string[] = [];
beforeAll(async () => {
  collector = startCollector();
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response("<h1>Hello</h1>", { headers: { "content-type": "text/html" } }),
  });
  fleet = await startFleet({
    lanes: 1,
    headless: true,
    pipeline: true,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    onHubLine: (line) => void (line && logged.push(line)),
  });
  await fleet.lanesWarm();
}, 180_000);
afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
  await collector?.stop();
});

/** A call within a trace of the test's own. */
const post = async (trace: string, path: string, body: unknown) => {
  const answer = await fetch(fleet.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", traceparent: `00-${trace}-${PARENT}-01` },
    body: JSON.stringify(body),
  });
  const said = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${said}`);
  return JSON.parse(said) as Record<string, string>;
};
const named = (trace: string, name: string) =>
  collector.spans.next((span) => span.traceId === trace && span.name === name);
/** Within its parent in time too, but for the two clocks' readings. */
const expectWithin = (span: CollectedSpan, parent: CollectedSpan, slack_ms = 50) => {
  expect([span.name, span.parentSpanId]).toEqual([span.name, parent.spanId]);
  const slack = BigInt(slack_ms) * 1_000_000n;
  expect(BigInt(span.startTimeUnixNano) + slack >= BigInt(parent.startTimeUnixNano)).toBe(true);
  expect(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano)).toBe(true);
};

test("a job is one trace from its caller through hub and worker to the stages on its lane (rules/spans#a-job)", async () => {
  const trace = "0af7651916cd43dd8448eb211c80319c";
  const { job_id = "" } = await post(trace, "/jobs", {
    url: site.url.href,
    options: { idle_seconds: 1 },
  });
  await fleet.finished(job_id);
  const call = await named(trace, "POST /jobs");
  expect(call).toMatchObject({ service: "flotilla-hub", parentSpanId: PARENT, kind: 2 });
  expect(call.attributes).toMatchObject({
    "http.route": "/jobs",
    "http.response.status_code": 200,
  });
  const job = await named(trace, "job");
  expectWithin(job, call);
  expect(job).toMatchObject({
    service: "flotilla-hub",
    failure: null,
    attributes: { "flotilla.job.id": job_id, "flotilla.job.status": "completed" },
  });
  expectWithin(await named(trace, "job queued"), job);
  const lane = await named(trace, "job on lane");
  expectWithin(lane, job);
  expect(lane).toMatchObject({ service: "flotilla-worker", failure: null });
  for (const stage of ["navigate", "upload"])
    expectWithin(await named(trace, `job: ${stage}`), lane);
});

test("an action of a session goes through to its worker (rules/spans#a-session)", async () => {
  const trace = "1af7651916cd43dd8448eb211c80319c";
  await fleet.lanesWarm();
  const { session_id } = await post(trace, "/sessions", { url: site.url.href });
  await post(trace, `/sessions/${session_id}/click`, { selector: "h1" });
  const call = await collector.spans.next(
    ({ traceId, name }) => traceId === trace && name.endsWith("/click"),
  );
  expect(call.parentSpanId).toBe(PARENT);
  const action = await named(trace, "action click");
  expectWithin(action, call);
  expect(action).toMatchObject({ service: "flotilla-worker", failure: null });
});

test("a task is one trace from its submit to what it does itself (rules/spans#a-task)", async () => {
  const trace = "2af7651916cd43dd8448eb211c80319c";
  const argv = ["sh", "-c", `printf '"%s"' "$TRACEPARENT"`];
  await post(trace, "/api/v1/workloads", {
    slug: "traced",
    executor_type: "command",
    executor_config: { argv },
  });
  await post(trace, "/api/v1/workloads/traced/tasks", { pk: "a" });
  const submit = await named(trace, "POST /api/v1/workloads/{slug}/tasks");
  expect(submit.parentSpanId).toBe(PARENT);
  const task = await named(trace, "task");
  expectWithin(task, submit);
  expect(task).toMatchObject({
    service: "flotilla-worker",
    kind: 5,
    attributes: { "flotilla.workload": "traced", "flotilla.task.outcome": "done" },
  });
  const queued = await named(trace, "task queued");
  expectWithin(queued, submit);
  expect(queued.service).toBe("flotilla-hub");
  // A span ends before its report has arrived.
  const run = await until("the run", 60_000, async () => {
    const runs = await fetch(`${fleet.url}/api/v1/workloads/traced/runs`);
    return ((await runs.json()) as { runs: { run_id: number }[] }).runs[0] ?? null;
  });
  const read = await fetch(`${fleet.url}/api/v1/runs/${run.run_id}`);
  const { output_json } = (await read.json()) as { output_json: string };
  expect(output_json).toBe(`00-${trace}-${task.spanId}-01`);
});

test("what a task emits is within the attempt that emits it (rules/spans#a-task)", async () => {
  const trace = "3af7651916cd43dd8448eb211c80319c";
  const emit = JSON.stringify({ emit: [{ workload: "emitted", pk: "b" }] });
  for (const [slug, argv] of Object.entries({ emitted: ["true"], emitter: ["echo", emit] }))
    await post(trace, "/api/v1/workloads", {
      slug,
      executor_type: "command",
      executor_config: { argv },
    });
  await post(trace, "/api/v1/workloads/emitter/tasks", { pk: "a" });
  const of = (name: string, workload: string) =>
    collector.spans.next(
      (span) =>
        span.traceId === trace &&
        span.name === name &&
        span.attributes["flotilla.workload"] === workload,
    );
  const attempt = await of("task", "emitter");
  expectWithin(await of("task queued", "emitted"), attempt);
  expectWithin(await of("task", "emitted"), attempt);
});

test("what is logged in the course of a call has its trace (rules/spans#log-lines)", async () => {
  const trace = "4af7651916cd43dd8448eb211c80319c";
  await post(trace, "/api/v1/workloads", {
    slug: "logged",
    executor_type: "command",
    executor_config: { argv: ["true"] },
  });
  const call = await named(trace, "POST /api/v1/workloads");
  const line = await until("the line", 60_000, () =>
    logged.find(
      (text) => text.includes("workload created") && text.includes(`"workload":"logged"`),
    ),
  );
  expect(JSON.parse(line)).toMatchObject({ trace_id: trace, span_id: call.spanId });
});

test("calls of workers, probes and pages make no spans (rules/spans#calls)", () => {
  const names = new Set(collector.spans.all.map(({ name }) => name));
  for (const name of names) expect(name).not.toMatch(/\/workers\/|\/health|\/ready|\/metrics/);
});
