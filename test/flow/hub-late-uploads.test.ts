import { afterEach, expect, test } from "bun:test";
import { reconcileOnce } from "#hub/fleet/jobs/passes.ts";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { LOST } from "#test/support/models/lost.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** A job that waits for a store is running, and its lane is another's (rules/capture#jobs-that-outlast-their-store). */

let hub: TestHub;
let worker: FakeWorker;
afterEach(() => hub.close());

const CAPTURE = {
  seen: 1,
  captured: 1,
  partial: 0,
  lost: 0,
  skipped: 0,
  ratio: 1,
  reasons: {},
  method: "durable" as const,
};
const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;

/** A running job whose lane is warm again while it uploads. */
async function uploading(options: TestHubOptions = {}): Promise<HubAssignJob> {
  hub = await startTestHub(options);
  worker = await hub.worker();
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const assigned = await worker.assigned.next((each) => each.job_id === job_id);
  const { lease_token } = assigned;
  worker.send({ type: "JobUploading", job_id, lease_token });
  worker.reset(0);
  await worker.settle();
  return assigned;
}

test("the hub says that it knows of such jobs", async () => {
  await uploading();
  expect((await worker.registered).late_uploads).toBe(true);
});

test("its lane runs the next job, its uploads and its result are taken under its own lease", async () => {
  const first = await uploading();
  expect(await hub.ctx.leases.list("w11")).toEqual([]);
  expect((await job(first.job_id)).status).toBe("running");
  const next = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const second = await worker.assigned.next((each) => each.job_id === next.job_id);
  expect(second.lane_idx).toBe(first.lane_idx);

  expect((await worker.putAsset(first, "late", { name: "late.txt" })).status).toBe(200);
  expect((await worker.putDocument(first, "page.html", "<p>late</p>")).status).toBe(200);
  worker.log(first, "upload", "the hub stores again");
  worker.result(first, { capture: CAPTURE });
  await worker.settle();
  expect(await job(first.job_id)).toMatchObject({ status: "completed", capture: CAPTURE });
  expect((await job(second.job_id)).status).toBe("running");
  expect((await worker.putAsset(first, "later", { name: "later.txt" })).status).toBe(409);
  worker.finish(second);
  await worker.settle();
  expect((await job(second.job_id)).status).toBe("completed");
});

test("its session has ended with its page", async () => {
  const { session_id } = await uploading();
  expect((await hub.call("GET", `/sessions/${session_id}`)).status).toBe(404);
});

test("the reconciler and heartbeats leave it alone; the loss of its worker fails it", async () => {
  const clock = createFakeClock();
  const { job_id } = await uploading({ clock });
  await clock.advance(60_000);
  worker.heartbeat();
  worker.heartbeat();
  await worker.settle();
  await clock.advance(100_000);
  worker.heartbeat();
  await worker.settle();
  await clock.advance(100_000);
  worker.heartbeat();
  await worker.settle();
  await clock.advance(60_000);
  await reconcileOnce(hub.ctx);
  expect((await job(job_id)).status).toBe("running");
  await worker.close();
  await hub.signals.next("job finished", { job_id });
  expect(await job(job_id)).toMatchObject({ status: "failed", error: LOST });
});

test("a cancel reaches it, and frees nothing of the job that has its lane by now", async () => {
  const first = await uploading();
  const next = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const second = await worker.assigned.next((each) => each.job_id === next.job_id);
  expect((await hub.call("POST", `/jobs/${first.job_id}/cancel`)).status).toBe(200);
  const { job_id, lease_token } = first;
  const cancel = await worker.messages.next((each) => each.type === "HubCancelJob");
  expect(cancel).toMatchObject({ job_id, lease_token });
  worker.heartbeat();
  await worker.settle();
  expect(hub.ctx.links.get("w11")?.uploading.size).toBe(0);
  expect((await job(second.job_id)).status).toBe("running");
});

test("without that message a lane that is free again has no job", async () => {
  hub = await startTestHub();
  worker = await hub.worker();
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  await worker.assigned.next((each) => each.job_id === job_id);
  worker.reset(0);
  await worker.settle();
  expect((await job(job_id)).error).toBe("worker w11 ended the run without a result");
});
