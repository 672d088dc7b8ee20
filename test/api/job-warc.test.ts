import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { $ } from "bun";
import { WARCParser, WARCSerializer } from "warcio";
import { readDocument } from "#hub/fleet/jobs/documents.ts";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import { type FakeWorker, sha256 } from "#test/support/fakes/fake-worker.ts";
import { readWarc, wrongDigests } from "#test/support/models/archive.ts";
import { heldWhileReading } from "#test/support/rigs/held-while-reading.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
let worker: FakeWorker;
beforeAll(async () => {
  hub = await startTestHub();
  worker = await hub.worker({ lanes: 20 });
});
afterAll(() => hub.close());

const run = async (): Promise<HubAssignJob> => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  return worker.assigned.next((job) => job.job_id === job_id);
};

const entryOf = (url: string, asset: string | undefined, more: Record<string, unknown> = {}) => ({
  pageref: "P1",
  startedDateTime: "2026-11-20T10:00:00.000Z",
  time: 5,
  request: { method: "GET", url, httpVersion: "HTTP/1.1", headers: [] },
  response: {
    status: 200,
    statusText: "Fine",
    httpVersion: "HTTP/1.1",
    headers: [{ name: "Content-Type", value: "text/html" }],
    content: { size: 4, mimeType: "text/html", ...(asset === undefined ? {} : { _asset: asset }) },
    redirectURL: "",
    bodySize: 4,
  },
  timings: { blocked: 0, dns: 0, connect: 0, ssl: 0, send: 0, wait: 0, receive: 0 },
  ...more,
});

const harOf = (entries: unknown[]) =>
  JSON.stringify({
    log: { version: "1.2", pages: [{ id: "P1", title: "A page", startedDateTime: "" }], entries },
  });

/** The records as warcio reads them, each with the digests that warcio computes. */
async function recordsOf(bytes: Uint8Array) {
  const records = [];
  for await (const record of WARCParser.iterRecords([bytes], { keepHeadersCase: true })) {
    const { warcType: type, warcTargetURI: uri, warcBlockDigest, warcPayloadDigest } = record;
    const id = record.warcHeader("WARC-Record-ID");
    const again = new WARCSerializer(record, { digest: { algo: "sha-256", prefix: "sha256:" } });
    await again.digestRecord({ recompute: true });
    if (type !== "warcinfo") expect(record.warcBlockDigest).toBe(warcBlockDigest);
    if (type === "response" || type === "resource")
      expect(record.warcPayloadDigest).toBe(warcPayloadDigest);
    records.push({ type, uri, id, payload: warcPayloadDigest });
  }
  return records;
}

