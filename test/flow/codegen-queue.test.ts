import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { reconcileOnce } from "#hub/fleet/jobs/passes.ts";
import type { ScriptRun } from "#hub/fleet/runner/script-run.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { scriptedWorker } from "#test/support/fakes/scripted-worker.ts";
import { createQueue } from "#test/support/models/queue.ts";
import { RAN_WELL } from "#test/support/models/script-outcome.ts";
import { SUBMIT_WAIT_MS, startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** Scripted jobs in the queue (rules/scheduling#runners), with workers and a runner that the test plays. */

setDefaultTimeout(180_000);

let hub: TestHub;
let runs = createQueue<{ run: ScriptRun; end(): void }>();
afterEach(() => hub.close());

/** A hub whose scripts run until the test ends them, or the job does. */
async function start(options: TestHubOptions = {}): Promise<void> {
  runs = createQueue();
  hub = await startTestHub({
    alone: true,
    ...options,
    script_tools: {
      runScript: (_ctx, run) =>
        new Promise((resolve) => {
          const end = () => resolve(RAN_WELL);
          run.signal.addEventListener("abort", () => resolve({ ...RAN_WELL, end: "cancelled" }));
          runs.push({ run, end });
        }),
    },
  });
}

const rerun = async (): Promise<string> => {
  const answer = await hub.call("POST", "/jobs", {
    url: TARGET,
    options: { mode: "rerun", code: "log(1)" },
  });
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  expect(answer.body.status).toBe("queued");
  return answer.body.job_id;
};
const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;

test("a scripted job is queued at once, without a worker and without a 503 (rules/scripts#start-of-a-scripted-job)", async () => {
  await start();
  const job_id = await rerun();
  expect(await job(job_id)).toMatchObject({ status: "queued", mode: "rerun", queue_position: 1 });
  expect((await hub.call("GET", `/jobs/${job_id}/attempts`)).body).toEqual({ attempts: [] });
});

test("of 50 jobs submitted together three run at a time, in the order they came, and fetch jobs are not held up (rules/scheduling#runners)", async () => {
  await start();
  const worker = await scriptedWorker(hub, { lanes: 6 });
  const ids: string[] = [];
  for (let i = 0; i < 50; i += 1) ids.push(await rerun());
  for (let i = 0; i < 3; i += 1) await runs.next();
  // The three runners are taken, and three lanes are free for whoever fetches.
  for (let i = 0; i < 3; i += 1) {
    const answer = await hub.call("POST", "/jobs", { url: TARGET });
    expect(answer.body.status).toBe("running");
    worker.finish(await worker.assigned.next(({ job_id }) => job_id === answer.body.job_id));
  }
  expect(runs.all).toHaveLength(3);
  const order: string[] = [];
  for (let done = 0; done < 50; done += 1) {
    const next = runs.all[done] ?? (await runs.next());
    order.push(next.run.job_id);
    next.end();
    await hub.signals.next("job finished", { job_id: next.run.job_id });
    const running = runs.all.length - done - 1;
    expect(running).toBeLessThanOrEqual(3);
    if (done + 4 <= 50) while (runs.all.length < done + 4) await runs.next();
  }
  expect(order).toEqual(ids);
});

test("jobs that come within one millisecond stand in the queue in the order they came (rules/scheduling#order-of-the-queue)", async () => {
  await start({ clock: createFakeClock() });
  const ids: string[] = [];
  for (let i = 0; i < 12; i += 1) ids.push(await rerun());
  const { jobs } = (await hub.call("GET", "/jobs")).body;
  expect(jobs.map(({ job_id }: { job_id: string }) => job_id)).toEqual(ids.toReversed());
});

test("the last free lane of several is left to fetch jobs; a fleet of one lane runs scripts all the same", async () => {
  await start({ clock: createFakeClock() });
  const worker = await scriptedWorker(hub, { lanes: 2 });
  const [first, second] = [await rerun(), await rerun()];
  const running = await runs.next();
  expect(running.run.job_id).toBe(first);
  await worker.settle();
  expect((await job(second)).status).toBe("queued");
  expect((await hub.call("POST", "/jobs", { url: TARGET })).body.status).toBe("running");
  running.end();
  await hub.signals.next("lane freed");
  await worker.settle();
  // One of two lanes is free: still left.
  expect((await job(second)).status).toBe("queued");
  worker.finish(await worker.assigned.next());
  expect((await runs.next()).run.job_id).toBe(second);
});

/** The messages of what the job's story says of the wait, and its line in log.txt. */
async function waitStory(job_id: string): Promise<string[]> {
  const events = await hub.ctx.db.events.list(job_id, 0, 100);
  const said = events.filter(({ data }) => data.stage === "queued").map(({ data }) => data.message);
  const log = (await hub.call("GET", `/jobs/${job_id}/log.txt`)).text;
  for (const message of said) expect(log).toContain(String(message));
  return said.map(String);
}

test("beside an open session of a two-lane worker a script waits 20 s for the free lane, and says so (rules/scheduling#lane-reserve)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = await scriptedWorker(hub, { lanes: 2 });
  expect((await hub.call("POST", "/sessions", {})).status).toBe(201);
  const waiting = await rerun();
  await hub.ctx.dispatcher.exclusive(async () => {});
  await clock.advance(10_000);
  await worker.settle();
  expect(await job(waiting)).toMatchObject({
    status: "queued",
    stage: "queued",
    queue_position: 1,
    waiting_for: { reason: "lane_reserve" },
  });
  const left =
    "one lane is free, and is left to fetch jobs for up to 20 s (setting lane_reserve_s)";
  expect(await waitStory(waiting)).toEqual([left]);
  expect(hub.log.filter(({ job_id, reserve_s }) => job_id === waiting && reserve_s)).toHaveLength(
    1,
  );
  await clock.advance(9_000);
  expect((await job(waiting)).status).toBe("queued");
  await clock.advance(1_000);
  expect((await runs.next()).run.job_id).toBe(waiting);
  expect(await waitStory(waiting)).toHaveLength(1);
});

test("under steady load no younger fetch job passes a script that has waited 20 s (rules/scheduling#lane-reserve)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = await scriptedWorker(hub, { lanes: 2 });
  const fetch = async () => {
    const answer = await hub.call(
      "POST",
      "/jobs",
      { url: TARGET },
      { headers: { prefer: "respond-async" } },
    );
    return answer.body.job_id as string;
  };
  await fetch();
  await fetch();
  const older = await fetch();
  const script = await rerun();
  const younger = [await fetch(), await fetch(), await fetch(), await fetch()];
  const next = () => worker.assigned.next(({ options: { mode } }) => mode === "fetch");
  const one = await next();
  const two = await next();
  worker.finish(one);
  const three = await next();
  expect(three.job_id).toBe(older);
  // For the first 20 s younger ones may go first.
  worker.finish(two);
  const four = await next();
  expect(four.job_id).toBe(younger[0] ?? "");
  // Jobs of one moment are a millisecond apart.
  await clock.advance(20_100);
  expect((await job(script)).status).toBe("queued");
  worker.finish(three);
  expect((await runs.next()).run.job_id).toBe(script);
  worker.finish(four);
  expect((await next()).job_id).toBe(younger[1] ?? "");
});

