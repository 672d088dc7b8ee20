import { afterAll, beforeAll, expect, test } from "bun:test";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import { type FakeWorker, sha256 } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { storedBelow } from "#test/support/servers/objects.ts";

let hub: TestHub;
let worker: FakeWorker;
beforeAll(async () => {
  hub = await startTestHub();
  worker = await hub.worker({ lanes: 200 });
});
afterAll(() => hub.close());

const run = async (): Promise<HubAssignJob> => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  return worker.assigned.next((job) => job.job_id === job_id);
};
const objects = (job: HubAssignJob) => storedBelow(hub, `jobs/${job.job_id}`);
const BODY = "0123456789";

test("GET /jobs/{id}/assets.json lists what was uploaded, with name, href, kind, mime, size, size_h, ext and URLs (rules/documents#asset-list)", async () => {
  const job = await run();
  const put = await worker.putAsset(job, BODY, { name: "logo.png" });
  expect(put.status).toBe(200);
  expect(await put.json()).toEqual({ name: "logo.png", size: 10, sha256: sha256(BODY) });
  await worker.putAsset(job, "x".repeat(1536), {
    name: "ünï.bin",
    kind: "other",
    mime: "x/y",
    ext: "bin",
  });
  const { body } = await hub.call("GET", `/jobs/${job.job_id}/assets.json`);
  expect(body).toMatchObject({ job_id: job.job_id, count: 2 });
  expect(body.items[0]).toEqual({
    name: "logo.png",
    href: `/jobs/${job.job_id}/assets/logo.png`,
    kind: "image",
    mime: "image/png",
    size: 10,
    size_h: "10 B",
    ext: "png",
    source_url: "http://site.test/logo.png",
    page_url: "http://site.test/",
    frame_url: "http://site.test/",
    status: 200,
    from_cache: false,
    from_service_worker: false,
    partial: false,
    refetched: false,
    ranges: [],
    sha256: sha256(BODY),
  });
  expect(body.items[1]).toMatchObject({ name: "ünï.bin", size_h: "1.5 kB" });
  expect((await hub.call("GET", body.items[1].href)).text).toBe("x".repeat(1536));
  const record = (await hub.call("GET", `/jobs/${job.job_id}`)).body;
  expect(record).toMatchObject({ asset_count: 2, asset_bytes: 1546 });
});

test("GET /jobs/{id}/result has html_href, log_href and the asset list (rules/documents#result)", async () => {
  const job = await run();
  const path = `/jobs/${job.job_id}`;
  expect((await hub.call("GET", `${path}/result`)).body).toEqual({
    job_id: job.job_id,
    status: "running",
    html_href: null,
    log_href: `${path}/log.txt`,
    har_href: null,
    links_href: null,
    assets: [],
    capture: null,
  });
  await worker.putAsset(job, BODY);
  await worker.putDocument(job, "page.html", "<h1>hi</h1>");
  await worker.putDocument(
    job,
    "links.json",
    JSON.stringify({ job_id: job.job_id, count: 0, links: [] }),
  );
  const capture = {
    seen: 1,
    captured: 1,
    partial: 0,
    lost: 0,
    skipped: 0,
    ratio: 1,
    reasons: {},
    method: "durable",
  } as const;
  worker.finish(job, { capture });
  await hub.signals.next("job finished", { job_id: job.job_id });
  const { body } = await hub.call("GET", `${path}/result`);
  expect(body).toMatchObject({
    status: "completed",
    html_href: `${path}/page.html`,
    links_href: `${path}/links.json`,
    assets: [{ name: "a.png", href: `${path}/assets/a.png`, kind: "image", size: 10 }],
    capture,
  });
  expect((await hub.call("GET", body.html_href)).text).toBe("<h1>hi</h1>");
  expect((await hub.call("GET", body.links_href)).body.count).toBe(0);
});

