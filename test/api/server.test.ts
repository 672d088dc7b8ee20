import { afterEach, expect, test } from "bun:test";
import { maskDbUrl } from "#hub/pipeline/mask-db-url.ts";
import { loadHubConfig } from "#hub/platform/config.ts";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import { rawRequest } from "#test/support/clients/raw-request.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** What every call passes: guards, headers, errors, documents. */

let hub: TestHub;
const start = async (options?: TestHubOptions) => {
  hub = await startTestHub(options);
  return hub;
};
afterEach(() => hub.close());

const raw = (request: string): Promise<string> => rawRequest(hub.url, request);

test("control mode answers /api/v1, its documents and nothing of the fleet", async () => {
  await start({ mode: "control" });
  expect((await hub.call("GET", "/api/v1/status")).body.mode).toBe("control");
  expect((await hub.call("GET", "/openapi.json")).body.paths).not.toHaveProperty("/jobs");
  expect((await hub.call("GET", "/jobs")).status).toBe(404);
});

test("a database URL is shown without its password", () => {
  expect(maskDbUrl("postgres://user:pw@h/db?sslpassword=x")).toBe(
    "postgres://user:***@h/db?sslpassword=***",
  );
  expect(maskDbUrl("sqlite:/data/flotilla.db")).toBe("sqlite:/data/flotilla.db");
});

test("every answer is nosniff JSON with {detail} on errors; unknown paths are 404, other methods 405", async () => {
  await start();
  for (const [method, path, status] of [
    ["GET", "/nope", 404],
    ["POST", "/nope", 404],
    ["DELETE", "/jobs", 405],
    ["PUT", "/jobs/x", 405],
    ["POST", "/health", 405],
    ["POST", "/docs", 405],
  ] as const) {
    const answer = await hub.call(method, path);
    expect(answer).toMatchObject({ status, body: { detail: expect.any(String) } });
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    if (status === 405) expect(answer.headers.get("allow")).toBeTruthy();
  }
});

test("a 500 says nothing of its cause; the log does", async () => {
  await start();
  hub.ctx.db.jobs.list = () => Promise.reject(new Error("secret internals"));
  expect(await hub.call("GET", "/jobs")).toMatchObject({
    status: 500,
    body: { detail: "internal error" },
  });
  expect(JSON.stringify(hub.log)).toContain("secret internals");
});

test("neither X-Frame-Options nor frame-ancestors is set (rules/http#frames)", async () => {
  await start();
  for (const path of ["/", "/docs", "/health"]) {
    const { headers } = await hub.call("GET", path);
    expect(headers.get("x-frame-options")).toBeNull();
    expect(headers.get("content-security-policy") ?? "").not.toContain("frame-ancestors");
  }
});

test("the log has one line per request, and shows of a session id only its beginning", async () => {
  await start();
  await hub.call("GET", "/sessions/abcdefghijkl/novnc/");
  const lines = hub.log.filter((line) => line.message === "request answered");
  expect(lines.length).toBe(1);
  expect(lines[0]).toMatchObject({ method: "GET", path: "/sessions/abcd…/novnc/", status: 404 });
});

test("the access log and log.txt show no password of a target URL", async () => {
  await start();
  const { body } = await hub.call("GET", "/http://user:hunter2@site.test/");
  expect((await hub.call("GET", `/jobs/${body.job_id}/log.txt`)).text).toStartWith(
    `# job ${body.job_id} http://***@site.test/\n`,
  );
  for (const user of ["u%3Fs", "u%5Cs", "u%20s", "u%2Fs"])
    await hub.call("GET", `/http://${user}:hunter2@site.test/`);
  await hub.call("GET", "/http%3A%2F%2Fuser%3Ahunter2%40site.test%2F");
  expect(JSON.stringify(hub.log)).not.toContain("hunter2");
});

