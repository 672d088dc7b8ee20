import { afterEach, expect, test } from "bun:test";
import { reconcileOnce, redriveOnce } from "#hub/fleet/jobs/passes.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { SUBMIT_WAIT_MS, startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** Redrive, assignments that are taken back, and the reconciler (rules/scheduling#redrive). */

let hub: TestHub;
const start = async (options?: TestHubOptions) => {
  hub = await startTestHub(options);
  return hub;
};
afterEach(() => hub.close());

const submit = (url = TARGET) => hub.call("POST", "/jobs", { url });
const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;
/** A job left in the queue by a POST that found no lane within its 50 ms. */
const queue = async (url?: string, clock?: FakeClock): Promise<string> => {
  const waiting = submit(url);
  await clock?.sleeperIn(SUBMIT_WAIT_MS);
  await clock?.advance(SUBMIT_WAIT_MS);
  const answer = await waiting;
  expect(answer.status).toBe(503);
  return answer.body.job_id;
};

test("redrive leaves a job younger than 90 s, and assigns it at 90 s (rules/scheduling#redrive)", async () => {
  const clock = createFakeClock();
  await start({ clock, env: { SVC_QUEUE_PULL_ON_FREE: "0" } });
  const job_id = await queue(TARGET, clock);
  await hub.worker();
  await clock.advance(89_999 - SUBMIT_WAIT_MS);
  await redriveOnce(hub.ctx);
  expect((await job(job_id)).status).toBe("queued");
  await clock.advance(1);
  await hub.signals.next("job assigned", { job_id });
  expect(await job(job_id)).toMatchObject({ status: "running", worker_id: "w11", lane_idx: 0 });
  const row = await job(job_id);
  expect(row.novnc_url).toContain(row.session_id);
});

test("the redrive loop runs every 3 s and can be switched off (rules/scheduling#redrive)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  await clock.sleeperIn(3_000);
  await hub.close();
  const quiet = createFakeClock();
  await start({ clock: quiet, env: { SVC_QUEUE_REDRIVE_DISABLE: "1" } });
  await quiet.sleeperIn(90_000);
  expect(quiet.sleepers()).not.toContain(3_000);
});

test("redrive takes at most SVC_QUEUE_REDRIVE_MAX_PER_PASS jobs per pass (rules/scheduling#redrive)", async () => {
  const clock = createFakeClock();
  await start({
    clock,
    env: {
      SVC_QUEUE_PULL_ON_FREE: "0",
      SVC_QUEUE_REDRIVE_MAX_PER_PASS: "2",
      SVC_QUEUE_REDRIVE_INTERVAL_S: "1000",
    },
  });
  for (let i = 0; i < 3; i += 1) await queue(TARGET, clock);
  await clock.advance(90_000);
  await hub.worker({ lanes: 5 });
  expect(await redriveOnce(hub.ctx)).toBe(2);
  expect(await redriveOnce(hub.ctx)).toBe(1);
});

test("redrive whose sending fails reverts the claim, and the next pass takes the job (rules/scheduling#redrive)", async () => {
  const clock = createFakeClock();
  await start({
    clock,
    env: { SVC_QUEUE_PULL_ON_FREE: "0", SVC_QUEUE_REDRIVE_INTERVAL_S: "1000" },
  });
  const job_id = await queue(TARGET, clock);
  const worker = await hub.worker();
  await clock.advance(90_000);
  const link = hub.ctx.links.get("w11");
  if (!link) throw new Error("no link");
  const send = link.send.bind(link);
  link.send = (message) => message.type !== "HubAssignJob" && send(message);
  expect(await redriveOnce(hub.ctx)).toBe(1);
  await hub.signals.next("job requeued", { job_id });
  expect(await job(job_id)).toMatchObject({ status: "queued", worker_id: null, novnc_url: null });
  expect(worker.assigned.all).toEqual([]);
  link.send = send;
  worker.lane(0, { state: "warm" });
  await worker.settle();
  // Nothing pulls it meanwhile: only the next pass does.
  expect((await job(job_id)).status).toBe("queued");
  expect(await redriveOnce(hub.ctx)).toBe(1);
  expect((await worker.assigned.next()).job_id).toBe(job_id);
  await hub.signals.next("job assigned", { job_id });
});

