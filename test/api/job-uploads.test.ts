import { afterAll, beforeAll, expect, test } from "bun:test";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import { assetMeta } from "#test/support/clients/asset-meta.ts";
import { rawRequest } from "#test/support/clients/raw-request.ts";
import { type FakeWorker, sha256 } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { storedBelow } from "#test/support/servers/objects.ts";

/** What a worker uploads of a job, and what is refused of it. */

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

test("an upload repeated with the same name and checksum is answered alike and stored once", async () => {
  const job = await run();
  for (let i = 0; i < 3; i += 1)
    expect(await (await worker.putAsset(job, BODY)).json()).toMatchObject({ size: 10 });
  const { body } = await hub.call("GET", `/jobs/${job.job_id}/assets.json`);
  expect(body.count).toBe(1);
  expect((await hub.call("GET", `/jobs/${job.job_id}`)).body.asset_bytes).toBe(10);
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
