import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { watchOnce } from "#hub/fleet/watches/passes.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { fleetsOnPostgres, until } from "#test/support/rigs/hubs.ts";

/** Several hubs on one Postgres make each capture once and compare it once (rules/watches#one-capture-for-each-time). */

setDefaultTimeout(180_000);
const fleets = fleetsOnPostgres();
beforeAll(() => fleets.open(), 180_000);
afterEach(() => fleets.end());
afterAll(() => fleets.close(), 180_000);

const start = async () => {
  const { hubs } = await fleets.start();
  const [a, b] = hubs as [TestHub, TestHub];
  const { watch_id } = (await a.call("POST", "/watches", { url: TARGET, cron: "0 0 1 1 *" })).body;
  /** From now on its time has come. */
  const due = async () => {
    const { updated_at } = (await a.ctx.db.watches.get(watch_id)) ?? { updated_at: 0 };
    const now = { updated_at: updated_at + 1, next_at: Date.now() - 1_000 };
    expect(await a.ctx.db.watches.change(watch_id, updated_at, now)).not.toBeNull();
  };
  const jobs = async (of = a) => (await of.call("GET", `/jobs?watch=${watch_id}`)).body.jobs;
  return { a, b, watch_id, due, jobs };
};
const pass = (hub: TestHub) => watchOnce(hub.ctx);
const capture = async (worker: FakeWorker, page: string) => {
  const job = await worker.assigned.next();
  await worker.putDocument(job, "page.html", page);
  worker.finish(job, { title: "Shop" });
  return job.job_id;
};

test("hubs that see a due time at once make one capture of it, and one compares it", async () => {
  const { a, b, watch_id, due, jobs } = await start();
  const worker = await b.worker();
  const made: string[] = [];
  for (const page of ["<p>1</p>", "<p>2</p>", "<p>2</p>"]) {
    await due();
    await Promise.all([pass(a), pass(b), pass(a), pass(b)]);
    made.push(await capture(worker, page));
    await until(async () => (await a.ctx.db.watches.get(watch_id))?.capturing === null);
  }
  expect((await jobs()).map((job: { job_id: string }) => job.job_id)).toEqual(made.toReversed());
  const changed = (await jobs(b)).map((job: { changed: boolean | null }) => job.changed);
  expect(changed).toEqual([false, true, null]);
  expect((await a.call("GET", `/watches/${watch_id}`)).body).toMatchObject({
    captures: 3,
    changes: 1,
    baseline: made[2],
  });
  const lines = () =>
    [...a.log, ...b.log].filter(({ message }) => message === "capture of a watch decided").length;
  // It is said after it was stored.
  await until(() => lines() >= 3);
  expect(lines()).toBe(3);
});

test("what the hub of the job did not decide another one decides, and ends the job's story", async () => {
  const { a, b, watch_id, due } = await start();
  const worker = await b.worker();
  Object.assign(b.ctx, { watching: { ended: () => {}, stop: async () => {} } });
  await due();
  await pass(a);
  const job_id = await capture(worker, "<p>1</p>");
  await until(async () => (await a.ctx.db.jobs.get(job_id))?.status === "completed");
  await pass(a);
  // The hub of the job has its turn first.
  expect((await a.ctx.db.watches.get(watch_id))?.capturing).toBe(job_id);
  await until(async () => (await a.ctx.db.watches.get(watch_id))?.capturing === null);
  expect((await a.ctx.db.watches.get(watch_id))?.baseline).toBe(job_id);
  await until(async () => (await a.ctx.db.events.last(job_id, 1))[0]?.type === "done");
});
