import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { SearchHit, SearchResult } from "#shared/protocol/schema/search.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ env: { SVC_SUBMIT_WAIT_S: "0.01" } });
});
afterAll(() => hub.close());

const prefer = { headers: { prefer: "respond-async" } };
const newJob = async (url: string, labels = {}): Promise<string> => {
  const { body } = await hub.call("POST", "/jobs", { url, labels }, prefer);
  return (body as { job_id: string }).job_id;
};
const search = async (path: string, q: string, limit = 20): Promise<SearchHit[]> => {
  const { status, body } = await hub.call(
    "GET",
    `${path}?q=${encodeURIComponent(q)}&limit=${limit}`,
  );
  expect(status).toBe(200);
  const result = body as SearchResult;
  expect(result.incomplete).toEqual([]);
  return result.hits;
};
const fleet = (q: string, limit?: number) => search("/search", q, limit);
const pipeline = (q: string, limit?: number) => search("/api/v1/search", q, limit);
const named = (hits: SearchHit[]) => hits.map(({ kind, id }) => `${kind} ${id}`);

/** As a worker would end it. */
async function endJob(job_id: string, end: { title: string; error?: string }): Promise<void> {
  const { jobs } = hub.ctx.db;
  await jobs.claim({
    job_id,
    worker_id: "w",
    lane_idx: 0,
    session_id: "s",
    novnc_url: "/",
    lease_token: 7,
    hub_id: "h",
    now: Date.now(),
  });
  const error = end.error ?? null;
  const status = error === null ? "completed" : "failed";
  await jobs.finish(job_id, 7, { status, error, now: Date.now(), title: end.title });
}

describe("GET /search (rules/search#what-is-searched)", () => {
  test("a job is found by its id, its beginning, and words of title, URL, error and labels", async () => {
    const id = await newJob("https://billing.example.net/q3", { customer: "Umbrella" });
    await endJob(id, { title: "Quarterly statement", error: "zipcode rejected" });
    for (const q of [id, id.slice(0, 6), "statement quarter", "billing q3", "zipcode", "umbrella"])
      expect(named(await fleet(q))).toContain(`job ${id}`);
    const [hit] = await fleet("quarterly statement");
    expect(hit).toMatchObject({
      kind: "job",
      title: "Quarterly statement",
      detail: "zipcode rejected",
      state: "failed",
      href: `/jobs/${id}`,
    });
    expect((await hub.call("GET", hit?.href ?? "")).status).toBe(200);
    expect(await fleet("nobodywrotethis")).toEqual([]);
  });

  test("sessions are found while they are open and after they have ended", async () => {
    const row = { kind: "sdk" as const, job_id: null, worker_id: "w", lane_idx: 0 };
    const more = { headless: false, created_at: Date.now(), url: "https://crm.example/okapi" };
    for (const session_id of ["okapiopen1", "okapiended"])
      await hub.ctx.db.sessions.open({
        ...row,
        ...more,
        session_id,
        opened_by: "ines",
        title: "Customers",
      });
    const end = { ended_at: Date.now(), end_reason: "deleted", url: more.url, title: "Customers" };
    await hub.ctx.db.sessions.end("okapiended", { ...end, actions: 2 });
    const hits = await fleet("customers okapi ines");
    expect(hits.map(({ id, state }) => `${id} ${state}`).sort()).toEqual([
      "okapiended ended",
      "okapiopen1 open",
    ]);
  });

  test("the best come first and no more than the limit (rules/search#hits)", async () => {
    const ids: string[] = [];
    for (const title of ["about llama", "llama", "llamas in spring"]) {
      const id = await newJob("https://animals.example/");
      await endJob(id, { title });
      ids.push(id);
    }
    const [about, exact, begins] = ids;
    expect((await fleet("llama")).map(({ id }) => id)).toEqual([exact, begins, about] as string[]);
    expect(await fleet("llama", 2)).toHaveLength(2);
  });

  test("hosts, presets, skills, watches and workers are found by their names", async () => {
    await hub.call("PUT", "/hosts/wiki.zebra.example", { notes: "the striped one" });
    await hub.call("PUT", "/presets/zebra-long", { name: "Zebra pages", options: {} });
    const code = "await page.click('a');";
    await hub.call("PUT", "/skills/zebra-consent", { host_pattern: "*", code });
    await hub.call("POST", "/watches", {
      url: "https://zebra.example/",
      every_s: 600,
      paused: true,
    });
    await hub.worker({ worker_id: "w-zebra" });
    const kinds = (await fleet("zebra")).map(({ kind }) => kind);
    expect([...new Set(kinds)].sort()).toEqual(["host", "preset", "skill", "watch", "worker"]);
    expect(named(await fleet("striped"))).toEqual(["host wiki.zebra.example"]);
    expect(named(await fleet("zebra-long"))[0]).toBe("preset zebra-long");
  });

  test.each([["q="], ["q=%20"], [`q=${"x".repeat(201)}`], ["q=a&limit=51"]])(
    "422 for ?%s",
    async (query) => {
      expect((await hub.call("GET", `/search?${query}`)).status).toBe(422);
    },
  );

  test.each(['"', "%", "_", "\\", "a'b", "* OR *", "\u0000x", "(((", "😀", "💥".repeat(90)])(
    "%s is a text like any other",
    async (q) => {
      await fleet(q);
      await pipeline(q);
    },
  );
});