test("/docs and its files come from the program itself, /openapi.json lists every route", async () => {
  await start();
  const page = await hub.call("GET", "/docs");
  expect(page.headers.get("content-type")).toContain("text/html");
  const policy = (page.headers.get("content-security-policy") ?? "").split("; ");
  expect(policy).toContain("default-src 'none'");
  // No script but those files, and none that a page could write into it.
  expect(policy.find((part) => part.startsWith("script-src"))).toBe("script-src 'self'");
  const linked = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((m) => String(m[1]));
  expect(linked.length).toBe(5);
  for (const path of linked) {
    expect(path).toMatch(/^\/(docs\/|guide$)/);
    expect((await hub.call("GET", path)).status).toBe(200);
  }
  expect((await hub.call("GET", "/docs/swagger-ui-bundle.js")).text.length).toBeGreaterThan(
    500_000,
  );
  const { paths } = (await hub.call("GET", "/openapi.json")).body;
  const operations = Object.entries(paths as Record<string, object>).flatMap(([path, of]) =>
    Object.keys(of).map((method) => `${method.toUpperCase()} ${path}`),
  );
  // The control plane's are its own business.
  expect(operations.filter((name) => !name.includes(" /api/v1/")).sort()).toEqual(
    [
      ...Object.keys(SESSION_ACTIONS).map((action) => `POST /sessions/{sid}/${action}`),
      ...["engines", "presets", "skills", "conventions"].flatMap((registry) => [
        `GET /${registry}`,
        ...["GET", "PUT", "DELETE"].map((method) => `${method} /${registry}/{slug}`),
      ]),
      "POST /engines/{slug}/promote",
      "GET /engines/{slug}/resolve",
      "GET /presets/{slug}/{target_url}",
      "GET /settings",
      "PATCH /settings",
      ...["GET /tokens", "POST /tokens", "DELETE /tokens/{id}"],
      ...["GET /audit", "POST /links", "DELETE /links", "POST /mcp", "DELETE /mcp"],
      ...["GET /guide", "GET /guide/search", "GET /llms.txt"],
      ...["screenshot", "pdf", "content", "markdown", "scrape", "evaluate"].map(
        (kind) => `POST /${kind}`,
      ),
      "GET /links/{link}",
      ...["websockify", "cdp", "cdp/json/version", "assets.json", "assets/{name}"].map(
        (what) => `GET /links/{link}/${what}`,
      ),
      "GET /jobs/{id}/attempts",
      "GET /jobs/{id}/attempts/{n}",
      "GET /jobs/{id}/diff/{other}",
      ...["cancel", "delete", "retry"].map((what) => `POST /jobs/${what}`),
      ...["GET /watches", "POST /watches", "POST /watches/{watch_id}/capture"],
      ...["GET", "PUT", "PATCH", "DELETE"].map((method) => `${method} /watches/{watch_id}`),
      "DELETE /hosts/{host}",
      "DELETE /hosts/{host}/recipes/{index}",
      "DELETE /jobs/{id}",
      "DELETE /profiles/default",
      "DELETE /profiles/{name}",
      "DELETE /session/{sid}",
      ...["GET", "POST", "DELETE"].map((method) => `${method} /session/{sid}/{command}`),
      ...["POST /session", "GET /status"],
      "DELETE /sessions/{sid}",
      "DELETE /sessions/{sid}/cookies",
      "DELETE /workers/{id}",
      "GET /",
      "GET /archive.wacz",
      "GET /figures",
      ...["GET /live", "GET /ready", "GET /pressure", "GET /metrics"],
      "GET /health",
      "GET /hosts",
      "GET /hosts/{host}",
      "GET /jobs",
      ...["GET /search", "GET /jobs/count", "PATCH /jobs/{id}"],
      "GET /jobs/failures",
      "GET /jobs/{id}",
      "GET /jobs/{id}/archive.wacz",
      "GET /jobs/{id}/archive.warc.gz",
      "GET /jobs/{id}/assets.json",
      "GET /jobs/{id}/assets.zip",
      "GET /jobs/{id}/assets/{name}",
      "GET /jobs/{id}/events",
      "GET /jobs/{id}/events.json",
      "GET /jobs/{id}/har.json",
      "GET /jobs/{id}/links.json",
      "GET /jobs/{id}/trace.zip",
      "GET /jobs/{id}/recording",
      "GET /jobs/{id}/recording/data",
      "GET /jobs/{id}/recording/events",
      "GET /jobs/{id}/recording/exports",
      "GET /jobs/{id}/recording/video.mp4",
      "GET /jobs/{id}/recording/video.webm",
      "GET /jobs/{id}/log.txt",
      "GET /jobs/{id}/page.html",
      "GET /jobs/{id}/result",
      "GET /jobs/{id}/screenshot.png",
      "GET /jobs/{id}/thumbnail.webp",
      "GET /profiles",
      "GET /profiles/default",
      "GET /profiles/extension.zip",
      "GET /profiles/extension/files/{name}",
      "GET /profiles/extension/install",
      "GET /profiles/{name}",
      "GET /sessions",
      "GET /sessions/{sid}",
      "GET /sessions/{sid}/bodies/{sha256}",
      "GET /sessions/{sid}/cdp",
      "GET /cdp",
      "GET /cdp/json/version",
      "GET /sessions/{sid}/cdp/json/activate/{target}",
      "GET /sessions/{sid}/cdp/json/close/{target}",
      "GET /sessions/{sid}/cdp/json/list",
      "GET /sessions/{sid}/cdp/json/version",
      "GET /sessions/{sid}/cookies",
      "GET /sessions/{sid}/files",
      "GET /sessions/{sid}/files/{name}",
      "GET /sessions/{sid}/har.json",
      "GET /sessions/{sid}/network",
      "GET /sessions/{sid}/novnc",
      "GET /sessions/{sid}/novnc/websockify",
      "GET /sessions/{sid}/preview.jpg",
      "GET /sessions/{sid}/thumbnail.webp",
      "GET /sessions/{sid}/trace.zip",
      "GET /sessions/{sid}/record-input",
      "GET /sessions/{sid}/recording",
      "GET /sessions/{sid}/recording/data",
      "GET /sessions/{sid}/recording/events",
      "GET /sessions/{sid}/recording/exports",
      "GET /sessions/{sid}/recording/video.mp4",
      "GET /sessions/{sid}/recording/video.webm",
      "GET /sessions/{sid}/state",
      "GET /workers",
      "GET /workers/{id}",
      "GET /workers/{worker_id}/link",
      "GET /workers/{worker_id}/replays/{job_id}",
      "GET /workers/{worker_id}/replays/{job_id}/bodies/{name}",
      "GET /workers/{worker_id}/profiles/{name}/{sha256}",
      "GET /{target_url}",
      "POST /hosts/cookies/sync",
      "POST /hosts/{host}/recipes",
      "POST /jobs",
      "POST /jobs/import",
      "POST /jobs/{id}/cancel",
      "POST /jobs/{id}/recording/exports",
      "POST /jobs/{id}/screenshot/capture",
      "POST /profiles/{name}",
      "POST /profiles/{name}/default",
      "POST /sessions",
      "POST /sessions/{sid}/profile/save",
      "POST /sessions/{sid}/record-input",
      "POST /sessions/{sid}/recording/exports",
      "POST /workers/{id}/status",
      "PUT /hosts/{host}",
      "PUT /hosts/{host}/cookies",
      "PUT /hosts/{host}/login_recipe",
      "PUT /sessions/{sid}/cdp/json/new",
      "PUT /sessions/{sid}/cookies",
      "POST /workers/{worker_id}/jobs/{job_id}/direct-uploads",
      "PUT /workers/{worker_id}/jobs/{job_id}/direct-uploads/{upload_id}",
      "GET /worker-source.tar.gz",
      "PUT /workers/{worker_id}/jobs/{job_id}/assets",
      "PUT /workers/{worker_id}/jobs/{job_id}/assets/{name}",
      "PUT /workers/{worker_id}/jobs/{job_id}/documents/{name}",
      "PUT /workers/{worker_id}/jobs/{job_id}/recording",
      "PUT /workers/{worker_id}/sessions/{session_id}/bodies",
      "PUT /workers/{worker_id}/sessions/{session_id}/trace",
      "PUT /workers/{worker_id}/sessions/{session_id}/recording",
      "PUT /workers/{worker_id}/sessions/{session_id}/profile/{name}",
    ].sort(),
  );
});

