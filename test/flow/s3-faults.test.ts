import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import { assetMeta } from "#test/support/clients/asset-meta.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { type FakeWorker, sha256 } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { storedBelow } from "#test/support/servers/objects.ts";
import { startS3, type TestS3 } from "#test/support/servers/s3.ts";
import { createHttpSink, type HttpSink } from "#worker/upload/http-sink.ts";

let s3: TestS3;
let hub: TestHub;
let worker: FakeWorker;
let dir: string;
let story: string[];
let sinks: HttpSink[];

beforeAll(async () => {
  s3 = await startS3();
  hub = await startTestHub({ env: s3.env("faults") });
  worker = await hub.worker({ lanes: 20 });
});
afterAll(async () => {
  await hub.close();
  await s3.stop();
});
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "s3-faults-"));
  story = [];
  sinks = [];
});
afterEach(async () => {
  await Promise.all(sinks.map((sink) => sink.close()));
  await rm(dir, { recursive: true, force: true });
});

const NEVER = new AbortController().signal;
const MB = 1024 * 1024;
const AWAY = "the object store is not available: ";
const run = async (): Promise<HubAssignJob> => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  return worker.assigned.next((job) => job.job_id === job_id);
};
const spool = async (name: string, size: number) => {
  const content = randomBytes(size);
  await Bun.write(join(dir, name), content);
  return { path: join(dir, name), size, sha256: sha256(content) };
};
const sinkOf = async (job: HubAssignJob, clock: Clock = systemClock) => {
  const sink = createHttpSink({
    base_url: Promise.resolve(hub.url),
    worker_id: worker.worker_id,
    job_id: job.job_id,
    lease_token: job.lease_token,
    upload_token: (await worker.registered).upload_token,
    story: { log: (_, stage, message) => void story.push(`${stage}: ${message}`) },
    clock,
    random: Math.random,
  });
  sinks.push(sink);
  return sink;
};
const get = (job: HubAssignJob, path: string, init?: RequestInit) =>
  fetch(`${hub.url}/jobs/${job.job_id}/${path}`, init);
const untilTidy = async () => {
  while ((await s3.state()).uploads.length > 0) await systemClock.sleep(20);
  expect(await s3.state()).toMatchObject({ uploads: [], tidy: true });
};

describe("a worker's uploads while the object store is killed and started again", () => {
  test("large and small bodies and documents are sent again, and all are whole", async () => {
    const job = await run();
    const sink = await sinkOf(job);
    const bodies = new Map<string, Awaited<ReturnType<typeof spool>>>();
    for (const [i, size] of [12 * MB, 11 * MB, 6 * MB, MB, 30_000, 2_000, 10].entries())
      bodies.set(`${i}.bin`, await spool(`${i}.bin`, size));
    const { received } = await s3.state();
    for (const [name, body] of bodies) sink.putAsset(assetMeta(name), body);
    sink.putDocument("page.html", "<p>whole</p>");
    const flushed = sink.flush(NEVER);
    while ((await s3.state()).received < received + 6 * MB) await systemClock.sleep(2);
    await s3.kill();
    while (!story.some((line) => line.includes(AWAY))) await systemClock.sleep(5);
    await s3.restart();
    expect(await flushed).toMatchObject({ stored: bodies.size + 1, failed: [] });
    for (const [name, { sha256: sum }] of bodies)
      expect(sha256(await (await get(job, `assets/${name}`)).bytes())).toBe(sum);
    expect(await (await get(job, "page.html")).text()).toBe("<p>whole</p>");
    expect(await storedBelow(hub, `jobs/${job.job_id}`)).toEqual(
      [...[...bodies.keys()].map((name) => `assets/${name}`), "page.html"].sort(),
    );
    await untilTidy();
    worker.finish(job);
  }, 180_000);

  test("a store that stays away longer than uploads are tried: the job ends, and its log says why", async () => {
    const job = await run();
    const clock = createFakeClock();
    const sink = await sinkOf(job, clock);
    await s3.kill();
    sink.putAsset(assetMeta("a.bin"), await spool("a.bin", MB));
    sink.putDocument("page.html", "<p>never</p>");
    let ended: Awaited<ReturnType<HttpSink["flush"]>> | null = null;
    void sink.flush(NEVER).then((end) => {
      ended = end;
    });
    while (!ended) {
      // The hub's own tries take their time, the worker's waits pass at once.
      if (clock.sleepers().some((ms) => ms <= 5_000)) await clock.advance(5_000);
      await systemClock.sleep(5);
    }
    const away = expect.stringContaining(`HTTP 503: ${AWAY}`);
    expect(ended).toMatchObject({
      stored: 0,
      failed: [
        { name: expect.any(String), reason: away },
        { name: expect.any(String), reason: away },
      ],
    });
    await s3.restart();
    expect((await get(job, "assets.json")).status).toBe(200);
    expect(await storedBelow(hub, `jobs/${job.job_id}`)).toEqual([]);
    worker.finish(job);
    await untilTidy();
  }, 180_000);
});

describe("a store that is away", () => {
  test("uploads and reads are 503 with Retry-After; jobs are taken and listed all the same", async () => {
    const job = await run();
    await worker.putAsset(job, "there", { name: "there.txt" });
    await s3.kill();
    const put = await worker.putAsset(job, "new", { name: "new.txt" });
    for (const answer of [put, await get(job, "assets/there.txt"), await get(job, "page.html")]) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get("retry-after")).toBe("2");
      expect(((await answer.json()) as { detail: string }).detail).toStartWith(AWAY);
    }
    const other = await run();
    expect((await hub.call("GET", `/jobs/${other.job_id}`)).body.status).toBe("running");
    expect((await hub.call("GET", `/jobs/${job.job_id}/assets.json`)).body.count).toBe(1);
    await s3.restart();
    expect(await (await get(job, "assets/there.txt")).text()).toBe("there");
    expect((await worker.putAsset(job, "new", { name: "new.txt" })).status).toBe(200);
    worker.finish(job);
    worker.finish(other);
  }, 180_000);

  test("killed under a download: it breaks off, it does not end early; ranges and HEAD go on afterwards", async () => {
    const job = await run();
    const sink = await sinkOf(job);
    const big = await spool("big.bin", 24 * MB);
    const content = await Bun.file(big.path).bytes();
    sink.putAsset(assetMeta("big.bin"), big);
    expect(await sink.flush(NEVER)).toMatchObject({ failed: [] });
    const answer = await get(job, "assets/big.bin");
    const reader = answer.body?.getReader();
    await reader?.read();
    await s3.kill();
    const rest = async () => {
      for (let size = 0; ; ) {
        const next = await reader?.read();
        if (!next || next.done) return size;
        size += next.value.byteLength;
      }
    };
    expect(await rest().catch(() => "broken off")).toBe("broken off");
    await s3.restart();
    const part = await get(job, "assets/big.bin", { headers: { range: "bytes=6000000-6000009" } });
    expect(part.status).toBe(206);
    expect(await part.bytes()).toEqual(content.slice(6_000_000, 6_000_010));
    const head = await get(job, "assets/big.bin", { method: "HEAD" });
    expect(head.headers.get("content-length")).toBe(String(24 * MB));
    worker.finish(job);
  }, 180_000);
});
