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