test("GET /jobs/{id}/archive.warc.gz has the job's requests, answers, other assets, page and screenshot (rules/documents#web-archive)", async () => {
  const job = await run();
  const path = `/jobs/${job.job_id}`;
  await worker.putAsset(job, "<h1>", { name: "index.html", mime: "text/html", kind: "other" });
  await worker.putAsset(job, "GIF", { name: "dot.gif", mime: "image/gif" });
  await worker.putAsset(job, "%PDF", {
    name: "paper.pdf",
    mime: "application/pdf",
    source_url: "https://u:secret@site.test/paper.pdf",
    status: null,
  });
  await worker.putAsset(job, "all", { name: "clip.mp4", mime: "video/mp4", refetched: true });
  const shot = "screenshot-20261120T100001500Z.png";
  await worker.putAsset(job, "PNG", {
    name: shot,
    source_url: "http://site.test/",
    frame_url: null,
    status: null,
  });
  await worker.putDocument(
    job,
    "page.html",
    "<html><head></head><body><h1>Hello</h1></body></html>",
  );
  const entries = [
    entryOf("http://site.test/", "index.html"),
    entryOf("http://site.test/dot.gif", "dot.gif", { serverIPAddress: "192.0.2.1" }),
    entryOf("http://site.test/again.gif", "dot.gif"),
    entryOf("http://site.test/lost.css", undefined),
    entryOf("data:text/plain,x", undefined),
  ];
  await worker.putDocument(job, "har.json", harOf(entries));

  const answer = await fetch(`${hub.url}${path}/archive.warc.gz`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/gzip");
  expect(answer.headers.get("content-disposition")).toBe(
    `attachment; filename=flotilla-${job.job_id}.warc.gz`,
  );
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const records = await recordsOf(bytes);
  expect(records.map(({ type, uri }) => `${type} ${uri ?? ""}`)).toEqual([
    "warcinfo ",
    "response http://site.test/",
    "request http://site.test/",
    "response http://site.test/dot.gif",
    "request http://site.test/dot.gif",
    "revisit http://site.test/again.gif",
    "request http://site.test/again.gif",
    "metadata http://site.test/lost.css",
    "resource https://***@site.test/paper.pdf",
    "resource urn:asset:clip.mp4",
    "resource urn:view:http://site.test/",
    "resource urn:dom:http://site.test/",
    "resource urn:text:http://site.test/",
  ]);
  expect(new Set(records.map(({ id }) => id)).size).toBe(records.length);
  expect(records.at(-1)?.payload).toBe(`sha256:${sha256("Hello")}`);
  expect(Buffer.from(bytes).includes("secret")).toBe(false);
});

test("pictures of the page are resources under the names that browsertrix gives them (rules/documents#web-archive)", async () => {
  const job = await run();
  const pictures = { "screenshot.png": "PNG of all", "thumbnail.webp": "RIFF of a part" } as const;
  for (const [name, body] of Object.entries(pictures))
    await worker.putDocument(job, name as keyof typeof pictures, body);
  await worker.putAsset(job, "PNG of a step", {
    name: "screenshot-20261120T100001500Z.png",
    mime: "image/png",
    kind: "image",
    source_url: TARGET,
    page_url: TARGET,
    frame_url: null,
    status: null,
  });
  worker.finish(job, { final_url: TARGET });
  await hub.signals.next("job finished", { job_id: job.job_id });
  const answer = await fetch(`${hub.url}/jobs/${job.job_id}/archive.warc.gz`);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const found = (await readWarc(bytes)).filter(({ uri }) => /^urn:(view|full|thumb)/i.test(uri));
  expect(
    found.map(({ type, uri, fields, text }) => [type, uri, fields["content-type"], text]),
  ).toEqual([
    ["resource", `urn:view:${TARGET}`, "image/png", "PNG of a step"],
    ["resource", `urn:fullPage:${TARGET}`, "image/png", "PNG of all"],
    ["resource", `urn:thumbnail:${TARGET}`, "image/webp", "RIFF of a part"],
  ]);
  expect(await wrongDigests(bytes)).toEqual([]);
});

test("an ended job's web archive has the same bytes each time (rules/documents#web-archive)", async () => {
  const job = await run();
  await worker.putAsset(job, "<h1>", { name: "index.html", mime: "text/html" });
  await worker.putDocument(job, "har.json", harOf([entryOf("http://site.test/", "index.html")]));
  worker.finish(job);
  await worker.settle();
  const get = async () =>
    sha256(
      new Uint8Array(
        await (await fetch(`${hub.url}/jobs/${job.job_id}/archive.warc.gz`)).arrayBuffer(),
      ),
    );
  expect(await get()).toBe(await get());
});

test("a running job's web archive has its assets as resources, and one of no job is 404 (rules/documents#web-archive)", async () => {
  const job = await run();
  await worker.putAsset(job, "GIF", { name: "dot.gif", mime: "image/gif" });
  const answer = await fetch(`${hub.url}/jobs/${job.job_id}/archive.warc.gz`);
  const records = await recordsOf(new Uint8Array(await answer.arrayBuffer()));
  expect(records.map(({ type, uri }) => `${type} ${uri ?? ""}`)).toEqual([
    "warcinfo ",
    "resource http://site.test/dot.gif",
  ]);
  expect((await hub.call("GET", "/jobs/nope/archive.warc.gz")).status).toBe(404);
});

/** A body of the size costs nothing on a disk alone. */
const on_disk = process.env.FLOTILLA_TEST_OBJECTS !== "s3";

if (on_disk)
  test("a web archive larger than memory should hold is streamed", async () => {
    const job = await run();
    await worker.putAsset(job, "small", { name: "big.mp4", kind: "video", mime: "video/mp4" });
    const path = join(hub.data_dir, "objects", "jobs", job.job_id, "assets", "big.mp4");
    const size = 200 * 1024 * 1024;
    await $`truncate -s ${size} ${path}`;
    const rows = await hub.ctx.db.assets.list(job.job_id);
    const ctx = {
      ...hub.ctx,
      db: {
        ...hub.ctx.db,
        assets: { ...hub.ctx.db.assets, list: async () => rows.map((row) => ({ ...row, size })) },
      },
    };
    const row = await hub.ctx.db.jobs.get(job.job_id);
    if (!row) throw new Error("no job");
    const { bytes, held_mb } = await heldWhileReading(() =>
      readDocument(ctx, row, "archive.warc.gz"),
    );
    // Video is not compressed a second time.
    expect(bytes).toBeGreaterThan(size);
    expect(held_mb).toBeLessThan(150);
  }, 180_000);
