import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadHubConfig } from "#hub/platform/config.ts";
import { systemClock } from "#shared/kit/clock.ts";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import { assetMeta } from "#test/support/clients/asset-meta.ts";
import { type FakeWorker, sha256 } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { storedBelow } from "#test/support/servers/objects.ts";
import { startS3, type TestS3 } from "#test/support/servers/s3.ts";
import { createDirectWay, type DirectWay } from "#worker/upload/direct.ts";
import { createHttpSink, type HttpSink } from "#worker/upload/http-sink.ts";

let s3: TestS3;
let hub: TestHub;
let worker: FakeWorker;
let dir: string;
let story: string[];
let sinks: HttpSink[];

beforeAll(async () => {
  s3 = await startS3();
  hub = await startTestHub({ env: { ...s3.env("direct"), SVC_DIRECT_UPLOADS: "1" } });
  worker = await hub.worker({ lanes: 50 });
});
afterAll(async () => {
  await hub.close();
  await s3.stop();
});
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "direct-"));
  story = [];
  sinks = [];
});
afterEach(async () => {
  await Promise.all(sinks.map((sink) => sink.close()));
  await rm(dir, { recursive: true, force: true });
});

const NEVER = new AbortController().signal;
const run = async (): Promise<HubAssignJob> => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  return worker.assigned.next((job) => job.job_id === job_id);
};
const body = (size: number) => crypto.getRandomValues(new Uint8Array(65_536)).slice(0, size);
const spool = async (name: string, size = 2 * 1024 * 1024) => {
  const content = Buffer.concat(Array.from({ length: size / 65_536 }, () => body(65_536)));
  await Bun.write(join(dir, name), content);
  return { path: join(dir, name), size, sha256: sha256(content), content };
};
const sinkOf = async (job: HubAssignJob, way?: DirectWay) => {
  const { upload_token, direct_uploads_from } = await worker.registered;
  const sink = createHttpSink({
    base_url: Promise.resolve(hub.url),
    worker_id: worker.worker_id,
    job_id: job.job_id,
    lease_token: job.lease_token,
    upload_token,
    direct: way ?? createDirectWay(direct_uploads_from ?? null, systemClock),
    story: { log: (_, stage, message) => void story.push(`${stage}: ${message}`) },
    clock: systemClock,
    random: Math.random,
  });
  sinks.push(sink);
  return sink;
};
const call = async (method: string, job: HubAssignJob, path: string, content: object) => {
  const { upload_token } = await worker.registered;
  const headers = {
    authorization: `Bearer ${upload_token}`,
    "x-lease-token": String(job.lease_token),
  };
  return hub.call(method, `/workers/w11/jobs/${job.job_id}/${path}`, content, { headers });
};
/** What the worker has asked the hub for. */
const asked = ({ job_id }: HubAssignJob) =>
  hub.log
    .map(({ method, path }) => `${method} ${path}`)
    .filter((line) => line.includes(`/workers/w11/jobs/${job_id}/`))
    .map((line) => line.replace(/\/workers.*?jobs\/[^/]+|[0-9a-f-]{36}/g, ""))
    .sort();