test("an assignment the worker refuses is reverted and retried once the lane says warm again (rules/scheduling#assignments-taken-back)", async () => {
  await start();
  const worker = await hub.worker({ on_assign: "refuse" });
  const job_id = await queue();
  await hub.signals.next("job requeued", { job_id });
  expect(await job(job_id)).toMatchObject({ status: "queued", worker_id: null, novnc_url: null });
  worker.lane(0, { state: "warm" });
  await hub.signals.next("job requeued", { job_id });
  expect(worker.assigned.all.length).toBe(2);
  expect(await hub.ctx.leases.list("w11")).toEqual([]);
});

test("an assignment without an answer for 5 s is reverted and the worker told to stop (rules/scheduling#assignments-taken-back)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = await hub.worker({ on_assign: "never" });
  const waiting = submit();
  const assigned = await worker.assigned.next();
  await clock.sleeperIn(5_000);
  await clock.advance(5_000);
  await hub.signals.next("job requeued", { job_id: assigned.job_id });
  expect(await worker.messages.next((m) => m.type === "HubCancelJob")).toMatchObject({
    job_id: assigned.job_id,
    lease_token: assigned.lease_token,
  });
  expect((await waiting).status).toBe(503);
  // Taken after all: the hub says no again, and the job stays where it is.
  worker.send({ type: "JobAccepted", job_id: assigned.job_id, lease_token: assigned.lease_token });
  await worker.messages.next((m) => m.type === "HubCancelJob");
  expect((await job(assigned.job_id)).status).toBe("queued");
});

test("an assignment whose link closes before the answer goes back to the queue, not to failed (rules/scheduling#assignments-taken-back)", async () => {
  await start();
  const worker = await hub.worker({ on_assign: "never" });
  const waiting = submit();
  const { job_id } = await worker.assigned.next();
  await worker.close();
  await hub.signals.next("job requeued", { job_id });
  await hub.signals.next("link closed", { worker_id: "w11" });
  await waiting;
  expect(await job(job_id)).toMatchObject({ status: "queued", worker_id: null });
});

test("the reconciler runs every 90 s and fails a job queued for 180 s (rules/scheduling#queue-timeout)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  await clock.sleeperIn(90_000);
  const job_id = await queue(TARGET, clock);
  await clock.advance(179_999 - SUBMIT_WAIT_MS);
  await reconcileOnce(hub.ctx);
  expect((await job(job_id)).status).toBe("queued");
  await clock.advance(1);
  await reconcileOnce(hub.ctx);
  expect(await job(job_id)).toMatchObject({
    status: "failed",
    error: expect.stringContaining("queue timeout"),
  });
});

test("the reconciler fails a running job of 300 s whose worker is not alive, and no younger one (rules/scheduling#reconciler)", async () => {
  const clock = createFakeClock();
  await start({
    clock,
    env: { SVC_STALE_RECONCILE_INTERVAL_S: "100000", SVC_QUEUE_REDRIVE_DISABLE: "1" },
  });
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  await clock.advance(1);
  // As left behind by a hub that died: the row says running, no hub knows the worker.
  hub.ctx.links.delete("w11");
  await hub.ctx.kv.delete("worker:w11");
  await clock.advance(299_998);
  await reconcileOnce(hub.ctx);
  expect((await job(job_id)).status).toBe("running");
  await clock.advance(1);
  await reconcileOnce(hub.ctx);
  expect(await job(job_id)).toMatchObject({ status: "failed", error: "worker w11 is not alive" });
  await worker.close();
});

test("the reconciler leaves an old running job alone while its worker lives (rules/scheduling#reconciler)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  for (let i = 0; i < 4; i += 1) {
    await clock.advance(100_000);
    await worker.settle();
  }
  await reconcileOnce(hub.ctx);
  expect((await job(job_id)).status).toBe("running");
});
