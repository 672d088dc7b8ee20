import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processesOf, until } from "#test/support/rigs/fleet-process.ts";
import { type Program, startProgram } from "#test/support/rigs/program.ts";
import { freePort, lanePorts } from "#test/support/servers/ports.ts";
import { ensureBinary } from "../../scripts/build.ts";

/** The compiled program as hub and as one worker of both services, with real Chromium. */

let dir: string;
let programs: Program[] = [];
let site: ReturnType<typeof Bun.serve>;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-both-"));
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) =>
      url.endsWith(".svg")
        ? new Response("<svg xmlns='http://www.w3.org/2000/svg'/>", {
            headers: { "content-type": "image/svg+xml" },
          })
        : new Response("<title>Both</title><img src=/a.svg>", {
            headers: { "content-type": "text/html" },
          }),
  });
});
afterEach(async () => {
  for (const program of programs) program.kill("SIGKILL");
  await Promise.all(programs.map((program) => program.exited));
  programs = [];
  for (const { pid } of alive()) process.kill(pid, "SIGKILL");
  await until("the end of every process", 60_000, () => alive().length === 0);
  site.stop(true);
  rmSync(dir, { recursive: true, force: true });
});
const alive = () => processesOf(dir).filter((p) => p.state !== "Z");

test("the two services meet: fleet_fetch tasks are browser jobs of the worker that pulls them, beside TypeScript tasks", async () => {
  const flotilla = await ensureBinary();
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = (args: string[], env = {}) => {
    const program = startProgram([flotilla, ...args], {
      cwd: dir,
      env: { FLOTILLA_TEST: dir, ...env },
    });
    programs.push(program);
    return program;
  };
  const api = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(url + path, {
      method,
      headers: { "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
    return (await response.json()) as any;
  };
  start(["hub", "--host", "127.0.0.1", "--port", String(port), "--data-dir", join(dir, "hub")]);
  await until("the hub", 60_000, () => api("GET", "/api/v1/health").catch(() => null));
  const worker = start(
    [
      ...["worker", "--hub-url", url.replace("http", "ws"), "--control-url", url],
      ...["--lanes", "1", "--headless-lanes", "--data-dir", join(dir, "worker")],
    ],
    lanePorts(),
  );
  const source_path = join(dir, "shout.ts");
  writeFileSync(source_path, "export default ({ pk }: { pk: string }) => pk.toUpperCase();");
  await api("POST", "/api/v1/workloads", {
    slug: "shout",
    executor_type: "bun_module",
    executor_config: { source_path },
  });
  await api("POST", "/api/v1/workloads", {
    slug: "pages",
    executor_type: "fleet_fetch",
    batch_size: 2,
    executor_config: { options: { idle_seconds: 0.2 } },
  });
  await api("POST", "/api/v1/workloads/shout/tasks", { pk: "hello" });
  const pages = [`${site.url}1`, `${site.url}2`];
  await api("POST", "/api/v1/workloads/pages/tasks/batch", { items: pages.map((pk) => ({ pk })) });
  const { runs } = await until("three runs", 150_000, async () => {
    const list = await api("GET", "/api/v1/runs?limit=10");
    return list.runs.length === 3 && list;
  });
  const ofPages = runs.filter((r: { workload: string }) => r.workload === "pages");
  expect(ofPages.map((r: { pk: string }) => r.pk).sort()).toEqual(pages);
  for (const run of ofPages)
    expect(run).toMatchObject({
      success: true,
      output_json: {
        status: "completed",
        http_status: 200,
        title: "Both",
        assets: expect.arrayContaining([
          expect.objectContaining({ source_url: `${site.url}a.svg`, size: 41 }),
        ]),
      },
    });
  expect(runs.find((r: { workload: string }) => r.workload === "shout")).toMatchObject({
    success: true,
    output_json: "HELLO",
  });
  const { workers } = await api("GET", "/workers");
  expect((await api("GET", "/api/v1/workers")).workers[0].id).toBe(workers[0].worker_id);
  worker.kill("SIGTERM");
  expect(await worker.exited).toBe(0);
  expect(alive()).toHaveLength(1);
}, 240_000);
