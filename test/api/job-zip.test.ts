import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { readDocument } from "#hub/fleet/jobs/documents.ts";
import type { JobRow } from "#hub/platform/db/rows.ts";
import type { ObjectStore } from "#hub/platform/stores/objects.ts";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import { leaveAfter } from "#test/support/clients/raw-request.ts";
import { type FakeWorker, sha256 } from "#test/support/fakes/fake-worker.ts";
import { heldWhileReading } from "#test/support/rigs/held-while-reading.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
let worker: FakeWorker;
let dir: string;
beforeAll(async () => {
  hub = await startTestHub();
  worker = await hub.worker({ lanes: 20 });
  dir = await mkdtemp(join(tmpdir(), "flotilla-zip-"));
});
afterAll(async () => {
  await hub.close();
  await rm(dir, { recursive: true, force: true });
});

const run = async (): Promise<HubAssignJob> => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  return worker.assigned.next((job) => job.job_id === job_id);
};
const openFiles = async (): Promise<number> => (await readdir("/proc/self/fd")).length;

test("GET /jobs/{id}/assets.zip holds the listing, the log, the documents and every body (rules/documents#archive)", async () => {
  const job = await run();
  const bodies: Record<string, string> = {
    "logo.png": "0123456789",
    "ünï 日本.bin": "y".repeat(100_000),
    "empty.txt": "",
  };
  for (const [name, body] of Object.entries(bodies)) await worker.putAsset(job, body, { name });
  await worker.putDocument(job, "page.html", "<h1>hi</h1>");
  await worker.putDocument(job, "har.json", '{"log":{"version":"1.2"}}');
  const answer = await fetch(`${hub.url}/jobs/${job.job_id}/assets.zip`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/zip");
  expect(answer.headers.get("content-disposition")).toBe(
    `attachment; filename=flotilla-${job.job_id}.zip`,
  );
  const file = join(dir, "job.zip");
  await writeFile(file, new Uint8Array(await answer.arrayBuffer()));
  expect(await $`unzip -t ${file}`.text()).toContain("No errors detected");
  const out = join(dir, "out");
  await $`unzip -q ${file} -d ${out}`;
  expect((await readdir(out)).sort()).toEqual([
    "assets",
    "assets.json",
    "har.json",
    "log.txt",
    "page.html",
  ]);
  for (const [name, body] of Object.entries(bodies))
    expect(await readFile(join(out, "assets", name), "utf8")).toBe(body);
  const listing = JSON.parse(await readFile(join(out, "assets.json"), "utf8"));
  expect(listing).toEqual((await hub.call("GET", `/jobs/${job.job_id}/assets.json`)).body);
});

test("GET /jobs/{id}/har.json is the stored HAR, and result names it (rules/documents#har)", async () => {
  const job = await run();
  const path = `/jobs/${job.job_id}`;
  expect((await hub.call("GET", `${path}/har.json`)).status).toBe(404);
  const text = '{"log":{"version":"1.2","entries":[]}}';
  expect((await worker.putDocument(job, "har.json", text)).status).toBe(200);
  const answer = await hub.call("GET", `${path}/har.json`);
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(answer.text).toBe(text);
  expect((await hub.call("GET", `${path}/result`)).body.har_href).toBe(`${path}/har.json`);
});

test("the archive of a job that is not there is 404; HEAD opens nothing (rules/documents#archive)", async () => {
  expect((await hub.call("GET", "/jobs/nope/assets.zip")).body).toEqual({
    detail: "job not found",
  });
  const job = await run();
  await worker.putAsset(job, "x", { name: "x.bin" });
  const before = await openFiles();
  for (let i = 0; i < 20; i += 1) {
    const head = await hub.call("HEAD", `/jobs/${job.job_id}/assets.zip`);
    expect(head.status).toBe(200);
  }
  expect(await openFiles()).toBeLessThan(before + 10);
});

/** A body of the size costs nothing on a disk alone; objects-s3.test.ts measures what one in a bucket takes. */
const on_disk = process.env.FLOTILLA_TEST_OBJECTS !== "s3";

if (on_disk)
  test("an archive larger than memory should hold is streamed, and a reader that leaves closes the body it was at", async () => {
    const job = await run();
    // The store's own file is made large without the hub receiving it: 300 MB of holes.
    await worker.putAsset(job, "small", { name: "big.mp4", kind: "video", mime: "video/mp4" });
    const path = join(hub.data_dir, "objects", "jobs", job.job_id, "assets", "big.mp4");
    await $`truncate -s 300M ${path}`;
    const url = `${hub.url}/jobs/${job.job_id}/assets.zip`;
    const { bytes, held_mb } = await heldWhileReading(async () => (await fetch(url)).body);
    expect(bytes).toBeGreaterThan(300 * 1024 * 1024);
    expect(held_mb).toBeLessThan(150);

    const held = await openFiles();
    // Past what comes before the large body.
    await leaveAfter(url, 1024 * 1024);
    const isOpen = async () => {
      const fds = await readdir("/proc/self/fd");
      const links = await Promise.all(
        // One that was closed meanwhile leads nowhere.
        fds.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
      );
      return links.some((link) => link.includes("big.mp4"));
    };
    // Each call lets the hub and the closing sockets of both sides get on.
    const done = async () => !(await isOpen()) && (await openFiles()) <= held + 3;
    for (const end = Date.now() + 120_000; Date.now() < end && !(await done()); )
      await hub.call("GET", "/health");
    expect(await isOpen()).toBe(false);
    expect(await openFiles()).toBeLessThanOrEqual(held + 3);
  }, 180_000);

test("a body that the store was still opening when its reader left is let go", async () => {
  const job = await run();
  await worker.putAsset(job, "late", { name: "late.bin" });
  const opening = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const let_go = Promise.withResolvers<void>();
  const stored = hub.ctx.objects;
  const objects: ObjectStore = {
    ...stored,
    read: async (key, range) => {
      if (!key.endsWith("late.bin")) return stored.read(key, range);
      opening.resolve();
      await opened.promise;
      return new ReadableStream<Uint8Array>({ cancel: () => let_go.resolve() });
    },
  };
  const row = (await hub.ctx.db.jobs.get(job.job_id)) as JobRow;
  const body = await readDocument({ ...hub.ctx, objects }, row, "assets.zip");
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const drained = (async () => {
    while (!(await reader.read()).done);
  })();
  await opening.promise;
  const left = reader.cancel();
  opened.resolve();
  await Promise.all([left, drained, let_go.promise]);
});

test("a body is what its checksum says, also out of the archive", async () => {
  const job = await run();
  const body = new Uint8Array(3_000_000).map((_, i) => (i * 7919) % 251);
  await worker.putAsset(job, body, { name: "data.bin" });
  const file = join(dir, "data.zip");
  await Bun.write(file, await fetch(`${hub.url}/jobs/${job.job_id}/assets.zip`));
  const out = await $`unzip -p ${file} assets/data.bin`.arrayBuffer();
  expect(sha256(new Uint8Array(out))).toBe(sha256(body));
});