test("GET /jobs/{id}/page.html is the captured HTML, in a sandbox (rules/documents#captured-page)", async () => {
  const job = await run();
  await worker.putDocument(job, "page.html", "<h1>hi</h1>");
  const page = await hub.call("GET", `/jobs/${job.job_id}/page.html`);
  expect(page.text).toBe("<h1>hi</h1>");
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page.headers.get("content-security-policy")).toBe("sandbox");
  expect(page.headers.get("x-content-type-options")).toBe("nosniff");
});

test("GET /jobs/{id}/page.html and links.json are 404 before they exist (rules/documents#links)", async () => {
  const job = await run();
  for (const file of ["page.html", "links.json"])
    expect((await hub.call("GET", `/jobs/${job.job_id}/${file}`)).body).toEqual({
      detail: `${file} not found`,
    });
});

test("GET /jobs/{id}/log.txt reads like a story, also while the job runs (rules/documents#log)", async () => {
  const job = await run();
  worker.log(job, "navigate", "opening\nhttp://site.test/ \u001b[31m");
  await worker.settle();
  const { text, headers } = await hub.call("GET", `/jobs/${job.job_id}/log.txt`);
  expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
  const lines = text.trimEnd().split("\n");
  expect(lines[0]).toBe(`# job ${job.job_id} ${TARGET}`);
  expect(lines[2]).toMatch(
    /^ +1 +\+[0-9.]+s {2}info {2}assigned {2}assigned to worker w11, lane [0-9]+ .*queued_ms=/,
  );
  expect(lines[3]).toMatch(/ navigate {2}opening\\nhttp:\/\/site.test\/ \\u001b\[31m$/);
  expect(lines.length).toBe(4);
});

test("GET /jobs/{id}/log.txt holds thousands of lines in order (rules/documents#log)", async () => {
  const job = await run();
  for (let i = 0; i < 13; i += 1)
    worker.send({
      type: "JobLog",
      job_id: job.job_id,
      lease_token: job.lease_token,
      entries: Array.from({ length: 100 }, (_, k) => ({
        ts: 1,
        level: "info",
        stage: "page",
        message: `line ${i * 100 + k}`,
        fields: {},
      })),
    });
  await worker.settle();
  const { text } = await hub.call("GET", `/jobs/${job.job_id}/log.txt`);
  const numbers = [...text.matchAll(/line ([0-9]+)/g)].map((m) => Number(m[1]));
  expect(numbers).toEqual(Array.from({ length: 1300 }, (_, i) => i));
});

const fetchAsset = async (
  headers: Record<string, string>,
  body = BODY,
  method = "GET",
  mime = "image/png",
) => {
  const job = await run();
  await worker.putAsset(job, body, { name: "a.bin", mime });
  return fetch(`${hub.url}/jobs/${job.job_id}/assets/a.bin`, { headers, method });
};

test("GET /jobs/{id}/assets/{name}: type as captured, nosniff, ETag of the sha256, safe disposition (rules/documents#asset-body)", async () => {
  const answer = await fetchAsset({});
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "content-type": "image/png",
    "x-content-type-options": "nosniff",
    etag: `"${sha256(BODY)}"`,
    "accept-ranges": "bytes",
    "content-length": "10",
    "content-disposition": "inline; filename=a.bin",
  });
  expect(answer.headers.get("content-security-policy")).toBeNull();
  expect(await answer.text()).toBe(BODY);
});

for (const mime of [
  ...["text/html", "image/svg+xml", "application/xhtml+xml", "text/xml; charset=utf-8", "text/xsl"],
  ...["audio/x+xml", "video/xml", "application/json", "text/css", "application/octet-stream"],
])
  test(`an asset of type ${mime} is saved, and has a sandbox wherever it is shown`, async () => {
    const { headers } = await fetchAsset({}, BODY, "GET", mime);
    expect(headers.get("content-type")).toBe(mime);
    expect(headers.get("content-security-policy")).toBe("sandbox");
    expect(headers.get("content-disposition")).toBe("attachment; filename=a.bin");
  });

for (const mime of [
  ...["image/webp", "IMAGE/PNG; q=1", "image/vnd.microsoft.icon", "audio/x-wav", "video/mp4"],
  ...["application/pdf", "font/woff2", "text/plain; charset=utf-8"],
])
  test(`an asset of type ${mime} is shown as it is`, async () => {
    const { headers } = await fetchAsset({}, BODY, "GET", mime);
    expect(headers.get("content-security-policy")).toBeNull();
    expect(headers.get("content-disposition")).toStartWith("inline");
  });

