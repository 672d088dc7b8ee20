import { afterEach, expect, test } from "bun:test";
import { reconcileOnce } from "#hub/fleet/jobs/passes.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { JobEvent } from "#shared/protocol/schema/job.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { LOST } from "#test/support/models/lost.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** The hub while a store fails under it, and lost races: nothing stays stuck. */

let hub: TestHub;
const start = async (options?: TestHubOptions) => {
  hub = await startTestHub(options);
  return hub;
};
afterEach(() => hub.close());

const submit = () => hub.call("POST", "/jobs", { url: TARGET });
const job = async (job_id: string) => (await hub.call("GET", `/jobs/${job_id}`)).body;

/** Makes the next `times` calls of a repository function reject; resolves `failed` when they have. */
function breakCalls<T extends object, K extends keyof T>(repo: T, name: K, times = 1) {
  const original = repo[name];
  let left = times;
  repo[name] = ((...args: unknown[]) => {
    left -= 1;
    if (left <= 0) repo[name] = original;
    return Promise.reject(new Error(`no ${String(name)} now: ${args.length}`));
  }) as T[K];
}

test("a claim that fails gives its lane back; the next pass assigns the job", async () => {
  const clock = createFakeClock();
  await start({ clock, env: { SVC_SUBMIT_WAIT_S: "" } });
  const worker = await hub.worker();
  breakCalls(hub.ctx.db.jobs, "claim");
  const waiting = submit();
  await clock.sleeperIn(8_000);
  // The liveness loop asks again after a failed pass.
  await clock.advance(5_000);
  expect((await waiting).body.status).toBe("running");
  expect(worker.assigned.all.length).toBe(1);
});

test("a claimed job whose message cannot be made goes back to the queue and to the next lane", async () => {
  await start();
  const worker = await hub.worker({ lanes: 2 });
  breakCalls(hub.ctx.db.events, "append");
  const answer = await submit();
  const assigned = await worker.assigned.next();
  await hub.signals.next("job assigned", { job_id: assigned.job_id });
  const job_id = answer.body.job_id;
  expect(await job(job_id)).toMatchObject({ status: "running", lane_idx: 1 });
  expect((await hub.ctx.leases.list("w11")).map((lease) => lease.lane_idx)).toEqual([1]);
});

test("a result that cannot be stored is stored when it can be: the job ends as its worker reported (rules/jobs#results-while-the-database-is-away)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  breakCalls(hub.ctx.db.jobs, "finish", 2);
  worker.finish(await worker.assigned.next());
  await hub.signals.next("lane freed");
  expect(await job(job_id)).toMatchObject({ status: "running" });
  // Once more in vain, then the database is back.
  await clock.advance(1_000);
  expect(await job(job_id)).toMatchObject({ status: "running" });
  await clock.advance(1_000);
  expect(await job(job_id)).toMatchObject({ status: "completed", error: null });
  expect((await submit()).status).toBe(200);
});

test("lines of a job that the database does not take are stored when it does, before the job's end (rules/jobs#results-while-the-database-is-away)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  const assigned = await worker.assigned.next();
  const { append } = hub.ctx.db.events;
  const { finish } = hub.ctx.db.jobs;
  const full = async () => {
    throw new AppError("unavailable", "the disk of the database is full");
  };
  hub.ctx.db.events.append = full;
  hub.ctx.db.jobs.finish = full;
  worker.log(assigned, "upload", "one");
  worker.log(assigned, "upload", "two");
  worker.finish(assigned);
  await hub.signals.next("lane freed");
  hub.ctx.db.events.append = append;
  hub.ctx.db.jobs.finish = finish;
  await clock.advance(1_000);
  await hub.signals.next("job finished", { job_id });
  const { events } = (await hub.call("GET", `/jobs/${job_id}/events.json`)).body;
  const told = events.map(({ type, data }: JobEvent) => (type === "log" ? data.message : type));
  expect(told.slice(-3)).toEqual(["one", "two", "done"]);
});

test("a job that runs while its living worker holds no lane for it is failed by the reconciler", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  // Neither the end of the job nor the revert was stored.
  hub.ctx.links.get("w11")?.held.clear();
  for (let i = 0; i < 3; i += 1) {
    await clock.advance(100_000);
    await worker.settle();
  }
  await reconcileOnce(hub.ctx);
  expect(await job(job_id)).toMatchObject({
    status: "failed",
    error: "worker w11 holds no lane for the job",
  });
});