test("CORS is off by default and allows the origins of SVC_CORS_ORIGINS (rules/http#cors)", async () => {
  await start();
  const origin = "https://ops.test";
  const ask = () => hub.call("GET", "/health", undefined, { headers: { origin } });
  expect((await ask()).headers.get("access-control-allow-origin")).toBeNull();
  await hub.close();
  await start({ env: { SVC_CORS_ORIGINS: "https://ops.test" } });
  expect((await ask()).headers.get("access-control-allow-origin")).toBe(origin);
  const preflight = await hub.call("OPTIONS", "/jobs", undefined, {
    headers: { origin, "access-control-request-method": "POST" },
  });
  expect(preflight.status).toBe(204);
  for (const name of ["Content-Type", "If-Match", "If-None-Match"])
    expect(preflight.headers.get("access-control-allow-headers")).toContain(name);
});

test("a Host header that is not a host is 400, not a crash", async () => {
  await start();
  expect(await raw("GET /health HTTP/1.1\r\nHost: a b<>\r\nConnection: close\r\n\r\n")).toStartWith(
    "HTTP/1.1 400",
  );
  expect((await hub.call("GET", "/health")).status).toBe(200);
});

test("SVC_API_TOKEN is asked for everywhere but health and the worker's own calls", async () => {
  await start({ env: { SVC_API_TOKEN: "t0ken" } });
  for (const [path, status] of [
    ["/health", 200],
    ["/api/v1/health", 200],
    ["/live", 200],
    ["/ready", 200],
    ["/pressure", 401],
    ["/metrics", 401],
    ["/sessions/abc/novnc/", 404],
    ["/workers/w1/link", 426],
    ["/jobs", 401],
    // The app asks for it.
    ["/", 200],
    ["/ui/captures", 200],
    ["/ui/changes", 401],
    // So does the explorer.
    ["/docs", 200],
    ["/docs/start.js", 200],
    ["/openapi.json", 401],
    ["/api/v1/openapi.json", 401],
    ["/workers", 401],
    ["/api/v1/status", 401],
    ["/http://example.com/", 401],
    ["/sessions/abc/novncx", 401],
  ] as const)
    expect({ path, status: (await hub.call("GET", path)).status }).toEqual({ path, status });
  const denied = await hub.call("GET", "/jobs", undefined, {
    headers: { authorization: "Bearer nope" },
  });
  expect(denied).toMatchObject({ status: 401, body: { detail: "a bearer token is required" } });
  expect(denied.headers.get("www-authenticate")).toBe("Bearer");
  const headers = { authorization: "Bearer t0ken" };
  expect((await hub.call("GET", "/jobs", undefined, { headers })).status).toBe(200);
  const worker = await hub.worker();
  expect((await hub.call("POST", "/jobs", { url: TARGET }, { headers })).status).toBe(200);
  const job = await worker.assigned.next();
  expect((await worker.putAsset(job, "x")).status).toBe(200);
});

