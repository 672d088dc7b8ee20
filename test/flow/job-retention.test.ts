import { afterEach, expect, test } from "bun:test";
import { RETAIN_JOBS_EVERY_MS, retainJobsOnce } from "#hub/fleet/jobs/retention.ts";
import { retainRecordings } from "#hub/fleet/recordings/keep.ts";
import { newPass } from "#hub/fleet/retention/delete-oldest.ts";
import type { RecordingRow } from "#hub/platform/db/rows.ts";
import { emptyIndex } from "#shared/recording/index-of.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/** Settings retention_days, retention_max_bytes and retention_max_count (rules/jobs#retention): jobs that have ended go, with everything of theirs. */

/** What is stored of a recording besides what a test names. */
const RECORDING = {
  mode: "events" as const,
  state: "live" as const,
  ended_at: null,
  body_bytes: 0,
  has_screen: false,
  parts: [],
  contents: emptyIndex(),
};

/** A day would be thousands of passes of every loop of the hub. */
const SECOND_IN_DAYS = 1 / 86_400;
let hub: TestHub;
let clock: FakeClock;
let worker: FakeWorker;
const start = async () => {
  clock = createFakeClock();
  hub = await startTestHub({ alone: true, clock });
  worker = await hub.worker();
};
afterEach(() => hub.close());

const patch = async (settings: object) => {
  expect((await hub.call("PATCH", "/settings", settings)).status).toBe(200);
};
const there = async (...ids: string[]): Promise<boolean[]> => {
  const answers = await Promise.all(ids.map((id) => hub.call("GET", `/jobs/${id}`)));
  return answers.map(({ status }) => status === 200);
};

async function runningJob(size: number) {
  const submitted = hub.call("POST", "/jobs", { url: TARGET });
  const job = await worker.assigned.next();
  await submitted;
  if (size > 0) expect((await worker.putAsset(job, "x".repeat(size))).status).toBe(200);
  return job;
}

/** A job with an asset of `size` bytes and a page, ended; a second later. */
async function endedJob(size: number, page: string | null = "<p>"): Promise<string> {
  const job = await runningJob(size);
  const { job_id } = job;
  if (page !== null) expect((await worker.putDocument(job, "page.html", page)).status).toBe(200);
  worker.finish(job);
  await hub.signals.next("job finished", { job_id });
  await hub.signals.next("lane freed");
  await clock.advance(1_000);
  return job_id;
}

test("retention_days: what ended longer ago goes with files, assets and events; what is younger or runs stays", async () => {
  await start();
  const old = await endedJob(10);
  await clock.advance(2_000);
  const young = await endedJob(10);
  const { job_id: running } = await runningJob(10);
  await patch({ retention_days: 2 * SECOND_IN_DAYS });
  await retainJobsOnce(hub.ctx);
  expect(await there(old, young, running)).toEqual([false, true, true]);
  expect(await hub.ctx.objects.list(`jobs/${old}`)).toEqual([]);
  expect((await hub.ctx.objects.list(`jobs/${young}`)).length).toBe(2);
  expect(await hub.ctx.db.events.list(old, 0, 10)).toEqual([]);
  expect(await hub.ctx.db.assets.list(old)).toEqual([]);
});

test("jobs go although recordings cannot be deleted (rules/jobs#retention)", async () => {
  await start();
  const old = await endedJob(10);
  await clock.advance(2_000);
  hub.ctx.db.recordings.oldestEnded = () => Promise.reject(new Error("the disk is read-only"));
  await patch({ retention_days: SECOND_IN_DAYS, recording_days: SECOND_IN_DAYS });
  await retainJobsOnce(hub.ctx);
  expect(await there(old)).toEqual([false]);
});

test("recordings are left to another hub whose turn it has become (rules/recordings#how-long-recordings-are-kept)", async () => {
  await start();
  const asked: string[] = [];
  const row = { run_id: "r", sealed: 1, body_bytes: 0, ended_at: 1 } as RecordingRow;
  hub.ctx.db.recordings.oldestEnded = async () => [row];
  hub.ctx.db.recordings.delete = async (run_id) => void asked.push(run_id);
  await patch({ recording_days: SECOND_IN_DAYS });
  await retainRecordings(
    hub.ctx,
    newPass(async () => false),
  );
  expect(asked).toEqual([]);
  await retainRecordings(hub.ctx);
  expect(asked).toEqual(["r"]);
});