test("a result that could not be stored counts also when its worker was lost meanwhile (rules/jobs#results-while-the-database-is-away)", async () => {
  await start({ clock: createFakeClock() });
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  breakCalls(hub.ctx.db.jobs, "finish");
  worker.finish(await worker.assigned.next());
  await hub.signals.next("lane freed");
  await worker.close();
  await hub.signals.next("link closed");
  expect((await job(job_id)).status).toBe("completed");
});

test("a link whose end cannot be stored is gone all the same; the next registration fails its jobs", async () => {
  await start();
  const worker = await hub.worker();
  const { job_id } = (await submit()).body;
  breakCalls(hub.ctx.db.jobs, "failRunningUnder");
  await worker.close();
  await hub.signals.next("link closed");
  expect((await job(job_id)).status).toBe("running");
  await hub.worker();
  expect(await job(job_id)).toMatchObject({ status: "failed", error: LOST });
});

test("a registration that cannot be stored closes the link, and the worker may come again", async () => {
  await start();
  breakCalls(hub.ctx.db.workers, "seen");
  expect((await hub.dial().closed).code).toBe(1011);
  await hub.signals.next("link closed");
  await hub.worker();
  expect((await submit()).status).toBe(200);
});

test("the two ends of a job race: exactly one wins, and only it tells the followers", async () => {
  await start();
  const worker = await hub.worker({ lanes: 5 });
  for (let i = 0; i < 5; i += 1) {
    const { job_id } = (await submit()).body;
    const assigned = await worker.assigned.next();
    worker.result(assigned);
    const cancel = await hub.call("POST", `/jobs/${job_id}/cancel`);
    const { accepted } = (await worker.messages.next((m) => m.type === "HubResultAck")) as {
      accepted: boolean;
    };
    expect(accepted).toBe(cancel.status !== 200);
    expect((await job(job_id)).status).toBe(accepted ? "completed" : "cancelled");
    const ends = (await hub.ctx.db.events.list(job_id, 0, 100)).filter((e) => e.type !== "log");
    expect(ends.length).toBe(1);
  }
});

test("cancelling while the worker has not answered yet leaves the job cancelled and the lane usable", async () => {
  const clock = createFakeClock();
  await start({ clock, env: { SVC_SUBMIT_WAIT_S: "" } });
  const worker = await hub.worker({ on_assign: "never" });
  const waiting = submit();
  const assigned = await worker.assigned.next();
  const cancelled = await hub.call("POST", `/jobs/${assigned.job_id}/cancel`);
  expect(cancelled.body.status).toBe("cancelled");
  expect((await waiting).body.status).toBe("cancelled");
  await clock.sleeperIn(5_000);
  await clock.advance(5_000);
  await hub.signals.next("lane freed");
  worker.lane(0, { state: "warm" });
  const next = submit();
  expect((await worker.assigned.next()).job_id).not.toBe(assigned.job_id);
  worker.send({ type: "JobAccepted", ...(await leaseOf("w11")) });
  expect((await next).body.status).toBe("running");
});

const leaseOf = async (worker_id: string) => {
  const [lease] = await hub.ctx.leases.list(worker_id);
  return { job_id: lease?.job_id ?? "", lease_token: lease?.token ?? 0 };
};

test("a key-value store that does not answer within 1.5 s is given up for the last good view (rules/workers#list-and-read-workers)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  await hub.worker();
  await hub.call("GET", "/workers");
  hub.ctx.kv.list = () => new Promise(() => {});
  const asked = hub.call("GET", "/workers");
  await clock.sleeperIn(1_500);
  await clock.advance(1_500);
  expect((await asked).body.workers.length).toBe(1);
});

test("the hub registry entry expires after 90 s and is renewed every 30 s (rules/cluster#registry-of-hubs)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const key = `hub:${hub.ctx.hub_id}`;
  await clock.sleeperIn(30_000);
  const ttls: number[] = [];
  const set = hub.ctx.kv.set;
  hub.ctx.kv.set = (at, value, ttl_ms) => {
    if (at === key) ttls.push(ttl_ms);
    return set(at, value, ttl_ms);
  };
  await clock.advance(300_000);
  expect(ttls).toEqual(Array.from({ length: 10 }, () => 90_000));
  expect(await hub.ctx.kv.get(key)).not.toBeNull();
});
