import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { sweepImports } from "#hub/fleet/imports/spool.ts";
import { reconcileOnce } from "#hub/fleet/jobs/passes.ts";
import { HarEntry } from "#shared/protocol/schema/har.ts";
import { type FakeWorker, sha256 } from "#test/support/fakes/fake-worker.ts";
import { readWarc } from "#test/support/models/archive.ts";
import { answerRecord, warcRecord } from "#test/support/models/made-warc.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
let worker: FakeWorker;
beforeAll(async () => {
  // An import is one hub's own: its disk, and what it sweeps.
  hub = await startTestHub({ alone: true });
  worker = await hub.worker({ lanes: 8 });
});
afterAll(() => hub.close());

const post = async (body: Uint8Array | string, type = "application/octet-stream") => {
  const answer = await fetch(`${hub.url}/jobs/import`, {
    method: "POST",
    headers: { "content-type": type },
    body: typeof body === "string" ? body : new Uint8Array(body),
  });
  return { status: answer.status, body: (await answer.json()) as never };
};
const imported = async (body: Uint8Array | string) => {
  const answer = await post(body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body as { job_id: string; capture: Record<string, unknown> };
};
const bytesOf = async (path: string) =>
  new Uint8Array(await (await fetch(hub.url + path)).arrayBuffer());
const jsonOf = async (path: string) => (await hub.call("GET", path)).body;

const AT = "2026-11-20T10:00:00.000Z";
interface Shape {
  url: string;
  asset?: string;
  status?: number;
  headers?: Record<string, string>;
  method?: string;
  more?: Record<string, unknown>;
  redirectURL?: string;
}
const entryOf = ({ url, asset, ...of }: Shape): HarEntry =>
  ({
    pageref: "P1",
    startedDateTime: AT,
    time: 5,
    request: {
      method: of.method ?? "GET",
      url,
      httpVersion: "h2",
      headers: [{ name: "accept", value: "*/*" }],
    },
    response: {
      status: of.status ?? 200,
      statusText: "",
      httpVersion: "h2",
      headers: Object.entries(of.headers ?? { "content-type": "text/html" }).map(
        ([name, value]) => ({ name, value }),
      ),
      content: {
        size: asset === undefined ? 0 : 4,
        mimeType: "text/html",
        ...(asset === undefined ? {} : { _asset: asset }),
      },
      redirectURL: of.redirectURL ?? "",
      bodySize: 4,
    },
    timings: { blocked: 0, dns: 0, connect: 0, ssl: 0, send: 0, wait: 0, receive: 0 },
    serverIPAddress: "192.0.2.1",
    _resourceType: "document",
    ...of.more,
  }) as HarEntry;

/** An ended job with everything that a web archive can say. */
async function capturedJob(): Promise<string> {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const job = await worker.assigned.next((one) => one.job_id === job_id);
  const at = (path: string) => `http://site.test${path}`;
  const put = (name: string, body: string, mime: string, more = {}) =>
    worker.putAsset(job, body, { name, mime, source_url: at(`/${name}`), ...more });
  await put("index.html", "<h1>Hello</h1>", "text/html", { source_url: at("/") });
  await put("dot.gif", "GIF", "image/gif", { kind: "image" });
  await put("again.gif", "GIF", "image/gif", { kind: "image" });
  await put("clip.mp4", "0123456789", "video/mp4", { kind: "video", status: 206 });
  await put("pieces.bin", "0156", "application/octet-stream", {
    partial: true,
    status: 206,
    ranges: [
      { start: 0, end: 1 },
      { start: 5, end: 6 },
    ],
  });
  await put("cut.txt", "begin", "text/plain", { partial: true, ranges: [{ start: 0, end: 4 }] });
  await put("large.bin", "x".repeat(600_000), "application/x-large");
  await put("paper.pdf", "%PDF", "application/pdf", { status: null });
  await put("screenshot-20261120T100001500Z.png", "PNG", "image/png", {
    kind: "image",
    source_url: at("/"),
    page_url: at("/"),
    frame_url: null,
    status: null,
  });
  await worker.putDocument(
    job,
    "page.html",
    "<html><body><h1>Hello</h1><p>at the end</p></body></html>",
  );
  await worker.putDocument(job, "screenshot.png", "PNG of all");
  await worker.putDocument(job, "thumbnail.webp", "RIFF");
  const range = (value: string, ms: string) =>
    entryOf({
      url: at("/clip.mp4"),
      asset: "clip.mp4",
      status: 206,
      headers: {
        "content-type": "video/mp4",
        "content-range": `bytes ${value}/10`,
        "content-length": "5",
      },
      more: { startedDateTime: `2026-11-20T10:00:00.${ms}Z` },
    });
  const entries = [
    entryOf({ url: at("/start"), status: 302, headers: { location: "/" }, redirectURL: at("/") }),
    entryOf({
      url: at("/"),
      asset: "index.html",
      headers: {
        "content-type": "text/html",
        "content-encoding": "br",
        "content-length": "9",
        "set-cookie": "***",
      },
    }),
    entryOf({ url: at("/dot.gif"), asset: "dot.gif", headers: { "content-type": "image/gif" } }),
    entryOf({
      url: at("/again.gif"),
      asset: "again.gif",
      headers: { "content-type": "image/gif" },
    }),
    entryOf({ url: at("/form"), method: "POST", status: 204, headers: {} }),
    entryOf({
      url: at("/large.bin"),
      asset: "large.bin",
      headers: { "content-type": "application/x-large" },
    }),
    range("0-4", "100"),
    range("5-9", "200"),
    entryOf({
      url: at("/pieces.bin"),
      asset: "pieces.bin",
      status: 206,
      headers: { "content-range": "bytes 0-1/9" },
    }),
    entryOf({
      url: at("/pieces.bin"),
      asset: "pieces.bin",
      status: 206,
      headers: { "content-range": "bytes 5-6/9" },
    }),
    entryOf({
      url: at("/cut.txt"),
      asset: "cut.txt",
      headers: { "content-type": "text/plain" },
      more: { _error: "net::ERR_CONNECTION_RESET" },
    }),
    entryOf({ url: at("/lost.css"), more: { _error: "net::ERR_ABORTED" }, status: 0, headers: {} }),
  ];
  const pages = [{ id: "P1", title: "A page", startedDateTime: AT }];
  const har = JSON.stringify({ log: { version: "1.2", pages, entries } });
  await worker.putDocument(job, "har.json", har);
  worker.finish(job);
  await worker.settle();
  return job_id;
}

/** What must be the same in two archives: everything but who made them, and when. */
const contentOf = async (bytes: Uint8Array) =>
  (await readWarc(bytes))
    .filter(({ type }) => type !== "warcinfo" && type !== "metadata")
    .map(({ type, uri, statusline, headers, body, fields }) => ({
      type,
      uri,
      statusline,
      headers,
      body: sha256(body),
      date: type === "resource" ? "" : fields["warc-date"],
      payload: fields["warc-payload-digest"],
      address: fields["warc-ip-address"],
      protocol: fields["warc-protocol"],
    }));

test("an exported job that is imported and exported again has the same records, headers and bodies, as WACZ and as WARC (rules/documents#import-of-a-web-archive)", async () => {
  const before = await capturedJob();
  const warc = await bytesOf(`/jobs/${before}/archive.warc.gz`);
  const told = (records: Awaited<ReturnType<typeof readWarc>>) =>
    records
      .filter(({ type }) => type === "metadata")
      .map(({ text, uri }) => `${uri} ${text.split("\r\n")[0]}`);
  for (const archive of [await bytesOf(`/jobs/${before}/archive.wacz`), warc]) {
    const job = await imported(archive);
    expect(job).toMatchObject({
      status: "completed",
      source: "import",
      screenshot_href: expect.stringContaining("screenshot.png"),
      thumbnail_href: expect.stringContaining("thumbnail.webp"),
      url: "http://site.test/start",
      final_url: "http://site.test/",
      http_status: 200,
      capture: { captured: 6, partial: 3, page: "page.html", warnings: [] },
    });
    const again = await bytesOf(`/jobs/${job.job_id}/archive.warc.gz`);
    expect(await contentOf(again)).toEqual(await contentOf(warc));
    expect(told(await readWarc(again))).toEqual(told(await readWarc(warc)));
    const { assets } = await jsonOf(`/jobs/${before}/diff/${job.job_id}`);
    expect(assets.counts).toMatchObject({ new: 0, gone: 0, changed: 0 });
    expect(await bytesOf(`/jobs/${job.job_id}/page.html`)).toEqual(
      await bytesOf(`/jobs/${before}/page.html`),
    );
  }
}, 180_000);

test("an archive that others made is decoded, joined with its requests and masked (rules/documents#import-of-a-web-archive)", async () => {
  const html = "<title>x</title><p>from elsewhere</p>";
  const packed = gzipSync(html);
  const chunked = Buffer.concat([
    Buffer.from(`${(4).toString(16)}\r\n`),
    packed.subarray(0, 4),
    Buffer.from("\r\n"),
    Buffer.from(`${(packed.length - 4).toString(16)};x=y\r\n`),
    packed.subarray(4),
    Buffer.from("\r\n0\r\n\r\n"),
  ]);
  const parts = [
    warcRecord(
      "warcinfo",
      { "Content-Type": "application/warc-fields" },
      "software: Wget/1.21\r\n",
    ),
    warcRecord(
      "request",
      {
        "WARC-Target-URI": "<https://u:secret@old.test/>",
        "WARC-Record-ID": "<urn:1>",
        "Content-Type": "application/http; msgtype=request",
      },
      "GET / HTTP/1.1\r\nHost: old.test\r\nCookie: sid=secret\r\n\r\n",
    ),
    answerRecord(
      "https://u:secret@old.test/",
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\nSet-Cookie: sid=secret",
      chunked,
      {
        "WARC-Record-ID": "<urn:2>",
        "WARC-Concurrent-To": "<urn:1>",
        "WARC-Payload-Digest": "sha1:AAAA",
      },
    ),
    warcRecord(
      "revisit",
      {
        "WARC-Target-URI": "https://old.test/copy",
        "WARC-Payload-Digest": "sha1:AAAA",
        "Content-Type": "application/http; msgtype=response",
      },
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
    ),
    answerRecord(
      "https://old.test/bad",
      "HTTP/1.1 200 OK\r\nContent-Encoding: br",
      "this is not brotli at all",
    ),
    warcRecord("conversion", { "WARC-Target-URI": "https://old.test/" }, "text"),
  ];
  const job = await imported(Buffer.concat(parts.map((part) => gzipSync(part))));
  expect(job).toMatchObject({
    url: "https://***@old.test/",
    title: null,
    capture: {
      captured: 2,
      lost: 1,
      page: "page.html",
      imported: { format: "warc", software: "Wget/1.21", records: 6, left_out: { conversion: 1 } },
    },
  });
  expect(String(job.capture.warnings)).toContain("1 bodies could not be decoded");
  const har = await jsonOf(`/jobs/${job.job_id}/har.json`);
  const entries = har.log.entries.map((entry: unknown) => HarEntry.parse(entry)) as HarEntry[];
  expect(JSON.stringify(har)).not.toContain("secret");
  expect(entries[0]?.request.headers).toEqual([
    { name: "Host", value: "old.test" },
    { name: "Cookie", value: "***" },
  ]);
  const { items } = await jsonOf(`/jobs/${job.job_id}/assets.json`);
  const [first, copy] = items as { name: string; source_url: string; sha256: string }[];
  expect(entries.map(({ response }) => response.content._asset)).toEqual([
    first?.name,
    copy?.name,
    undefined,
  ]);
  expect(copy).toMatchObject({ source_url: "https://old.test/copy", sha256: first?.sha256 });
  expect(Buffer.from(await bytesOf(`/jobs/${job.job_id}/page.html`)).toString()).toBe(html);
  const log = Buffer.from(await bytesOf(`/jobs/${job.job_id}/log.txt`)).toString();
  expect(log).toContain("imported from a web archive");
});

const page = answerRecord(
  "https://old.test/",
  "HTTP/1.1 200 OK\r\nContent-Type: text/html",
  "<p>x</p>",
);
test("what a killed hub was importing is gone after the next start, and a job that it was storing fails (rules/documents#import-of-a-web-archive)", async () => {
  const { job_id } = await imported(page);
  const { ctx } = hub;
  const row = await ctx.db.jobs.get(job_id);
  if (!row) throw new Error("no job");
  const cut = { ...row, job_id: "cutimport00001", status: "running" as const, lease_token: 0 };
  await ctx.db.jobs.insert({ ...cut, created_at: 1, started_at: 1, finished_at: null });
  await reconcileOnce(ctx);
  expect(await jsonOf("/jobs/cutimport00001")).toMatchObject({
    status: "failed",
    error: "the hub that imported it is gone",
  });

  const imports = join(ctx.config.data_dir, "imports");
  const dead = Bun.spawnSync(["true"]).pid;
  await mkdir(imports, { recursive: true });
  for (const name of [`${dead}-gone`, `${dead}-${job_id}`, "other"])
    await writeFile(join(imports, name), "x");
  await ctx.objects.put("jobs/gone/page.html", Buffer.from("x"));
  await sweepImports(ctx);
  expect(await readdir(imports)).toEqual(["other"]);
  expect(await ctx.objects.list("jobs/gone")).toEqual([]);
  expect(await ctx.objects.list(`jobs/${job_id}`)).not.toEqual([]);
  await rm(join(imports, "other"));
});
