import { afterAll, beforeAll, expect, test } from "bun:test";
import { Job } from "#shared/protocol/schema/job.ts";
import { issueAt, type Scenario, scenarios } from "#test/support/clients/api.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ env: { SVC_SUBMIT_WAIT_S: "0.01" } });
});
afterAll(() => hub.close());

const options = (o: Record<string, unknown>) => ({ url: TARGET, options: o });
const rule = (name: string, o: Record<string, unknown>, field: string): Scenario => ({
  name,
  send: options(o),
  status: 422,
  body: issueAt("body", "options", field),
});
const accepted = (name: string, o: Record<string, unknown>): Scenario => ({
  name,
  send: options(o),
  status: 503,
  body: { detail: "fleet at capacity" },
});

scenarios("POST /jobs (rules/jobs#submit-a-job)", () => hub, [
  {
    name: "400 when the body is not JSON",
    send: "{nope",
    status: 400,
    body: { detail: "body is not valid JSON" },
  },
  {
    name: "400 when the body is empty",
    send: "",
    status: 400,
    body: { detail: "body is not valid JSON" },
  },
  {
    name: "400 when url is missing (rules/http#missing-and-wrong-fields)",
    send: {},
    status: 400,
    body: { detail: "body.url is required" },
  },
  {
    name: "415 when the content type is not JSON",
    send: "{}",
    headers: { "content-type": "text/plain" },
    status: 415,
    body: { detail: "content-type must be application/json" },
  },
  {
    name: "415 for a form, which a web page could send without asking",
    send: "url=http://x/",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    status: 415,
    body: { detail: "content-type must be application/json" },
  },
  {
    name: "413 when the body is larger than 2 MiB",
    send: JSON.stringify({ url: "x".repeat(10_000_000) }),
    status: 413,
  },
  { name: "422 when the body is not an object", send: [], status: 422, body: issueAt("body") },
  {
    name: "422 for an unknown key",
    send: { url: TARGET, extra: 1 },
    status: 422,
    body: issueAt("body", "extra"),
  },
  rule("422 for an unknown option", { nope: 1 }, "nope"),
  {
    name: "422 when url is no string",
    send: { url: 5 },
    status: 422,
    body: issueAt("body", "url"),
  },
  ...[
    "file:///etc/passwd",
    "javascript:alert(1)",
    "ftp://x/",
    "data:text/html,x",
    "chrome://version",
    "about:blank",
  ].map(
    (url): Scenario => ({
      name: `422 for ${url}`,
      send: { url },
      status: 422,
      body: issueAt("body", "url"),
    }),
  ),
  ...[
    "",
    "example.com",
    "//example.com",
    "http://",
    "http:///",
    "http://a b/",
    "http://x/\u0000",
    "http://x/\n",
  ].map(
    (url): Scenario => ({
      name: `422 for the URL ${JSON.stringify(url)}`,
      send: { url },
      status: 422,
      body: issueAt("body", "url"),
    }),
  ),
  {
    name: "422 for a URL of 100 kB",
    send: { url: `http://x/${"a".repeat(100_000)}` },
    status: 422,
    body: issueAt("body", "url"),
  },
  {
    name: "503 with the job_id when no worker is free",
    send: { url: TARGET },
    status: 503,
    body: { detail: "fleet at capacity", job_id: expect.any(String) },
  },
  rule(
    "use_profile with attach is 422 (rules/job-options#one-source-of-the-browser)",
    { use_profile: "a", attach: "9222" },
    "attach",
  ),
  rule(
    "attach with attach_to_job is 422 (rules/job-options#one-source-of-the-browser)",
    { attach: "9222", attach_to_job: "j" },
    "attach_to_job",
  ),
  rule(
    "codegen-loop without goal is 422 (rules/job-options#what-a-mode-requires)",
    { mode: "codegen-loop" },
    "goal",
  ),
  rule(
    "rerun without rerun_from or code is 422 (rules/job-options#what-a-mode-requires)",
    { mode: "rerun" },
    "rerun_from",
  ),
  rule(
    "max_codegen_attempts 0 is 422 (rules/job-options#the-options)",
    { max_codegen_attempts: 0 },
    "max_codegen_attempts",
  ),
  rule(
    "max_codegen_attempts 11 is 422 (rules/job-options#the-options)",
    { max_codegen_attempts: 11 },
    "max_codegen_attempts",
  ),
  rule(
    "attempt_timeout_s 29 is 422 (rules/job-options#the-options)",
    { attempt_timeout_s: 29 },
    "attempt_timeout_s",
  ),
  rule(
    "attempt_timeout_s 864001 is 422 (rules/job-options#the-options)",
    { attempt_timeout_s: 864_001 },
    "attempt_timeout_s",
  ),
  rule(
    "code over 200 KB is 422 (rules/job-options#the-options)",
    { mode: "rerun", code: "é".repeat(102_401) },
    "code",
  ),
  rule(
    "negative min_asset_size_bytes is 422 (rules/job-options#the-options)",
    { min_asset_size_bytes: -1 },
    "min_asset_size_bytes",
  ),
  rule(
    "fetch_recipe from a client is 422 (rules/job-options#the-options)",
    { fetch_recipe: {} },
    "fetch_recipe",
  ),
  rule("an unknown mode is 422 (rules/job-options#the-options)", { mode: "ai" }, "mode"),
  rule(
    "AI investigation is no fetch_strategy (rules/job-options#investigations-by-a-model)",
    { fetch_strategy: "ai" },
    "fetch_strategy",
  ),
  rule("a wrong type is 422", { scroll: "yes" }, "scroll"),
  rule("a huge number is 422", { wait_seconds: 1e308 }, "wait_seconds"),
  rule(
    "rerun_from of no job is 422 (rules/job-options#named-things-must-be-there)",
    { mode: "rerun", rerun_from: "nojob" },
    "rerun_from",
  ),
  rule(
    "a script cannot drive an attached browser (rules/job-options#what-a-mode-requires)",
    { mode: "rerun", code: "1", attach: "9222" },
    "attach",
  ),
  accepted("attach of a port is accepted (rules/jobs#attach-to-a-running-browser)", {
    attach: "9222",
  }),
  rule("not yet: clone_chrome_profile", { clone_chrome_profile: "p" }, "clone_chrome_profile"),
  rule(
    "attach_to_job of no job is 422 (rules/job-options#named-things-must-be-there)",
    { attach_to_job: "j" },
    "attach_to_job",
  ),
  rule("not yet: use_profile", { use_profile: "p" }, "use_profile"),
  rule("not yet: cookies_from", { cookies_from: "h" }, "cookies_from"),
  rule(
    "codegen_engine of no engine is 422 (rules/job-options#the-engine-of-a-job)",
    { codegen_engine: "e" },
    "codegen_engine",
  ),
  accepted("keep_session is accepted (rules/jobs#keep-the-session)", { keep_session: true }),
  accepted("every option with its default is accepted", {}),
  accepted("download_video is accepted", { download_video: true, capture_assets: false }),
  {
    name: "405 names the methods for PUT",
    method: "PUT",
    status: 405,
    after: async (_, a) => expect(a.headers.get("allow")).toBe("GET, HEAD, POST"),
  },
]);

