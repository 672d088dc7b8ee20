import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { watchOnce } from "#hub/fleet/watches/passes.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { until } from "#test/support/rigs/hubs.ts";

/** What becomes of a watch whose page is another one by now, and of captures that cannot be deleted (rules/watches). */

setDefaultTimeout(90_000);
const MINUTE = 60_000;
const OTHER = "http://other.test/page";
let hub: TestHub;
let clock: FakeClock;
let worker: FakeWorker;
const start = async () => {
  clock = createFakeClock();
  hub = await startTestHub({ alone: true, clock });
  worker = await hub.worker();
};
afterEach(() => hub.close());

const addWatch = async (more: object = {}): Promise<string> => {
  const wanted = { url: TARGET, cron: "* * * * *", ...more };
  const { status, body } = await hub.call("POST", "/watches", wanted);
  expect({ status, body }).toMatchObject({ status: 201 });
  return body.watch_id;
};
const watchOf = async (id: string) => (await hub.call("GET", `/watches/${id}`)).body;
const jobOf = async (id: string) => (await hub.call("GET", `/jobs/${id}`)).body;
const patch = async (id: string, fields: object) => {
  const { status, body } = await hub.call("PATCH", `/watches/${id}`, fields);
  expect(status).toBe(200);
  return body;
};

async function beginCapture() {
  clock.jump(MINUTE);
  await watchOnce(hub.ctx);
  return worker.assigned.next();
}
type Assigned = Awaited<ReturnType<FakeWorker["assigned"]["next"]>>;
async function finish(job: Assigned, page: string, end: object = {}) {
  await worker.putDocument(job, "page.html", page);
  worker.finish(job, { title: "Shop", ...end });
  await hub.signals.next("capture decided", { job_id: job.job_id });
  await hub.signals.next("lane freed");
  return job.job_id;
}
const capture = async (page: string, end: object = {}) => finish(await beginCapture(), page, end);
const FAILED = { status: "failed", error: "net::ERR_FAILED" };

test("a watch of another page begins anew: its next capture is compared with none (rules/watches#another-page)", async () => {
  await start();
  const id = await addWatch();
  await capture("<p>the first page</p>");
  await capture("<p>the first page</p>", FAILED);
  expect(await watchOf(id)).toMatchObject({ failures: 1 });
  const same = await patch(id, { url: TARGET, name: "the same page" });
  expect(same.baseline).not.toBeNull();
  const anew = await patch(id, { url: OTHER });
  expect(anew).toMatchObject({ baseline: null, failures: 0, failing_since: null });
  expect(anew).toMatchObject({ last_error: null, captures: 1 });
  const first = await capture("<p>quite another page</p>");
  expect(await jobOf(first)).toMatchObject({ url: OTHER, changed: null, changes: null });
  const second = await capture("<p>quite another page, changed</p>");
  expect(await jobOf(second)).toMatchObject({ changed: true, changes: { against: first } });
});

test("a capture that was under way when its watch got another page is no baseline, nor a failure of it", async () => {
  await start();
  const id = await addWatch();
  await capture("<p>the first page</p>");
  const of_old = await beginCapture();
  await patch(id, { url: OTHER });
  await finish(of_old, "<p>the first page</p>");
  expect(await watchOf(id)).toMatchObject({ baseline: null, last: { job_id: of_old.job_id } });
  const first = await capture("<p>quite another page</p>");
  expect(await jobOf(first)).toMatchObject({ changed: null });
  expect(await watchOf(id)).toMatchObject({ baseline: first });
  const failing = await beginCapture();
  await patch(id, { url: TARGET });
  await finish(failing, "", FAILED);
  expect(await watchOf(id)).toMatchObject({ failures: 0, failing_since: null, last_error: null });
});

test("an old capture that cannot be deleted keeps no other one, and goes after a later capture (rules/watches#retention)", async () => {
  await start();
  const { objects } = hub.ctx;
  const broken = new Set<string>();
  const { deletePrefix } = objects;
  objects.deletePrefix = async (prefix) => {
    if (broken.has(prefix)) throw new Error("the file cannot be removed");
    await deletePrefix.call(objects, prefix);
  };
  await addWatch({ keep: 2 });
  const first = await capture("<p>1</p>");
  const second = await capture("<p>2</p>");
  for (const id of [first, second]) broken.add(`jobs/${id}`);
  for (const page of ["<p>3</p>", "<p>4</p>", "<p>5</p>"]) await capture(page);
  const statuses = async () =>
    Promise.all([first, second].map(async (id) => (await hub.call("GET", `/jobs/${id}`)).status));
  const become = (...wanted: number[]) =>
    until(async () => Bun.deepEquals(await statuses(), wanted));
  await become(200, 200);
  broken.delete(`jobs/${first}`);
  await capture("<p>6</p>");
  await become(404, 200);
  broken.clear();
  await capture("<p>7</p>");
  await become(404, 404);
});
