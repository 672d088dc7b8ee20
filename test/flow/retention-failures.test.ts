import { afterEach, expect, test } from "bun:test";
import { retainJobsOnce } from "#hub/fleet/jobs/retention.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { readMetrics, sampleOf } from "#test/support/models/prometheus-text.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/** What cannot be deleted keeps nothing else from being deleted, and a turn lasts as long as its deletions (rules/jobs#retention). */

/** A day would be thousands of passes of every loop of the hub. */
const SECOND_IN_DAYS = 1 / 86_400;
let hub: TestHub;
let clock: FakeClock;
let worker: FakeWorker;
/** Prefixes and keys whose deletion fails. */
let broken: Set<string>;
/** What happens before something is deleted. */
let beforeDelete: (prefix: string) => Promise<void>;

async function start(): Promise<void> {
  clock = createFakeClock();
  broken = new Set();
  beforeDelete = async () => {};
  hub = await startTestHub({ alone: true, clock });
  worker = await hub.worker();
  const { objects } = hub.ctx;
  const { deletePrefix, delete: deleteKey } = objects;
  const guarded = (remove: (key: string) => Promise<void>) => async (key: string) => {
    await beforeDelete(key);
    if (broken.has(key)) throw new Error("the file cannot be removed");
    await remove.call(objects, key);
  };
  Object.assign(objects, { deletePrefix: guarded(deletePrefix), delete: guarded(deleteKey) });
}
afterEach(() => hub.close());

const patch = async (settings: object) => {
  expect((await hub.call("PATCH", "/settings", settings)).status).toBe(200);
};
const there = async (...ids: string[]): Promise<boolean[]> => {
  const answers = await Promise.all(ids.map((id) => hub.call("GET", `/jobs/${id}`)));
  return answers.map(({ status }) => status === 200);
};

/** A job with an asset, ended; a second later. */
async function endedJob(): Promise<string> {
  const submitted = hub.call("POST", "/jobs", { url: TARGET });
  const job = await worker.assigned.next();
  await submitted;
  const { job_id } = job;
  expect((await worker.putAsset(job, "x".repeat(10))).status).toBe(200);
  worker.finish(job);
  await hub.signals.next("job finished", { job_id });
  await hub.signals.next("lane freed");
  await clock.advance(1_000);
  return job_id;
}
async function endedJobs(n: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < n) ids.push(await endedJob());
  return ids;
}

test("a job whose files cannot be deleted keeps none behind it, and goes with a later pass", async () => {
  await start();
  const [stuck = "", second = "", third = ""] = await endedJobs(3);
  broken.add(`jobs/${stuck}`);
  await patch({ retention_days: SECOND_IN_DAYS });
  await clock.advance(2_000);
  await retainJobsOnce(hub.ctx);
  expect(await there(stuck, second, third)).toEqual([true, false, false]);
  broken.clear();
  await retainJobsOnce(hub.ctx);
  expect(await there(stuck)).toEqual([false]);
});

test("what is too much goes although the oldest cannot, and that stays", async () => {
  await start();
  const [stuck = "", second = "", third = ""] = await endedJobs(3);
  broken.add(`jobs/${stuck}`);
  await patch({ retention_max_bytes: 20 });
  await retainJobsOnce(hub.ctx);
  expect(await there(stuck, second, third)).toEqual([true, false, true]);
  await patch({ retention_max_bytes: 0, retention_max_count: 1 });
  await retainJobsOnce(hub.ctx);
  expect(await there(stuck, third)).toEqual([true, false]);
});

test("while a store is away nothing younger goes in the place of what is due", async () => {
  await start();
  const [oldest = "", second = ""] = await endedJobs(2);
  broken.add(`jobs/${oldest}`);
  await patch({ retention_max_count: 1 });
  const away = [{ part: "object_store" as const, detail: "it does not answer" }];
  const ctx = { ...hub.ctx, stores_health: { degraded: async () => away } };
  await expect(retainJobsOnce(ctx)).rejects.toThrow("cannot be removed");
  expect(await there(oldest, second)).toEqual([true, true]);
});

test("what could not be deleted is counted, logged and a problem of the fleet until it is gone (rules/figures#problems)", async () => {
  await start();
  const ids = await endedJobs(2);
  for (const id of ids) broken.add(`jobs/${id}`);
  await patch({ retention_days: SECOND_IN_DAYS });
  await clock.advance(2_000);
  const problems = async () =>
    (await hub.call("GET", "/figures")).body.problems.filter(
      ({ kind }: { kind: string }) => kind === "retention",
    );
  await retainJobsOnce(hub.ctx);
  expect(await problems()).toMatchObject([
    {
      severity: "warn",
      detail: `job ${ids[0]} and 1 other: the file cannot be removed; the hub tries again every minute`,
    },
  ]);
  const samples = readMetrics((await hub.call("GET", "/metrics")).text);
  expect(sampleOf(samples, "flotilla_retention_failures_total", { what: "job" })).toBe(2);
  broken.clear();
  await retainJobsOnce(hub.ctx);
  await clock.advance(10_000);
  expect(await problems()).toEqual([]);
});

test("the trace of a session that cannot be deleted keeps no job, and goes with the next pass", async () => {
  await start();
  const opened = await hub.call("POST", "/sessions", {});
  const { session_id } = opened.body;
  await hub.ctx.objects.put(`session-traces/${session_id}`, Buffer.from("trace"));
  await hub.call("DELETE", `/sessions/${session_id}`);
  await hub.signals.next("lane freed");
  await clock.advance(1_000);
  const job_id = await endedJob();
  await clock.advance(2_000);
  broken.add(`session-traces/${session_id}`);
  await patch({ retention_days: SECOND_IN_DAYS });
  await retainJobsOnce(hub.ctx);
  expect(await there(job_id)).toEqual([false]);
  expect(await hub.ctx.objects.list("session-traces")).toHaveLength(1);
  broken.clear();
  await retainJobsOnce(hub.ctx);
  expect(await hub.ctx.objects.list("session-traces")).toEqual([]);
});

test("a turn lasts as long as its deletions, however long they take", async () => {
  await start();
  const ids = await endedJobs(3);
  await patch({ retention_days: SECOND_IN_DAYS });
  await clock.advance(2_000);
  const one = { ...hub.ctx, hub_id: "one" };
  const other = { ...hub.ctx, hub_id: "other" };
  await hub.ctx.kv.delete("turn:job-retention");
  const began: string[] = [];
  beforeDelete = async (prefix) => {
    if (!prefix.startsWith("jobs/")) return;
    began.push(prefix);
    await clock.advance(120_000);
    await retainJobsOnce(other);
  };
  await retainJobsOnce(one);
  expect(began).toEqual(ids.map((id) => `jobs/${id}`));
  expect(await there(...ids)).toEqual([false, false, false]);
});

test("a hub that has lost its turn in the middle of a deletion begins no other", async () => {
  await start();
  const ids = await endedJobs(2);
  await patch({ retention_days: SECOND_IN_DAYS });
  await clock.advance(2_000);
  const one = { ...hub.ctx, hub_id: "one" };
  await hub.ctx.kv.delete("turn:job-retention");
  beforeDelete = async (prefix) => {
    if (prefix.startsWith("jobs/"))
      await hub.ctx.kv.set("turn:job-retention", { hub_id: "other" }, 60_000);
  };
  await retainJobsOnce(one);
  expect(await there(...ids)).toEqual([false, true]);
});