test("the setting lane_reserve_s says for how long the last lane is left; 0 does not leave it", async () => {
  const clock = createFakeClock();
  await start({ clock });
  await scriptedWorker(hub, { lanes: 2 });
  expect((await hub.call("POST", "/sessions", {})).status).toBe(201);
  await hub.call("PATCH", "/settings", { lane_reserve_s: 45 });
  const first = await rerun();
  await clock.advance(44_999);
  expect((await job(first)).status).toBe("queued");
  await clock.advance(1);
  const running = await runs.next();
  expect(running.run.job_id).toBe(first);
  running.end();
  await hub.signals.next("lane freed");
  await hub.call("PATCH", "/settings", { lane_reserve_s: 0 });
  const second = await rerun();
  expect((await runs.next()).run.job_id).toBe(second);
});

test("a script waiting for a runner is the next to have one, however many fetch jobs came after it (rules/scheduling#runners)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  await hub.call("PATCH", "/settings", { max_concurrent_runs: 1 });
  const worker = await scriptedWorker(hub, { lanes: 2 });
  await rerun();
  const first = await runs.next();
  const waiting = await rerun();
  const younger: string[] = [];
  for (let i = 0; i < 4; i += 1) {
    const answer = await hub.call(
      "POST",
      "/jobs",
      { url: TARGET },
      { headers: { prefer: "respond-async" } },
    );
    younger.push(answer.body.job_id);
  }
  const next = () => worker.assigned.next(({ options: { mode } }) => mode === "fetch");
  const fetching = await next();
  await clock.advance(30_000);
  worker.heartbeat();
  await worker.settle();
  first.end();
  expect((await runs.next()).run.job_id).toBe(waiting);
  worker.finish(fetching);
  expect((await next()).job_id).toBe(younger[1] ?? "");
});

