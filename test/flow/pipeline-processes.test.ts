import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processesOf, until } from "#test/support/rigs/fleet-process.ts";
import { PROGRAM, type Program, runProgram, startProgram } from "#test/support/rigs/program.ts";
import { freePort } from "#test/support/servers/ports.ts";

// Processes start slowly on a busy machine.
setDefaultTimeout(180_000);

/** Control process and pull worker as on a command line. */

let dir: string;
let url: string;
let port: number;
let programs: Program[] = [];
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-pipeline-"));
  port = freePort();
  url = `http://127.0.0.1:${port}`;
});
afterEach(async () => {
  for (const program of programs) program.kill("SIGKILL");
  await Promise.all(programs.map((program) => program.exited));
  programs = [];
  for (const { pid } of alive()) process.kill(pid, "SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});
const alive = () => processesOf(dir).filter((p) => p.state !== "Z");

function start(args: string[], env: Record<string, string> = {}): Program {
  const program = startProgram([...PROGRAM, ...args], {
    cwd: dir,
    env: { FLOTILLA_TEST: dir, ...env },
  });
  programs.push(program);
  return program;
}
async function startControl(): Promise<Program> {
  const program = start([
    ...["--mode", "control", "--host", "127.0.0.1", "--port", String(port)],
    ...["--data-dir", join(dir, "control")],
  ]);
  await until("the control plane", 60_000, () => api("GET", "/health").catch(() => null));
  return program;
}
const startWorker = (env: Record<string, string> = {}, ...args: string[]): Program =>
  start(
    [
      ...["--mode", "worker", "--control-url", url, "--worker-id", "p1", "--slots", "2"],
      ...["--data-dir", join(dir, "worker"), ...args],
    ],
    env,
  );

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
async function api(method: string, path: string, body?: unknown): Promise<any> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

async function createPython(slug: string, source: string, more: Record<string, unknown> = {}) {
  const source_path = join(dir, `${slug}.py`);
  writeFileSync(source_path, source);
  await api("POST", "/workloads", {
    slug,
    executor_type: "python_module",
    executor_config: { source_path, module: slug },
    ...more,
  });
}
const submit = (slug: string, n: number) =>
  api("POST", `/workloads/${slug}/tasks/batch`, {
    items: Array.from({ length: n }, (_, i) => ({ pk: `t${i}` })),
  });
const drained = (slug: string) =>
  until(`the end of ${slug}`, 60_000, async () => {
    const counts = await api("GET", `/workloads/${slug}/queue`).catch(() => null);
    return counts?.total === 0;
  });
const claimed = (slug: string, n: number) =>
  until(`${n} claimed`, 60_000, async () => {
    return (await api("GET", `/workloads/${slug}/queue`)).claimed === n;
  });

test("a worker started with --control-url joins, drains a batch and ends with 0 on SIGTERM (rules/pipeline-executors#stop-of-a-worker)", async () => {
  await startControl();
  await createPython("plain", "def run(pk):\n  print('on', pk)\n  return pk", { batch_size: 10 });
  await submit("plain", 300);
  const worker = startWorker();
  await drained("plain");
  const { runs } = await api("GET", "/workloads/plain/runs?limit=500");
  expect(runs).toHaveLength(300);
  expect(runs[0]).toMatchObject({ success: true, worker_id: "p1", attempt: 1 });
  expect(runs.every((r: { pk: string; stdout: string }) => r.stdout === `on ${r.pk}\n`)).toBe(true);
  expect((await api("GET", "/workers")).workers).toMatchObject([{ id: "p1", slots: 2 }]);
  worker.kill("SIGTERM");
  expect(await worker.exited).toBe(0);
  await until("the control plane alone", 60_000, () => alive().length === 1);
}, 180_000);

test("a worker with neither --hub-url nor --control-url exits 2 and names both", async () => {
  const { code, stderr } = await runProgram([...PROGRAM, "worker"], { cwd: dir });
  expect(code).toBe(2);
  expect(stderr).toContain("HUB_URL (--hub-url) or SVC_CONTROL_URL (--control-url)");
});

test("SIGTERM in the middle gives the running tasks back with their attempts, and their processes end", async () => {
  await startControl();
  await createPython("slow", "import time\ndef run(pk): time.sleep(600)");
  await submit("slow", 3);
  const worker = startWorker({ SVC_DRAIN_TIMEOUT_S: "0.1" });
  await claimed("slow", 2);
  worker.kill("SIGTERM");
  expect(await worker.exited).toBe(0);
  const { rows } = await api("GET", "/workloads/slow/queue/peek");
  expect(rows.map((r: { state: string; attempt: number }) => [r.state, r.attempt])).toEqual(
    [0, 1, 2].map(() => ["pending", 0]),
  );
  expect((await api("GET", "/workloads/slow/runs")).runs).toEqual([]);
  await until("the control plane alone", 60_000, () => alive().length === 1);
}, 180_000);

test("kill -9 and a restart of the control process in the middle lose nothing and run nothing twice", async () => {
  const control = await startControl();
  // Those of the second half wait until the control process was killed.
  const go = join(dir, "go");
  const source = `
import os, time
def run(pk):
    time.sleep(0.01)
    while int(pk[1:]) >= 100 and not os.path.exists(${JSON.stringify(go)}): time.sleep(0.01)
    return pk
`;
  await createPython("steady", source, { lease_secs: 5 });
  await submit("steady", 200);
  startWorker();
  await until("some runs", 60_000, async () => {
    const { runs } = await api("GET", "/workloads/steady/runs?limit=500");
    return runs.length > 20;
  });
  control.kill("SIGKILL");
  await control.exited;
  writeFileSync(go, "");
  await startControl();
  await drained("steady");
  const { runs } = await api("GET", "/workloads/steady/runs?limit=500");
  // A claim whose answer died with the control process comes back with its lease.
  const ran = runs.filter((r: { outcome: string }) => r.outcome !== "lease_expired");
  const ends = ran.map((r: { pk: string; outcome: string }) => `${r.pk} ${r.outcome}`).sort();
  const expected = Array.from({ length: 200 }, (_, i) => `t${i} success`).sort();
  expect(ends).toEqual(expected);
  expect(runs.length - ran.length).toBeLessThanOrEqual(2);
}, 180_000);

test("what the tasks of a worker started ends with it when it is killed with -9, whatever session it moved to", async () => {
  await startControl();
  await api("POST", "/workloads", {
    slug: "left",
    executor_type: "command",
    lease_secs: 60,
    max_attempts: 1,
    executor_config: { argv: ["setsid", "sleep", "654"] },
  });
  await submit("left", 1);
  const worker = startWorker();
  const sleeping = () => alive().some((p) => p.command.includes("sleep 654"));
  await until("the task's process", 60_000, sleeping);
  worker.kill("SIGKILL");
  await worker.exited;
  await until("the end of the task's process", 60_000, () => !sleeping());
}, 180_000);

test("what a killed worker's guardian could not end either is ended before the successor takes tasks", async () => {
  await startControl();
  await api("POST", "/workloads", {
    slug: "left",
    executor_type: "command",
    lease_secs: 60,
    max_attempts: 1,
    executor_config: { argv: ["setsid", "sleep", "655"] },
  });
  await submit("left", 1);
  const worker = startWorker();
  const sleeping = () => alive().some((p) => p.command.includes("sleep 655"));
  await until("the task's process", 60_000, sleeping);
  // Stopped, so that it is no longer there to start another one.
  worker.kill("SIGSTOP");
  for (const { pid, command } of alive())
    if (command.includes("flotilla-guardian")) process.kill(pid, "SIGKILL");
  worker.kill("SIGKILL");
  await worker.exited;
  expect(sleeping()).toBe(true);
  const next = startWorker();
  await next.says("joined the control plane");
  expect(sleeping()).toBe(false);
}, 180_000);

test("a second worker on the same data directory is refused", async () => {
  await startControl();
  await startWorker().says("joined the control plane");
  const second = startWorker({}, "--worker-id", "p2");
  expect(await second.exited).toBe(1);
  expect(second.stderr).toContain("is in use by another worker");
}, 180_000);

test("dev mode runs tasks beside the hub, also where its browser worker cannot start", async () => {
  const dev = start(
    [
      ...["dev", "--port", String(port), "--headless-lanes", "--slots", "3"],
      ...["--data-dir", join(dir, "dev")],
    ],
    { SVC_CHROMIUM: "/no/such/browser" },
  );
  await dev.says("child cannot run and is not restarted");
  await createPython("plain", "def run(pk): return pk");
  await submit("plain", 5);
  await drained("plain");
  expect((await api("GET", "/workers")).workers).toMatchObject([{ slots: 3 }]);
  dev.kill("SIGTERM");
  expect(await dev.exited).toBe(0);
  await until("the end of what it started", 60_000, () => alive().length === 0);
}, 180_000);

test("after kill -9 of a worker the run that its lease's end records has the task's last words", async () => {
  await startControl();
  const source = `
import time
def run(pk, extra, ctx):
    ctx.progress(0.25, "a quarter")
    ctx.log("last words", "warn")
    time.sleep(600)
`;
  await createPython("dies", source, { lease_secs: 8, max_attempts: 1 });
  await submit("dies", 1);
  const worker = startWorker();
  await until("its words", 60_000, async () => {
    const { runs } = await api("GET", "/workers/p1/runs").catch(() => ({ runs: [] }));
    return runs[0]?.progress?.value === 0.25;
  });
  worker.kill("SIGKILL");
  const run = await until("the run", 60_000, async () => {
    return (await api("GET", "/workloads/dies/runs")).runs[0];
  });
  expect(run).toMatchObject({
    outcome: "lease_expired",
    progress: { value: 0.25, text: "a quarter" },
    log: [{ level: "warn", text: "last words" }],
  });
}, 180_000);