describe("GET /api/v1/search (rules/search#what-is-searched)", () => {
  const api = (method: string, path: string, body?: unknown) =>
    hub.call(method, `/api/v1${path}`, body);
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  beforeAll(async () => {
    for (const slug of ["invoices", "receipts"])
      await api("POST", "/workloads", { slug, name: `All ${slug}`, ...command });
    const items = [
      { pk: "acme-1", labels: { region: "eu-west" } },
      { pk: "acme-2" },
      { pk: "100%_x" },
    ];
    await api("POST", "/workloads/invoices/tasks/batch", { items });
    await api("POST", "/workloads/receipts/tasks", { pk: "acme-9" });
    const { workload_id } = await hub.ctx.pipeline.workloads.require("invoices");
    const { tasks } = await hub.ctx.pipeline.turns.call({
      op: "claim",
      worker: "w",
      worker_id: "w1",
      workload_id,
      max: 3,
      lease_ms: 60_000,
      timeout_ms: null,
      max_in_flight: null,
      rate_limit: null,
    });
    const printed = { duration_ms: 3, stdout: "", stderr: "", truncated: false };
    const [first, second] = ["acme-1", "acme-2"].map((pk) => tasks.find((task) => task.pk === pk));
    await hub.ctx.pipeline.turns.call({
      op: "complete",
      worker: "w",
      items: [{ task_id: first?.task_id ?? 0, epoch: first?.epoch ?? 0, ...printed, output: null }],
    });
    await hub.ctx.pipeline.turns.call({
      op: "fail",
      worker: "w",
      workload_id,
      backoff: { kind: "fixed", base_s: 1 } as never,
      items: [
        {
          task_id: second?.task_id ?? 0,
          epoch: second?.epoch ?? 0,
          ...printed,
          outcome: "error" as const,
          retry_after_ms: null,
          no_retry: true,
          error: `Traceback\n${"  in step\n".repeat(500)}ValueError: no such giraffe`,
        },
      ],
    });
  });

  test("workloads are found by slug, name and description", async () => {
    expect(named(await pipeline("receipts"))[0]).toBe("workload receipts");
    expect(named(await pipeline("all inv"))).toEqual(["workload invoices"]);
  });

  test("tasks and runs are found by the beginning of their key", async () => {
    const hits = await pipeline("acme-");
    expect(hits.map(({ kind, title, workload }) => `${kind} ${title} ${workload}`).sort()).toEqual([
      "run acme-1 invoices",
      "run acme-2 invoices",
      "task acme-2 invoices",
      "task acme-9 receipts",
    ]);
    for (const { href } of hits) expect((await hub.call("GET", href)).status).toBe(200);
    expect(named(await pipeline("100%_"))).toEqual(["task 100%_x"]);
    expect(named(await pipeline("100_%"))).toEqual([]);
  });

  test("runs are found by number, by label and by words of their error", async () => {
    const [run] = await pipeline("giraffe no such");
    expect(run).toMatchObject({ kind: "run", title: "acme-2", state: "error" });
    expect(run?.detail).toBe("invoices: ValueError: no such giraffe");
    expect(named(await pipeline(run?.id ?? ""))).toContain(`run ${run?.id}`);
    const labelled = await pipeline("region:eu-west");
    expect(labelled.map(({ kind, title }) => `${kind} ${title}`)).toEqual(["run acme-1"]);
  });
});