test("defaults are filled in, and download_video forces capture_assets (rules/job-options#videos-need-assets)", async () => {
  const { job_id } = (
    await hub.call("POST", "/jobs", options({ download_video: true, capture_assets: false }))
  ).body;
  const job = (await hub.call("GET", `/jobs/${job_id}`)).body;
  expect(job.options).toMatchObject({
    mode: "fetch",
    goal: null,
    max_codegen_attempts: 3,
    attempt_timeout_s: 180,
    rerun_from: null,
    code: null,
    wait_seconds: 20,
    settle_seconds: 0,
    idle_seconds: 3,
    max_wait_seconds: 60,
    post_click_seconds: 5,
    scroll: false,
    scroll_step: 50,
    scroll_max: 3000,
    scroll_early_after: 5,
    download_video: true,
    capture_assets: true,
    min_asset_size_bytes: 0,
    headless: false,
    referer: null,
    cookies_from: null,
    use_profile: null,
    attach: null,
    clone_chrome_profile: null,
    attach_to_job: null,
    codegen_engine: null,
    fetch_strategy: "recipe",
    fetch_recipe: null,
    keep_session: false,
  });
});

scenarios("GET /jobs/none (rules/jobs#read-a-job)", () => hub, [
  { name: "404 with detail job not found", status: 404, body: { detail: "job not found" } },
  { name: "404 for an id with NUL", path: "/jobs/%00", status: 404 },
  { name: "404 for an id with dots", path: "/jobs/%2e%2e%2fx", status: 404 },
]);