describe("SVC_DIRECT_UPLOADS=1", () => {
  test("a large body goes straight into the bucket and is an asset like any other; a small one goes through the hub", async () => {
    const job = await run();
    const sink = await sinkOf(job);
    const big = await spool("big.bin");
    const small = await spool("small.bin", 512 * 1024);
    sink.putAsset(assetMeta("big.bin"), big);
    sink.putAsset(assetMeta("small.bin"), small);
    expect(await sink.flush(NEVER)).toMatchObject({ stored: 2, failed: [] });
    expect(asked(job)).toEqual([
      "POST /direct-uploads",
      "PUT /assets/small.bin",
      "PUT /direct-uploads/",
    ]);
    const answer = await fetch(`${hub.url}/jobs/${job.job_id}/assets/big.bin`);
    expect(sha256(await answer.bytes())).toBe(big.sha256);
    expect(answer.headers.get("etag")).toBe(`"${big.sha256}"`);
    expect(await storedBelow(hub, `jobs/${job.job_id}`)).toEqual([
      "assets/big.bin",
      "assets/small.bin",
    ]);
    expect(await s3.state()).toMatchObject({ uploads: [], tidy: true });
    expect(story).toEqual([]);
    worker.finish(job);
  });

  test("a bucket that the worker cannot reach: the body goes through the hub, and the next ones do not try", async () => {
    const job = await run();
    const way = createDirectWay(1, systemClock);
    const sink = await sinkOf(job, way);
    await s3.kill();
    const big = await spool("lost.bin");
    sink.putAsset(assetMeta("lost.bin"), big);
    while (!story.some((line) => line.includes("object store"))) await systemClock.sleep(5);
    await s3.restart();
    expect(await sink.flush(NEVER)).toMatchObject({ stored: 1, failed: [] });
    expect(way.isOpen(big.size)).toBe(false);
    worker.finish(job);
  }, 180_000);

  test("a lease that is over: 409, the worker stops, and nothing of it stays", async () => {
    const job = await run();
    const content = body(60_000);
    const info = { size: content.length, sha256: sha256(content) };
    const leave = (await call("POST", job, "direct-uploads", info)).body;
    const put = await fetch(leave.url, { method: "PUT", headers: leave.headers, body: content });
    expect(put.status).toBe(200);
    await hub.call("POST", `/jobs/${job.job_id}/cancel`);
    const end = await call("PUT", job, `direct-uploads/${leave.id}`, {
      ...assetMeta("a"),
      ...info,
    });
    expect(end.status).toBe(409);
    expect(await storedBelow(hub, `jobs/${job.job_id}`)).toEqual([]);
    expect((await call("POST", job, "direct-uploads", info)).status).toBe(409);
  });

  test("another body than announced is refused by the bucket, none by the hub, and the end may be told twice", async () => {
    const job = await run();
    const content = body(60_000);
    const info = { size: content.length, sha256: sha256(content) };
    const leave = (await call("POST", job, "direct-uploads", info)).body;
    const send = (bytes: Uint8Array<ArrayBuffer>, headers = leave.headers) =>
      fetch(leave.url, { method: "PUT", headers, body: bytes });
    expect((await send(body(60_000))).status).toBe(400);
    expect((await send(content, {})).status).toBe(403);
    const end = () =>
      call("PUT", job, `direct-uploads/${leave.id}`, { ...assetMeta("a"), ...info });
    expect((await end()).status).toBe(404);
    expect((await send(content)).status).toBe(200);
    const other = { ...assetMeta("a"), ...info, size: 1 };
    expect((await call("PUT", job, `direct-uploads/${leave.id}`, other)).status).toBe(422);
    expect((await send(content)).status).toBe(200);
    for (const _ of [1, 2]) expect((await end()).body).toEqual({ name: "a", ...info });
    for (const id of ["..", "../../x", "x"])
      expect(
        (await call("PUT", job, `direct-uploads/${encodeURIComponent(id)}`, other)).status,
      ).toBe(404);
    worker.finish(job);
  });

  test("a body beyond the hub's limit gets no leave", async () => {
    const job = await run();
    const info = { size: 6 * 1024 ** 3, sha256: "0".repeat(64) };
    expect((await call("POST", job, "direct-uploads", info)).status).toBe(413);
    worker.finish(job);
  });

  test("is refused without a bucket, and off by default", async () => {
    expect(() => loadHubConfig({ SVC_DIRECT_UPLOADS: "1" })).toThrow(
      "SVC_DIRECT_UPLOADS: needs objects in S3",
    );
    expect(loadHubConfig({}).direct_uploads).toBe(false);
    expect((await worker.registered).direct_uploads_from).toBe(1024 * 1024);
  });
});
