import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { quantile } from "#hub/program/cli/bench/stats.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { type CliOptions, type Ran, runCli } from "#test/support/rigs/cli.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/** `flotilla bench` against a served hub, whose worker has no browser and ends jobs as a test says. */

let hub: TestHub;
let worker: FakeWorker;
let ends: "completed" | "failed" | "never" = "completed";
let url_of_last_job = "";

beforeAll(async () => {
  hub = await startTestHub();
  worker = await hub.worker({ lanes: 2 });
  const body = { slug: "others", executor_type: "command", executor_config: { argv: ["true"] } };
  await hub.call("POST", "/api/v1/workloads", body);
  await hub.call("POST", "/api/v1/workloads/others/tasks/batch", { items: [{ pk: "a" }] });
  void endJobs();
});
afterAll(() => hub.close());

async function endJobs(): Promise<never> {
  for (;;) {
    const job = await worker.assigned.next();
    url_of_last_job = job.url;
    if (ends === "completed") worker.finish(job);
    if (ends === "failed") worker.finish(job, { status: "failed", error: "page crashed" });
  }
}

const run = (line: string[], options?: CliOptions): Promise<Ran> => runCli(hub.url, line, options);
const json = async (line: string[]) => JSON.parse((await run([...line, "--output", "json"])).out);

test("the median and the 95th percentile are values that were measured", () => {
  const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
  expect([quantile(hundred, 0.5), quantile(hundred, 0.95)]).toEqual([50, 95]);
  expect([quantile([7], 0.5), quantile([7], 0.95), quantile([], 0.5)]).toEqual([7, 7, null]);
});

describe("flotilla bench (rules/clients#bench)", () => {
  test("measures jobs, sessions and claims, and leaves nothing of them", async () => {
    ends = "completed";
    const jobs_before = (await json(["jobs"])).jobs.length;
    const line = ["bench", "--jobs", "4", "--sessions", "2", "--claims", "100"];
    const { code, out, err } = await run(line);
    expect({ code, failures: err.match(/flotilla: .*/g) }).toEqual({ code: 0, failures: null });
    expect(out.split("\n")[0]).toMatch(/^WHAT +TIMES +FAILED +MEDIAN +P95 +A SECOND$/);
    expect(out).toMatch(/^job, submitted to ended +4 +[\d.]+ ms +[\d.]+ ms +[\d.]+$/m);
    expect(out).toMatch(/^session, opened at a page +2 +[\d.]+ ms/m);
    expect(out).toMatch(/^tasks, 16 claimed and reported +\d+ +[\d.]+ ms +[\d.]+ ms +[\d.]+$/m);
    expect(url_of_last_job).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/demo\/$/);

    expect((await json(["jobs"])).jobs).toHaveLength(jobs_before);
    expect((await json(["sessions"])).sessions).toEqual([]);
    const { workloads } = await json(["workloads"]);
    expect(workloads.map(({ slug }: { slug: string }) => slug)).toEqual(["others"]);
    // A task of somebody else was not claimed.
    expect(await json(["queue", "others"])).toMatchObject({ pending: 1, claimed: 0 });
  });

  test("failures are counted, the first is told, and the exit code is 1", async () => {
    ends = "failed";
    const line = ["bench", "--jobs", "2", "--sessions", "0", "--claims", "0", "--url", TARGET];
    const { code, err } = await run(line);
    expect(code).toBe(1);
    expect(err).toContain("flotilla: job, submitted to ended: page crashed");
    const { measured } = await json([...line, "--keep"]);
    expect(measured[0]).toMatchObject({ count: 0, failed: 2, median_ms: null, p95_ms: null });
    const { jobs } = await json(["jobs", "--label", "made_by:flotilla-bench"]);
    expect(jobs).toHaveLength(2);
  });

  test("its time and its numbers are bounded", async () => {
    ends = "never";
    const stuck = ["bench", "--jobs", "1", "--sessions", "0", "--claims", "0", "--timeout", "1"];
    const { code, out, err } = await run([...stuck, "--url", TARGET]);
    expect(code).toBe(1);
    expect(out).toContain("job, submitted to ended");
    expect(err).toContain("the time ran out after 1 s");
    const { jobs } = await json(["jobs", "--status", "running"]);
    expect(jobs).toEqual([]);
    for (const flag of ["--jobs=1001", "--sessions=201", "--claims=100001", "--parallel=0"])
      expect((await run(["bench", flag])).err).toContain("must be a whole number from");
    expect((await run(["bench", "--url", "site.test"])).code).toBe(2);
  });

  test("a job whose submission Ctrl-C meets is removed, too", async () => {
    ends = "never";
    const made = async () =>
      (await json(["jobs", "--label", "made_by:flotilla-bench"])).jobs.length;
    const before = await made();
    const interrupt = new AbortController();
    let submitted = 0;
    const router = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (req) => {
        const { pathname, search } = new URL(req.url);
        const { method, headers } = req;
        const body = method === "GET" ? null : await req.arrayBuffer();
        const answer = await fetch(hub.url + pathname + search, { method, headers, body });
        if (method === "POST" && pathname === "/jobs") {
          submitted += 1;
          interrupt.abort();
        }
        return answer;
      },
    });
    try {
      const line = ["bench", "--jobs", "2", "--sessions", "0", "--claims", "0", "--url", TARGET];
      const { code } = await runCli(router.url.href, line, { interrupt });
      expect(code).toBe(130);
      expect(submitted).toBeGreaterThan(0);
      expect(await made()).toBe(before);
    } finally {
      await router.stop(true);
    }
  });

  test("a leftover workload of its name is not taken for its own", async () => {
    const body = {
      slug: "flotilla-bench",
      executor_type: "command",
      executor_config: { argv: ["true"] },
    };
    await hub.call("POST", "/api/v1/workloads", body);
    const { code, err } = await run(["bench", "--jobs", "0", "--sessions", "0"]);
    expect(code).toBe(2);
    expect(err).toContain("try: flotilla workloads delete flotilla-bench --yes --force");
  });

  test("without a lane there is nothing to measure, and without the secret no claims", async () => {
    const bare = await startTestHub({ env: { WORKER_SECRET: "a-secret-of-this-fleet" } });
    try {
      const without = await runCli(bare.url, ["bench", "--claims", "0"]);
      expect(without.code).toBe(2);
      expect(without.err).toContain("try: flotilla workers");
      const claims = ["bench", "--jobs", "0", "--sessions", "0", "--claims", "20"];
      const refused = await runCli(bare.url, claims);
      expect(refused).toMatchObject({ code: 0, out: "nothing was measured\n" });
      expect(refused.err).toContain("set WORKER_SECRET");
      const env = { WORKER_SECRET: "a-secret-of-this-fleet" };
      expect((await runCli(bare.url, claims, { env })).out).toContain("16 claimed and reported");
      expect((await bare.call("GET", "/api/v1/workloads")).body.workloads).toEqual([]);
    } finally {
      await bare.close();
    }
  });

  test("at a control plane only claims are measured", async () => {
    const control = await startTestHub({ mode: "control" });
    try {
      const { code, out, err } = await runCli(control.url, ["bench", "--claims", "20"]);
      expect(code).toBe(0);
      expect(err).toContain("no browser fleet here");
      expect(out).not.toContain("job");
      expect(out).toContain("16 claimed and reported");
    } finally {
      await control.close();
    }
  });
});