for (const file of ["result", "assets.json", "assets/x", "page.html", "log.txt", "links.json"])
  scenarios(`GET /jobs/none/${file} (rules/documents#result)`, () => hub, [
    { name: "404 with detail job not found", status: 404, body: { detail: "job not found" } },
  ]);
for (const call of ["POST /jobs/none/cancel", "DELETE /jobs/none"])
  scenarios(`${call} (rules/jobs#read-a-job)`, () => hub, [
    { name: "404 with detail job not found", status: 404, body: { detail: "job not found" } },
  ]);

test("GET /jobs/{id} answers the job record (rules/jobs#job-record)", async () => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const { status, body } = await hub.call("GET", `/jobs/${job_id}`);
  expect(status).toBe(200);
  expect(Job.strict().parse(body)).toMatchObject({ job_id, status: "queued", url: TARGET });
});

scenarios("GET /jobs (rules/jobs#list-jobs)", () => hub, [
  { name: "422 for limit 0", path: "/jobs?limit=0", status: 422, body: issueAt("query", "limit") },
  {
    name: "422 for limit 201",
    path: "/jobs?limit=201",
    status: 422,
    body: issueAt("query", "limit"),
  },
  {
    name: "422 for an unknown status",
    path: "/jobs?status=x",
    status: 422,
    body: issueAt("query", "status"),
  },
  {
    name: "422 for a bad cursor",
    path: "/jobs?cursor=!!",
    status: 422,
    body: issueAt("query", "cursor"),
  },
  {
    name: "422 for a bad time",
    path: "/jobs?since=yesterday",
    status: 422,
    body: issueAt("query", "since"),
  },
  { name: "an unknown query parameter is ignored", path: "/jobs?nope=1", status: 200 },
]);

test("GET /jobs pages through everything newest first, without gap or double (rules/jobs#list-jobs)", async () => {
  const fresh = await startTestHub({ env: { SVC_SUBMIT_WAIT_S: "0" } });
  try {
    const ids: string[] = [];
    for (let i = 0; i < 7; i += 1) {
      const url = `http://host${i % 2}.test/${i}`;
      ids.push((await fresh.call("POST", "/jobs", { url })).body.job_id);
    }
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const { body } = await fresh.call("GET", `/jobs?limit=3${cursor && `&cursor=${cursor}`}`);
      seen.push(...body.jobs.map((j: { job_id: string }) => j.job_id));
      if (body.next_cursor === null) break;
      cursor = body.next_cursor;
    }
    expect([...seen].sort()).toEqual([...ids].sort());
    const count = async (query: string) =>
      (await fresh.call("GET", `/jobs?${query}`)).body.jobs.length;
    expect(await count("host=host1.test")).toBe(3);
    expect(await count("q=test/6")).toBe(1);
    expect(await count("status=running")).toBe(0);
    expect(await count("mode=fetch")).toBe(7);
    expect(await count("worker_id=w1")).toBe(0);
    expect(await count("until=2000-01-01T00:00:00Z")).toBe(0);
    const positions = (await fresh.call("GET", "/jobs")).body.jobs.map(
      (j: { queue_position: number }) => j.queue_position,
    );
    expect(positions.sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  } finally {
    await fresh.close();
  }
});

test("Idempotency-Key: the same key and body is one job and one answer, also at the same time", async () => {
  const post = (key: string, url = TARGET) =>
    hub.call("POST", "/jobs", { url }, { headers: { "idempotency-key": key } });
  const answers = await Promise.all([post("same"), post("same"), post("same")]);
  expect(new Set(answers.map((a) => a.body.job_id)).size).toBe(1);
  expect(answers.map((a) => a.status)).toEqual([503, 503, 503]);
  const again = await post("same");
  expect(again).toMatchObject({ status: 503, body: answers[0]?.body });
  expect(again.headers.get("retry-after")).toBe("10");
  expect((await hub.call("GET", `/jobs/${again.body.job_id}`)).body.idempotency_key).toBe("same");
  const other = await post("same", "http://other.test/");
  expect(other.status).toBe(409);
  expect((await post("bad key")).body).toMatchObject(issueAt("header", "Idempotency-Key"));
});

test("Idempotency-Key: a call that was refused stores nothing, so the key is free again", async () => {
  const headers = { "idempotency-key": "after-422" };
  expect((await hub.call("POST", "/jobs", { url: "ftp://x/" }, { headers })).status).toBe(422);
  expect((await hub.call("POST", "/jobs", { url: TARGET }, { headers })).status).toBe(503);
});

