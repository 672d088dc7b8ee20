import { afterAll, beforeAll, expect, test } from "bun:test";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import { assetMeta } from "#test/support/clients/asset-meta.ts";
import { rawRequest } from "#test/support/clients/raw-request.ts";
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
  expect(body.items[1]).toMatchObject({ name: "ünï.bin", size_h: "1.5 KB" });
  expect((await hub.call("GET", body.items[1].href)).text).toBe("x".repeat(1536));
  const record = (await hub.call("GET", `/jobs/${job.job_id}`)).body;
  expect(record).toMatchObject({ asset_count: 2, asset_bytes: 1546 });
});

test("an upload repeated with the same name and checksum is answered alike and stored once", async () => {
  const job = await run();
  for (let i = 0; i < 3; i += 1)
    expect(await (await worker.putAsset(job, BODY)).json()).toMatchObject({ size: 10 });
  const { body } = await hub.call("GET", `/jobs/${job.job_id}/assets.json`);
  expect(body.count).toBe(1);
  expect((await hub.call("GET", `/jobs/${job.job_id}`)).body.asset_bytes).toBe(10);
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
    "content-disposition": `inline; filename="a.bin"; filename*=UTF-8''a.bin`,
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
    expect(headers.get("content-disposition")).toStartWith(
      'attachment; filename="a.bin"; filename*=',
    );
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
  ["bytes=-0", 416, "", "bytes */10"],
  ["bytes=99999999999999-", 416, "", "bytes */10"],
  ["bytes=5-2", 200, BODY, null],
  ["bytes=0-1,4-5", 200, BODY, null],
  ["bytes=-", 200, BODY, null],
  ["lines=0-1", 200, BODY, null],
  ["bytes=a-b", 200, BODY, null],
];
for (const [range, status, text, content_range] of RANGES)
  test(`Range ${range} of ten bytes is ${status}`, async () => {
    const answer = await fetchAsset({ range });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("content-range")).toBe(content_range);
    if (status === 416)
      expect(await answer.json()).toEqual({ detail: "the range lies outside the body" });
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

test("uploads: 401 without the link's token, 409 stale lease for another token, 422 for a wrong checksum", async () => {
  const job = await run();
  const path = `/workers/w11/jobs/${job.job_id}/assets/a.png`;
  const meta = Buffer.from("{}").toString("base64url");
  const { upload_token } = await worker.registered;
  const put = (headers: Record<string, string>, at = path) =>
    hub.call("PUT", at, "x", {
      headers: { "X-Sha256": sha256("x"), "X-Asset-Meta": meta, ...headers },
    });
  const lease = { "X-Lease-Token": String(job.lease_token) };
  const bearer = { Authorization: `Bearer ${upload_token}` };
  expect((await put(lease)).status).toBe(401);
  expect((await put({ ...lease, Authorization: "Bearer nope" })).status).toBe(401);
  expect((await put({ ...lease, ...bearer }, path.replace("w11", "w12"))).status).toBe(401);
  expect((await put(bearer)).status).toBe(400);
  expect(await put({ ...bearer, "X-Lease-Token": "1" })).toMatchObject({
    status: 409,
    body: { detail: "stale lease" },
  });
  expect((await put({ ...bearer, ...lease })).body.detail[0].loc).toEqual([
    "header",
    "X-Asset-Meta",
    "kind",
  ]);
  const wrong = await worker.putAsset({ ...job }, BODY, {});
  expect(wrong.status).toBe(200);
  const bad = await fetch(`${hub.url}${path.replace("a.png", "b.png")}`, {
    method: "PUT",
    body: "y",
    headers: {
      ...bearer,
      ...lease,
      "X-Sha256": sha256("x"),
      "X-Asset-Meta": Buffer.from(
        JSON.stringify({
          kind: "other",
          mime: "",
          ext: "",
          source_url: "",
          page_url: "",
          status: null,
          from_cache: false,
          from_service_worker: false,
          partial: false,
          refetched: false,
          ranges: [],
        }),
      ).toString("base64url"),
    },
  });
  expect(bad.status).toBe(422);
  expect(await objects(job)).toEqual(["assets/a.png"]);
});

for (const name of [
  "..",
  "../x",
  "..%2fx",
  "a/b",
  "a\\b",
  ".hidden",
  "x\u0000",
  "con",
  "x".repeat(300),
  "%2e%2e",
])
  test(`an upload named ${JSON.stringify(name.slice(0, 20))} is refused and leaves nothing`, async () => {
    const job = await run();
    const { upload_token } = await worker.registered;
    const answer = await hub.call(
      "PUT",
      `/workers/w11/jobs/${job.job_id}/assets/${encodeURIComponent(name)}`,
      "x",
      {
        headers: {
          Authorization: `Bearer ${upload_token}`,
          "X-Lease-Token": String(job.lease_token),
          "X-Sha256": sha256("x"),
          "X-Asset-Meta": Buffer.from(
            JSON.stringify({
              kind: "other",
              mime: "",
              ext: "",
              source_url: "",
              page_url: "",
              status: null,
              from_cache: false,
              from_service_worker: false,
              partial: false,
              refetched: false,
              ranges: [],
            }),
          ).toString("base64url"),
        },
      },
    );
    // The URL of `..` never reaches the route: clients and server fold it away.
    expect([404, 405, 422]).toContain(answer.status);
    expect(await objects(job)).toEqual([]);
    const read = await hub.call("GET", `/jobs/${job.job_id}/assets/${encodeURIComponent(name)}`);
    expect([404, 200]).toContain(read.status);
    expect(read.text).not.toContain("SQLite");
  });

test("an upload longer than SVC_MAX_ASSET_BYTES is 413 and leaves nothing", async () => {
  const small = await startTestHub({ env: { SVC_MAX_ASSET_BYTES: "1000" } });
  try {
    const own = await small.worker();
    await small.call("POST", "/jobs", { url: TARGET });
    const job = await own.assigned.next();
    expect((await own.putAsset(job, "x".repeat(1001))).status).toBe(413);
    expect((await own.putAsset(job, "x".repeat(100_000))).status).toBe(413);
    expect((await own.putAsset(job, "x".repeat(1000))).status).toBe(200);
  } finally {
    await small.close();
  }
});

test("a document other than page.html and links.json is refused", async () => {
  const job = await run();
  expect((await worker.putDocument(job, "evil.html", "x")).status).toBe(422);
});

test("uploads of a cancelled job are answered 409 stale lease; what was stored before is kept", async () => {
  const job = await run();
  await worker.putAsset(job, BODY);
  await hub.call("POST", `/jobs/${job.job_id}/cancel`);
  const late = await worker.putAsset(job, "late", { name: "late.bin" });
  expect(late.status).toBe(409);
  expect(await late.json()).toEqual({ detail: "stale lease" });
  expect((await hub.call("GET", `/jobs/${job.job_id}/assets.json`)).body.count).toBe(1);
  expect(await objects(job)).toEqual(["assets/a.png"]);
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

/** An upload whose second half is sent by `end`, for what happens in between. */
const uploadInHalves = async (job: HubAssignJob, path: string, meta = {}) => {
  const { upload_token } = await worker.registered;
  let out: ReadableStreamDefaultController<Uint8Array> | undefined;
  const text = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (c) => {
      out = c;
      c.enqueue(text.encode("first half "));
    },
  });
  const answer = fetch(`${hub.url}/workers/w11/jobs/${job.job_id}/${path}`, {
    method: "PUT",
    body,
    headers: {
      Authorization: `Bearer ${upload_token}`,
      "X-Lease-Token": String(job.lease_token),
      "X-Sha256": sha256("first half second half"),
      "X-Asset-Meta": Buffer.from(JSON.stringify(meta)).toString("base64url"),
    },
  });
  // Answered by the same server after the upload began.
  await hub.call("GET", "/health");
  return async () => {
    out?.enqueue(text.encode("second half"));
    out?.close();
    return (await answer).status;
  };
};

test("a body that is still coming in when its job is deleted leaves nothing behind", async () => {
  const job = await run();
  const end = await uploadInHalves(job, "documents/page.html");
  expect((await hub.call("DELETE", `/jobs/${job.job_id}`)).status).toBe(204);
  expect(await end()).toBe(409);
  expect(await objects(job)).toEqual([]);
});

const ENDS: [string, (job: HubAssignJob) => Promise<unknown>][] = [
  ["cancelled", (job) => hub.call("POST", `/jobs/${job.job_id}/cancel`)],
  [
    "finished",
    (job) => {
      worker.result(job);
      return hub.signals.next("job finished", { job_id: job.job_id });
    },
  ],
  ["given back to the queue", (job) => hub.ctx.db.jobs.unclaim(job.job_id, job.lease_token)],
];
for (const [what, happen] of ENDS)
  test(`a stale upload of a job that was ${what} meanwhile replaces no byte`, async () => {
    const job = await run();
    const { name, ...meta } = assetMeta("a.png", {});
    await worker.putAsset(job, BODY, { name });
    await worker.putDocument(job, "page.html", "<h1>hi</h1>");
    const ends = await Promise.all([
      uploadInHalves(job, `assets/${name}`, meta),
      uploadInHalves(job, "documents/page.html"),
      uploadInHalves(job, "documents/links.json"),
    ]);
    await happen(job);
    for (const end of ends) expect(await end()).toBe(409);
    expect((await hub.call("GET", `/jobs/${job.job_id}/assets/${name}`)).text).toBe(BODY);
    expect((await hub.call("GET", `/jobs/${job.job_id}/page.html`)).text).toBe("<h1>hi</h1>");
    expect(await objects(job)).toEqual(["assets/a.png", "page.html"]);
    if (what === "given back to the queue") await hub.call("POST", `/jobs/${job.job_id}/cancel`);
  });

test("a document longer than 256 MiB is 413 before it was read", async () => {
  const job = await run();
  const { upload_token } = await worker.registered;
  const answer = await rawRequest(
    hub.url,
    [
      `PUT /workers/w11/jobs/${job.job_id}/documents/page.html HTTP/1.1`,
      "Host: hub",
      "Connection: close",
      `Authorization: Bearer ${upload_token}`,
      `X-Lease-Token: ${job.lease_token}`,
      `X-Sha256: ${sha256("")}`,
      `Content-Length: ${256 * 1024 * 1024 + 1}`,
      "",
      "begin",
    ].join("\r\n"),
  );
  expect(answer).toStartWith("HTTP/1.1 413");
  expect(await objects(job)).toEqual([]);
});