test("a JSON body that is announced or grows too large is 413 before it was read", async () => {
  await start();
  const announced = await raw(
    "POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900000000\r\nConnection: close\r\n\r\n{",
  );
  expect(announced).toStartWith("HTTP/1.1 413");
  const endless = new ReadableStream({
    pull: (c) => c.enqueue(new Uint8Array(65_536).fill(32)),
  });
  const grown = await fetch(`${hub.url}/jobs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: endless,
  });
  expect(grown.status).toBe(413);
});

test("two hubs cannot share a port: the error names SVC_PORT", async () => {
  await start();
  const port = new URL(hub.url).port;
  await expect(startTestHub({ env: { SVC_PORT: port } })).rejects.toThrow(
    /^SVC_PORT: cannot listen on 127\.0\.0\.1:\d+: another program has this port, .* choose another port$/,
  );
});

test("the configuration has the defaults that others rely on (rules/operations#defaults-of-the-fleet)", () => {
  const config = loadHubConfig({});
  expect(config).toMatchObject({
    host: "0.0.0.0",
    port: 8000,
    worker_secret: null,
    public_base_url: "http://hub:8000",
    min_asset_size_bytes: 0,
    submit_wait_ms: 8_000,
    cors_origins: [],
    queue: {
      pull_on_free: true,
      redrive: true,
      redrive_interval_ms: 3_000,
      redrive_min_age_ms: 90_000,
      redrive_max_per_pass: 0,
      timeout_ms: 180_000,
    },
    stale: { reconcile_interval_ms: 90_000, running_grace_ms: 300_000 },
  });
  expect(loadHubConfig({}, {}, "dev")).toMatchObject({
    host: "127.0.0.1",
    public_base_url: null,
  });
  expect(loadHubConfig({ SVC_PORT: "1", SVC_HOST: " " }, { SVC_PORT: "2" })).toMatchObject({
    port: 2,
    host: "0.0.0.0",
  });
});

for (const [name, value] of [
  ["SVC_PORT", "70000"],
  ["SVC_PORT", "x"],
  ["SVC_LOG_LEVEL", "loud"],
  ["SVC_REDIS_URL", "redis://h"],
  ["SVC_QUEUE_TIMEOUT_S", "soon"],
  ["SVC_QUEUE_REDRIVE_DISABLE", "maybe"],
  ["SVC_CORS_ORIGINS", "ops.test/path"],
  ["PUBLIC_BASE_URL", "hub:8000"],
  ["SVC_MAX_ASSET_BYTES", "-1"],
] as const)
  test(`a bad ${name} (${value}) is a ConfigError that names it`, () => {
    expect(() => loadHubConfig({ [name]: value })).toThrow(new RegExp(`^${name}`));
  });