test("without pull-on-free a job of 90 s has the lane before the POST that waits for one (rules/scheduling#redrive)", async () => {
  const clock = createFakeClock();
  await start({
    clock,
    env: { SVC_QUEUE_PULL_ON_FREE: "0", SVC_QUEUE_REDRIVE_INTERVAL_S: "1000" },
  });
  const worker = await hub.worker({ lanes: 1 });
  const submit = () =>
    hub.call("POST", "/jobs", { url: TARGET }, { headers: { prefer: "respond-async" } });
  await submit();
  const first = await worker.assigned.next();
  const old = (await submit()).body.job_id;
  await clock.advance(90_100);
  worker.heartbeat();
  await worker.settle();
  const waiting = hub.call("POST", "/jobs", { url: TARGET });
  await clock.sleeperIn(SUBMIT_WAIT_MS);
  worker.finish(first);
  const second = await worker.assigned.next();
  expect(second.job_id).toBe(old);
  worker.finish(second);
  expect((await worker.assigned.next()).job_id).toBe((await waiting).body.job_id);
});

test("a fleet of one lane runs scripts", async () => {
  await start();
  await scriptedWorker(hub, { lanes: 1 });
  const job_id = await rerun();
  (await runs.next()).end();
  await hub.signals.next("job finished", { job_id });
  expect((await job(job_id)).status).toBe("completed");
});

test("the queue timeout counts the wait for a lane, not the wait for a runner (rules/scheduling#queue-timeout)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  await hub.ctx.db.settings.set("max_concurrent_runs", 1, clock.now());
  // What was read of the settings before is a second old by then.
  await clock.advance(1_001);
  const worker = await scriptedWorker(hub, { lanes: 3 });
  await rerun();
  const running = await runs.next();
  const waiting = await rerun();
  for (let minutes = 0; minutes < 5; minutes += 1) {
    await clock.advance(60_000);
    worker.heartbeat();
    await worker.settle();
  }
  await reconcileOnce(hub.ctx);
  expect((await job(waiting)).status).toBe("queued");
  running.end();
  await hub.signals.next("job finished");
  expect((await runs.next()).run.job_id).toBe(waiting);
});

test("a scripted job that waits for a lane alone is failed after the queue timeout (rules/scheduling#queue-timeout)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const job_id = await rerun();
  await clock.advance(181_000);
  await reconcileOnce(hub.ctx);
  expect(await job(job_id)).toMatchObject({
    status: "failed",
    error: "queue timeout: no worker took the job within 180 s: no worker is connected",
  });
});

test("cancelling a queued rerun leaves no attempt open (rules/scripts#ends-of-a-scripted-job)", async () => {
  await start();
  await scriptedWorker(hub, { lanes: 1 });
  const source = await rerun();
  (await runs.next()).end();
  await hub.signals.next("job finished", { job_id: source });
  await hub.signals.next("lane freed");
  await rerun(); // holds the lane
  await runs.next();
  const answer = await hub.call("POST", "/jobs", {
    url: TARGET,
    options: { mode: "rerun", rerun_from: source },
  });
  const { job_id } = answer.body;
  expect((await hub.call("POST", `/jobs/${job_id}/cancel`)).body.status).toBe("cancelled");
  expect(await hub.ctx.db.attempts.get(job_id, 1)).toMatchObject({
    state: "ended",
    script: "log(1)",
    verdict: { class: "cancelled" },
  });
});

test("a worker that ends a scripted run by itself has not completed the job", async () => {
  await start();
  const worker = await hub.worker({ lanes: 1 });
  const job_id = await rerun();
  worker.finish(await worker.assigned.next());
  await hub.signals.next("job finished", { job_id });
  expect(await job(job_id)).toMatchObject({
    status: "failed",
    error: "the worker ended the run before its script",
  });
});