test("Idempotency-Key: who retries after 503 is told of the job that got a lane since", async () => {
  const own = await startTestHub();
  try {
    const headers = { "idempotency-key": "retry" };
    const first = await own.call("POST", "/jobs", { url: TARGET }, { headers });
    const worker = await own.worker();
    await worker.assigned.next();
    await own.signals.next("job assigned", { job_id: first.body.job_id });
    const retry = await own.call("POST", "/jobs", { url: TARGET }, { headers });
    expect(retry).toMatchObject({
      status: 200,
      body: { job_id: first.body.job_id, status: "running" },
    });
    expect(worker.assigned.all.length).toBe(1);
  } finally {
    await own.close();
  }
});

test("Idempotency-Key: a second DELETE with the key answers 204 again", async () => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const headers = { "idempotency-key": "delete-once" };
  for (let i = 0; i < 2; i += 1)
    expect((await hub.call("DELETE", `/jobs/${job_id}`, undefined, { headers })).status).toBe(204);
  expect((await hub.call("DELETE", `/jobs/${job_id}`)).status).toBe(404);
});

scenarios("GET /{target_url} (rules/jobs#submit-by-path)", () => hub, [
  { name: "submits the URL after the slash", path: "/https://example.com/", status: 503 },
  {
    name: "422 for another scheme",
    path: "/ftp://example.com/",
    status: 422,
    body: issueAt("path", "target_url"),
  },
  { name: "422 for file:", path: "/file:///etc/passwd", status: 422 },
  { name: "422 for javascript:", path: "/javascript:alert(1)", status: 422 },
  { name: "422 for a URL of 100 kB", path: `/http://x/${"a".repeat(100_000)}`, status: 422 },
  {
    name: "404 for a path that is no URL",
    path: "/nothing",
    status: 404,
    body: { detail: "no such path" },
  },
  {
    name: "404 for a host without a scheme, and how it is written",
    path: "/example.com/a?b=1",
    status: 404,
    body: {
      detail:
        "no such path; to submit a URL, begin with its scheme: /https://example.com/a?b=1 or /http://example.com/a?b=1",
    },
  },
  {
    name: "422 for a host and a port without a scheme, and what was meant",
    path: "/localhost:8080/x",
    status: 422,
    body: {
      detail: [
        expect.objectContaining({
          loc: ["path", "target_url"],
          msg: "must begin with http:// or https://: did you mean http://localhost:8080/x?",
        }),
      ],
    },
  },
  { name: "404 for favicon.ico", path: "/favicon.ico", status: 404 },
  {
    name: "403 for a picture tag on another site",
    path: "/http://example.com/",
    headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" },
    status: 403,
  },
  {
    name: "303 to the job's page for a browser",
    path: "/http://example.com/",
    headers: { accept: "text/html,*/*" },
    status: 303,
    after: async (_, a) => expect(a.headers.get("location")).toMatch(/^\/ui\/jobs\/[0-9a-z]{14}$/),
  },
]);

const TARGETS: [string, string][] = [
  ["/https://example.com/a?x=1&y=2", "https://example.com/a?x=1&y=2"],
  ["//https://example.com/a", "https://example.com/a"],
  ["/https:/example.com/a?x=http://other/", "https://example.com/a?x=http://other/"],
  ["//http:/example.com:8080/a", "http://example.com:8080/a"],
  ["/http://example.com/a%2Fb%20c?q=%E2%82%AC", "http://example.com/a%2Fb%20c?q=%E2%82%AC"],
  ["/https%3A%2F%2Fexample.com%2Fa%3Fq%3D1", "https://example.com/a?q=1"],
  ["/http://user:pw@example.com/", "http://user:pw@example.com/"],
  ["/http://[::1]:80/x", "http://[::1]:80/x"],
];
for (const [path, url] of TARGETS)
  test(`GET /{target_url}: ${path} submits ${url} (rules/jobs#submit-by-path)`, async () => {
    const { body } = await hub.call("GET", path);
    expect((await hub.call("GET", `/jobs/${body.job_id}`)).body).toMatchObject({ url });
  });

test("GET /{target_url} answers 200 with the job record when a lane is free (rules/jobs#submit-by-path)", async () => {
  const own = await startTestHub();
  try {
    await own.worker();
    expect(await own.call("GET", "/http://example.com/")).toMatchObject({
      status: 200,
      body: { status: "running", url: "http://example.com/" },
    });
  } finally {
    await own.close();
  }
});