for (const mime of ["", "text/html\r\nX-Evil: 1", "no slash", "a/b;c", "ä/ö"])
  test(`a captured type that cannot stand in a header (${JSON.stringify(mime)}) becomes octet-stream`, async () => {
    const answer = await fetchAsset({}, BODY, "GET", mime);
    expect(answer.headers.get("content-type")).toBe("application/octet-stream");
    expect(answer.headers.get("x-evil")).toBeNull();
  });

test("HEAD of an asset has the headers and no body (rules/documents#asset-body)", async () => {
  const answer = await fetchAsset({}, BODY, "HEAD");
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-length")).toBe("10");
  expect(await answer.text()).toBe("");
});

const RANGES: [string, number, string, string | null][] = [
  ["bytes=0-3", 206, "0123", "bytes 0-3/10"],
  ["bytes=4-", 206, "456789", "bytes 4-9/10"],
  ["bytes=-3", 206, "789", "bytes 7-9/10"],
  ["bytes=-100", 206, BODY, "bytes 0-9/10"],
  ["bytes=8-100", 206, "89", "bytes 8-9/10"],
  ["bytes=10-", 416, "", "bytes */10"],
  ["bytes=-99999999999999999999", 206, BODY, "bytes 0-9/10"],
  ["bytes=0-99999999999999999999", 206, BODY, "bytes 0-9/10"],
  ["bytes=-0", 416, "", "bytes */10"],
  ["bytes=99999999999999-", 416, "", "bytes */10"],
  ["bytes=5-2", 416, "", "bytes */10"],
  ["bytes=0-1,4-5", 200, BODY, null],
  ["bytes=-", 200, BODY, null],
  ["lines=0-1", 200, BODY, null],
  ["lines=10-", 200, BODY, null],
  ["bytes=a-b", 200, BODY, null],
];
for (const [range, status, text, content_range] of RANGES)
  test(`Range ${range} of ten bytes is ${status}`, async () => {
    const answer = await fetchAsset({ range });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("content-range")).toBe(content_range);
    if (status === 416)
      expect(await answer.json()).toEqual({ detail: "the range is outside the body" });
    else expect(await answer.text()).toBe(text);
  });

test("a range of an empty asset is 416; the asset itself is an empty 200", async () => {
  expect((await fetchAsset({ range: "bytes=0-" }, "")).status).toBe(416);
  const answer = await fetchAsset({}, "");
  expect(answer.status).toBe(200);
  expect(await answer.text()).toBe("");
});

test("If-None-Match with the ETag is 304, If-Range with another is the whole body", async () => {
  const etag = `"${sha256(BODY)}"`;
  for (const value of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
    const answer = await fetchAsset({ "if-none-match": value });
    expect(answer.status).toBe(304);
    expect(answer.headers.get("etag")).toBe(etag);
  }
  expect((await fetchAsset({ "if-none-match": '"x"' })).status).toBe(200);
  expect((await fetchAsset({ range: "bytes=0-1", "if-range": '"x"' })).status).toBe(200);
  expect((await fetchAsset({ range: "bytes=0-1", "if-range": etag })).status).toBe(206);
});

test("DELETE /jobs/{id} removes the job with its files, a running one is cancelled first (rules/jobs#delete-a-job)", async () => {
  const job = await run();
  await worker.putAsset(job, BODY);
  await worker.putDocument(job, "page.html", "x");
  expect((await hub.call("DELETE", `/jobs/${job.job_id}`)).status).toBe(204);
  await worker.messages.next((m) => m.type === "HubCancelJob" && m.job_id === job.job_id);
  expect(await objects(job)).toEqual([]);
  expect((await hub.call("GET", `/jobs/${job.job_id}`)).status).toBe(404);
  expect((await worker.putAsset(job, BODY)).status).toBe(409);
  expect(await objects(job)).toEqual([]);
});
