import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { createClient } from "flotilla";
import { WARCParser } from "warcio";
import { type FakeWorker, sha256 } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
let worker: FakeWorker;
let dir: string;
beforeAll(async () => {
  hub = await startTestHub();
  worker = await hub.worker({ lanes: 8 });
  dir = await mkdtemp(join(tmpdir(), "flotilla-wacz-"));
});
afterAll(async () => {
  await hub.close();
  await rm(dir, { recursive: true, force: true });
});

const entryOf = (url: string, asset: string, pageref: string) => ({
  pageref,
  startedDateTime: "2026-11-20T10:00:00.000Z",
  time: 5,
  request: { method: "GET", url, httpVersion: "h2", headers: [] },
  response: {
    status: 200,
    statusText: "",
    httpVersion: "h2",
    headers: [{ name: "content-type", value: "text/html" }],
    content: { size: 4, mimeType: "text/html", _asset: asset },
    redirectURL: "",
    bodySize: 4,
  },
  timings: { blocked: 0, dns: 0, connect: 0, ssl: 0, send: 0, wait: 0, receive: 0 },
});

test("GET /jobs/{id}/archive.wacz is a WACZ 1.1.1 whose index finds every answer and whose digests are right (rules/documents#web-archive)", async () => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const job = await worker.assigned.next((assigned) => assigned.job_id === job_id);
  await worker.putAsset(job, "<h1>", { name: "z.html", mime: "text/html" });
  await worker.putAsset(job, "popup", { name: "popup.html", mime: "text/html" });
  await worker.putAsset(job, "%PDF", {
    name: "paper.pdf",
    mime: "application/pdf",
    source_url: "http://site.test/paper.pdf",
    status: null,
  });
  await worker.putDocument(job, "page.html", "<html><body><p>Hello</p></body></html>");
  const pages = [
    { id: "P1", title: "The page", startedDateTime: "" },
    { id: "P2", title: "A popup", startedDateTime: "" },
  ];
  const entries = [
    entryOf("http://site.test/z", "z.html", "P1"),
    entryOf("http://site.test/a", "popup.html", "P2"),
  ];
  const har = JSON.stringify({ log: { version: "1.2", pages, entries } });
  await worker.putDocument(job, "har.json", har);

  const answer = await fetch(`${hub.url}/jobs/${job_id}/archive.wacz`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-disposition")).toBe(
    `attachment; filename=flotilla-${job_id}.wacz`,
  );
  const file = join(dir, "job.wacz");
  await writeFile(file, new Uint8Array(await answer.arrayBuffer()));
  const listing = await $`unzip -v ${file}`.text();
  expect(listing).not.toContain("Defl");
  const out = join(dir, "out");
  await $`unzip -q ${file} -d ${out}`.quiet();
  const read = (path: string) => readFile(join(out, path), "utf8");

  const text = await read("datapackage.json");
  const { resources, ...datapackage } = JSON.parse(text);
  expect(datapackage).toMatchObject({
    profile: "data-package",
    wacz_version: "1.1.1",
    mainPageUrl: "http://site.test/z",
    mainPageDate: "2026-11-20T10:00:00.000Z",
  });
  expect(JSON.parse(await read("datapackage-digest.json"))).toEqual({
    path: "datapackage.json",
    hash: `sha256:${sha256(text)}`,
  });
  const warc_name = `flotilla-${job_id}.warc.gz`;
  expect(resources.map(({ path }: { path: string }) => path)).toEqual([
    `archive/${warc_name}`,
    "indexes/index.cdxj",
    "pages/pages.jsonl",
  ]);
  for (const { path, hash, bytes } of resources) {
    const packed = new Uint8Array(await readFile(join(out, path)));
    expect({ path, hash, bytes }).toEqual({
      path,
      hash: `sha256:${sha256(packed)}`,
      bytes: packed.length,
    });
  }

  const [head, ...listed] = (await read("pages/pages.jsonl")).trim().split("\n");
  expect(JSON.parse(head ?? "")).toMatchObject({ format: "json-pages-1.0", hasText: true });
  expect(listed.map((line) => JSON.parse(line))).toMatchObject([
    { url: "http://site.test/z", title: "The page", text: "Hello" },
    { url: "http://site.test/a", title: "A popup" },
  ]);

  const warc = new Uint8Array(await readFile(join(out, "archive", warc_name)));
  const lines = (await read("indexes/index.cdxj")).trim().split("\n");
  expect(lines).toEqual(lines.toSorted());
  expect(lines.map((line) => line.split(" ")[0])).toEqual([
    "test,site)/a",
    "test,site)/paper.pdf",
    "test,site)/z",
    "urn:text:http://site.test/z",
  ]);
  for (const line of lines) {
    const { url, offset, length, digest, filename } = JSON.parse(line.slice(line.indexOf("{")));
    const end = Number(offset) + Number(length);
    const record = await WARCParser.parse([warc.subarray(Number(offset), end)]);
    expect(filename).toBe(warc_name);
    expect(record?.warcTargetURI).toBe(url);
    expect(record?.warcPayloadDigest).toBe(digest);
  }
});

