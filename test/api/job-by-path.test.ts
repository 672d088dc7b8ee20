import { afterAll, beforeAll, expect, test } from "bun:test";
import { issueAt, scenarios } from "#test/support/clients/api.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ env: { SVC_SUBMIT_WAIT_S: "0.01" } });
});
afterAll(() => hub.close());

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
          msg: "target_url must begin with http:// or https://: did you mean http://localhost:8080/x?",
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
    after: async (_, a) =>
      expect(a.headers.get("location")).toMatch(/^\/ui\/captures\/[0-9a-z]{14}$/),
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
