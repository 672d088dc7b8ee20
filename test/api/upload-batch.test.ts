import { afterAll, beforeAll, expect, test } from "bun:test";
import { batchHead, MAX_BATCH_BODIES, MAX_BATCH_BYTES } from "#shared/protocol/asset-batch.ts";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import { assetMeta } from "#test/support/clients/asset-meta.ts";
import { type FakeWorker, sha256 } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { storedBelow } from "#test/support/servers/objects.ts";

let hub: TestHub;
let worker: FakeWorker;
beforeAll(async () => {
  hub = await startTestHub({ env: { SVC_MAX_ASSET_BYTES: String(8 * 1024 * 1024) } });
  worker = await hub.worker({ lanes: 50 });
});
afterAll(() => hub.close());

const run = async (): Promise<HubAssignJob> => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  return worker.assigned.next((job) => job.job_id === job_id);
};
const files = (job: HubAssignJob) => storedBelow(hub, `jobs/${job.job_id}/assets`);
const listed = async (job: HubAssignJob): Promise<string[]> =>
  (await hub.call("GET", `/jobs/${job.job_id}/assets.json`)).body.items.map(
    (item: { name: string }) => item.name,
  );
const entry = (name: string, body: string, sum = sha256(body)) =>
  Buffer.concat([batchHead(assetMeta(name), Buffer.byteLength(body), sum), Buffer.from(body)]);

const put = async (
  job: HubAssignJob,
  body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
  headers: Record<string, string> = {},
) => {
  const { upload_token } = await worker.registered;
  const answer = await fetch(`${hub.url}/workers/w11/jobs/${job.job_id}/assets`, {
    method: "PUT",
    body,
    headers: {
      Authorization: `Bearer ${upload_token}`,
      "X-Lease-Token": String(job.lease_token),
      ...headers,
    },
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  return { status: answer.status, body: (await answer.json()) as any };
};

test("a batch stores every body, byte for byte, and answers each in its order", async () => {
  const job = await run();
  const bodies = ["first", "", "x".repeat(300_000)];
  const answer = await put(job, Buffer.concat(bodies.map((body, i) => entry(`n${i}`, body))));
  expect(answer).toEqual({
    status: 200,
    body: {
      items: bodies.map((body, i) => ({ name: `n${i}`, size: body.length, sha256: sha256(body) })),
    },
  });
  expect(await listed(job)).toEqual(["n0", "n1", "n2"]);
  for (const [i, body] of bodies.entries())
    expect((await hub.call("GET", `/jobs/${job.job_id}/assets/n${i}`)).text).toBe(body);
  expect((await hub.call("GET", `/jobs/${job.job_id}`)).body).toMatchObject({
    asset_count: 3,
    asset_bytes: 300_005,
  });
});

test("a batch sent again is answered the same and stored once; a changed body replaces its own only", async () => {
  const job = await run();
  const batch = Buffer.concat([entry("a", "one"), entry("b", "two")]);
  const first = await put(job, batch);
  expect(await put(job, batch)).toEqual(first);
  await put(job, Buffer.concat([entry("a", "one"), entry("b", "three")]));
  expect((await hub.call("GET", `/jobs/${job.job_id}`)).body).toMatchObject({
    asset_count: 2,
    asset_bytes: 8,
  });
  expect((await hub.call("GET", `/jobs/${job.job_id}/assets/b`)).text).toBe("three");
});

test("one body with a wrong checksum is refused in its place, the others are stored", async () => {
  const job = await run();
  const bad = entry("bad", "two", sha256("other"));
  const answer = await put(job, Buffer.concat([entry("a", "one"), bad, entry("c", "three")]));
  expect(answer.status).toBe(200);
  expect(answer.body.items).toMatchObject([
    { name: "a" },
    { name: "bad", error: { status: 422 } },
    { name: "c" },
  ]);
  expect(await listed(job)).toEqual(["a", "c"]);
  expect(await files(job)).toEqual(["a", "c"]);
});

test("a body above SVC_MAX_ASSET_BYTES is refused in its place", async () => {
  const small = await startTestHub({ env: { SVC_MAX_ASSET_BYTES: "1000" } });
  try {
    const own = await small.worker();
    await small.call("POST", "/jobs", { url: TARGET });
    const job = await own.assigned.next();
    const { upload_token } = await own.registered;
    const batch = Buffer.concat([entry("big", "x".repeat(1_001)), entry("a", "x")]);
    const answer = await fetch(`${small.url}/workers/w11/jobs/${job.job_id}/assets`, {
      method: "PUT",
      body: batch,
      headers: {
        Authorization: `Bearer ${upload_token}`,
        "X-Lease-Token": String(job.lease_token),
      },
    });
    expect(await answer.json()).toMatchObject({
      items: [
        { name: "big", error: { status: 413 } },
        { name: "a", size: 1 },
      ],
    });
  } finally {
    await small.close();
  }
});

test("a batch that is not well formed is 422 naming the entry, and leaves nothing", async () => {
  const job = await run();
  const good = entry("a", "one");
  const longHead = Buffer.alloc(70_004, " ");
  longHead.writeUInt32BE(70_000);
  const many = Array.from({ length: MAX_BATCH_BODIES + 1 }, (_, i) => entry(`n${i}`, "x"));
  for (const [batch, index] of [
    [Buffer.concat([good, entry("b", "two").subarray(0, -1)]), 1],
    [Buffer.concat([good, longHead]), 1],
    [Buffer.concat([good, entry("../b", "two")]), 1],
    [Buffer.concat([good, good]), 1],
    [Buffer.concat(many), MAX_BATCH_BODIES],
  ] as const) {
    const answer = await put(job, batch);
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0].loc.slice(0, 2)).toEqual(["body", index]);
  }
  expect(await files(job)).toEqual([]);
  expect(await listed(job)).toEqual([]);
});

test("a batch longer than its limit is 413, announced or not", async () => {
  const job = await run();
  const long = new Uint8Array(MAX_BATCH_BYTES + 1);
  expect((await put(job, long)).status).toBe(413);
  expect((await put(job, new Blob([long]).stream())).status).toBe(413);
  expect(await files(job)).toEqual([]);
});

test("a batch is 401 without the token, 409 under another lease or for a job that ended, and leaves nothing", async () => {
  const job = await run();
  const batch = entry("a", "one");
  expect((await put(job, batch, { Authorization: "Bearer nope" })).status).toBe(401);
  expect(await put(job, batch, { "X-Lease-Token": "1" })).toEqual({
    status: 409,
    body: { detail: "stale lease" },
  });
  await hub.call("POST", `/jobs/${job.job_id}/cancel`);
  expect((await put(job, batch)).status).toBe(409);
  expect(await files(job)).toEqual([]);
});

test("a batch that comes in while its job goes back to the queue leaves nothing", async () => {
  const job = await run();
  await put(job, entry("a", "before"));
  const batch = Buffer.concat([entry("a", "after!"), entry("b", "two")]);
  const second = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    start: async (out) => {
      out.enqueue(batch.subarray(0, 10));
      await second.promise;
      out.enqueue(batch.subarray(10));
      out.close();
    },
  });
  const answer = put(job, body);
  await hub.call("GET", "/health");
  await hub.ctx.db.jobs.unclaim(job.job_id, job.lease_token);
  second.resolve();
  expect((await answer).status).toBe(409);
  expect(await files(job)).toEqual(["a"]);
  expect((await hub.call("GET", `/jobs/${job.job_id}/assets/a`)).text).toBe("before");
  await hub.call("POST", `/jobs/${job.job_id}/cancel`);
});