test("GET /archive.wacz has a WARC file for each of its jobs and one index, and refuses what is no list of jobs (rules/documents#web-archive-of-several-jobs)", async () => {
  const ids: string[] = [];
  for (const name of ["one.html", "two.html"]) {
    const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
    const job = await worker.assigned.next((assigned) => assigned.job_id === job_id);
    await worker.putAsset(job, name, { name, mime: "text/html" });
    ids.push(job_id);
  }
  const [one, two] = ids;
  const { jobs } = createClient({ base_url: hub.url });
  const answer = await jobs.archive([one ?? "", two ?? "", one ?? ""]);
  expect(answer.headers.get("content-disposition")).toBe("attachment; filename=flotilla.wacz");
  const file = join(dir, "several.wacz");
  await writeFile(file, new Uint8Array(await answer.arrayBuffer()));
  const index = await $`unzip -p ${file} indexes/index.cdxj`.text();
  const lines = index.trim().split("\n");
  for (const [n, name] of ["one.html", "two.html"].entries()) {
    const warc_name = `flotilla-${ids[n]}.warc.gz`;
    const warc = new Uint8Array(await $`unzip -p ${file} archive/${warc_name}`.arrayBuffer());
    const line = lines.find((text) => text.includes(warc_name)) ?? "";
    const { url, offset, length } = JSON.parse(line.slice(line.indexOf("{")));
    const end = Number(offset) + Number(length);
    const record = await WARCParser.parse([warc.subarray(Number(offset), end)]);
    expect(url).toBe(`http://site.test/${name}`);
    expect(await record?.contentText()).toBe(name);
  }
  expect(lines).toHaveLength(2);
  const { resources } = JSON.parse(await $`unzip -p ${file} datapackage.json`.text());
  expect(resources).toHaveLength(4);

  expect((await hub.call("GET", `/archive.wacz?jobs=${one},nope`)).status).toBe(404);
  const many = Array.from({ length: 51 }, (_, n) => `job${n}`).join(",");
  for (const wrong of ["", "../x", many])
    expect((await hub.call("GET", `/archive.wacz?jobs=${wrong}`)).status).toBe(422);
  expect((await hub.call("GET", "/archive.wacz")).status).toBe(400);
  expect((await hub.call("GET", `/archive.wacz?jobs=${one}&label=a:b`)).status).toBe(400);
});

test("GET /archive.wacz?label= has the completed jobs with the label, the oldest first (rules/documents#web-archive-of-several-jobs)", async () => {
  const labels = { crawl: "site" };
  const ids: string[] = [];
  for (const status of ["completed", "failed", "completed"] as const) {
    const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET, labels })).body;
    const job = await worker.assigned.next((assigned) => assigned.job_id === job_id);
    await worker.putAsset(job, `${job_id}.html`, { name: "a.html", mime: "text/html" });
    worker.finish(job, { status });
    await hub.signals.next("job finished", { job_id });
    if (status === "completed") ids.push(job_id);
  }
  const { jobs } = createClient({ base_url: hub.url });
  const file = join(dir, "labelled.wacz");
  await writeFile(
    file,
    new Uint8Array(await (await jobs.labelledArchive("crawl:site")).arrayBuffer()),
  );
  const { resources } = JSON.parse(await $`unzip -p ${file} datapackage.json`.text());
  const warcs = resources.map(({ path }: { path: string }) => path).slice(0, -2);
  expect(warcs).toEqual(ids.map((id) => `archive/flotilla-${id}.warc.gz`));
  expect((await hub.call("GET", "/archive.wacz?label=crawl:none")).status).toBe(404);
});
