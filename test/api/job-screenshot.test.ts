import { afterEach, expect, test } from "bun:test";
import { createClient } from "flotilla";
import { type FakeBridge, startFakeBridge } from "#test/support/fakes/fake-bridge.ts";
import { type FakeWorkerOptions, sha256 } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
let bridge: FakeBridge;
afterEach(async () => {
  await hub.close();
  await bridge.stop();
});

const PICTURE = "not really a picture";
const picture = { mime: "image/jpeg", content_base64: Buffer.from(PICTURE).toString("base64") };

const start = async (on_call: FakeWorkerOptions["on_call"]) => {
  bridge = startFakeBridge();
  hub = await startTestHub();
  const { lane_novnc_urls } = bridge;
  const capabilities = { lane_novnc_urls, max_concurrent: 1 } as never;
  const worker = await hub.worker({ address: "127.0.0.1", capabilities, on_call });
  const { jobs } = createClient({ base_url: hub.url });
  const run = async () => {
    const { job_id } = await jobs.submit({ url: TARGET });
    return worker.assigned.next((job) => job.job_id === job_id);
  };
  return { worker, jobs, run };
};
const capture = (job_id: string, body: unknown = {}) =>
  hub.call("POST", `/jobs/${job_id}/screenshot/capture`, body);

test("POST /jobs/{id}/screenshot/capture stores the picture as an asset of the job and answers its item (rules/documents#screenshot-of-a-running-job)", async () => {
  const { worker, jobs, run } = await start(() => ({ result: picture }));
  const job = await run();
  const asset = await jobs.screenshot(job.job_id, { format: "jpeg", quality: 40, full_page: true });
  expect(asset).toMatchObject({
    kind: "image",
    mime: "image/jpeg",
    ext: "jpg",
    size: PICTURE.length,
    sha256: sha256(PICTURE),
    partial: false,
    refetched: false,
  });
  expect(asset.name).toMatch(/^screenshot-\d{8}T\d{9}Z\.jpg$/);
  const call = await worker.calls.next(() => true);
  expect(call).toMatchObject({
    action: "screenshot",
    args: { format: "jpeg", quality: 40, full_page: true },
  });
  expect(await (await jobs.download(job.job_id, asset.name)).text()).toBe(PICTURE);
  expect(await jobs.assets(job.job_id)).toEqual([asset]);
  expect((await jobs.get(job.job_id)).asset_count).toBe(1);
  const second = await jobs.screenshot(job.job_id);
  expect(second.name).not.toBe(asset.name);
});

test("a picture too large for the link comes through the worker's bridge (rules/documents#screenshot-of-a-running-job)", async () => {
  const { run } = await start(() => ({ blob: "blob-1" }));
  bridge.blobs.set("blob-1", JSON.stringify(picture));
  const answer = await capture((await run()).job_id);
  expect(answer).toMatchObject({ status: 200, body: { size: PICTURE.length } });
});

test("without a lane the capture is 409: queued, ended, and a job that ended while its picture was taken (rules/documents#screenshot-of-a-running-job)", async () => {
  const { worker, jobs, run } = await start(() => null);
  const job = await run();
  const queued = await jobs.submit({ url: TARGET }, { patience_ms: 0 });
  const none = { status: 409, body: { detail: "no lane is bound to this job" } };
  expect(await capture(queued.job_id)).toMatchObject(none);
  await jobs.cancel(queued.job_id);
  const taking = capture(job.job_id);
  const call = await worker.calls.next(() => true);
  const end = hub.ctx.db.jobs.finish(job.job_id, job.lease_token, {
    status: "completed",
    error: null,
    now: Date.now(),
  });
  await end;
  worker.reply(call, { result: picture });
  expect(await taking).toMatchObject(none);
  expect(await capture(job.job_id)).toMatchObject(none);
  expect(await jobs.assets(job.job_id)).toEqual([]);
  expect(await hub.ctx.objects.list(`jobs/${job.job_id}`)).toEqual([]);
  expect(await capture("nope")).toMatchObject({ status: 404, body: { detail: "job not found" } });
});

test("a capture says what is wrong: a bad field 422, what the page refused 422, a late worker 504, no picture 502 (rules/documents#screenshot-of-a-running-job)", async () => {
  const replies: ReturnType<NonNullable<FakeWorkerOptions["on_call"]>>[] = [
    { ok: false, kind: "page", error: { name: "Error", message: "no element matches #x" } },
    { ok: false, kind: "timeout", error: { name: "TimeoutError", message: "too slow" } },
    { result: { mime: "image/png" } },
  ];
  const { run } = await start(() => replies.shift() ?? null);
  const { job_id } = await run();
  expect((await capture(job_id, { format: "gif" })).status).toBe(422);
  expect((await capture(job_id, { unknown: 1 })).status).toBe(422);
  const refused = await capture(job_id, { selector: "#x" });
  expect(refused).toMatchObject({ status: 422, body: { detail: "no element matches #x" } });
  expect((await capture(job_id)).status).toBe(504);
  expect((await capture(job_id)).status).toBe(502);
});