test("retention_max_bytes: the oldest that ended go while all files of jobs are over it, those without any never", async () => {
  await start();
  const empty = await endedJob(0, null);
  const page = await endedJob(0);
  const ids = [await endedJob(100), await endedJob(100), await endedJob(100)];
  const { job_id: running } = await runningJob(100);
  await patch({ retention_max_bytes: 412 });
  await retainJobsOnce(hub.ctx);
  expect(await there(empty, page, ...ids, running)).toEqual([true, true, true, true, true, true]);
  await patch({ retention_max_bytes: 306 });
  await retainJobsOnce(hub.ctx);
  expect(await there(empty, page, ...ids, running)).toEqual([
    ...[true, false, false],
    ...[true, true, true],
  ]);
  // What runs counts and stays, however little is allowed.
  await patch({ retention_max_bytes: 1 });
  await retainJobsOnce(hub.ctx);
  expect(await there(empty, ...ids, running)).toEqual([true, false, false, false, true]);
  expect(await hub.ctx.db.jobs.fileBytes()).toBe(100);
});

test("retention_max_bytes counts documents, each as it is now, and no recordings, which have a bound of their own (rules/jobs#retention)", async () => {
  await start();
  const job = await runningJob(0);
  for (const size of [900, 100])
    expect((await worker.putDocument(job, "har.json", "x".repeat(size))).status).toBe(200);
  worker.finish(job);
  await hub.signals.next("job finished", { job_id: job.job_id });
  await hub.signals.next("lane freed");
  const recorded = await endedJob(0, null);
  const row = { ...RECORDING, run_id: "run1", job_id: recorded, session_id: "s1", sealed: 900 };
  await hub.ctx.db.recordings.begin({ ...row, started_at: clock.now() });
  expect(await hub.ctx.db.jobs.fileBytes()).toBe(100);
  await patch({ retention_max_bytes: 100 });
  await retainJobsOnce(hub.ctx);
  expect(await there(job.job_id, recorded)).toEqual([true, true]);
  await patch({ retention_max_bytes: 99 });
  await retainJobsOnce(hub.ctx);
  expect(await there(job.job_id, recorded)).toEqual([false, true]);
  expect(await hub.ctx.db.jobs.fileBytes()).toBe(0);
});

test("retention_max_count: the oldest that ended go beyond it, with assets or without", async () => {
  await start();
  const ids = [await endedJob(0), await endedJob(10), await endedJob(10)];
  const { job_id: running } = await runningJob(10);
  await patch({ retention_max_count: 2 });
  await retainJobsOnce(hub.ctx);
  expect(await there(...ids, running)).toEqual([false, true, true, true]);
  await patch({ retention_max_count: 1 });
  await retainJobsOnce(hub.ctx);
  expect(await there(...ids, running)).toEqual([false, false, true, true]);
});

test("without bounds nothing goes; with one the hub looks by itself every minute", async () => {
  await start();
  const job_id = await endedJob(1);
  await retainJobsOnce(hub.ctx);
  expect(await there(job_id)).toEqual([true]);
  await patch({ retention_days: SECOND_IN_DAYS });
  await clock.advance(RETAIN_JOBS_EVERY_MS);
  while ((await there(job_id))[0]) await clock.advance(1);
});

test("one hub of a fleet does it; another takes its place when that one is gone", async () => {
  await start();
  const job_id = await endedJob(1);
  await retainJobsOnce(hub.ctx);
  await patch({ retention_max_bytes: 1, retention_days: SECOND_IN_DAYS });
  const other = { ...hub.ctx, hub_id: "other" };
  await retainJobsOnce(other);
  expect(await there(job_id)).toEqual([true]);
  await hub.ctx.kv.delete("turn:job-retention");
  await retainJobsOnce(other);
  expect(await there(job_id)).toEqual([false]);
});
