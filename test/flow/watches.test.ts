import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { retainJobsOnce } from "#hub/fleet/jobs/retention.ts";
import { watchOnce } from "#hub/fleet/watches/passes.ts";
import type { JobEvent } from "#shared/protocol/schema/job.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { until } from "#test/support/rigs/hubs.ts";

/** A page that is captured again and again, and compared each time (rules/watches#one-comparison). */

setDefaultTimeout(90_000);
const MINUTE = 60_000;
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
  const { status, body } = await hub.call("POST", "/watches", {
    url: TARGET,
    cron: "* * * * *",
    ...more,
  });
  expect({ status, body }).toMatchObject({ status: 201 });
  return body.watch_id;
};
const watchOf = async (id: string) => (await hub.call("GET", `/watches/${id}`)).body;
const jobOf = async (id: string) => (await hub.call("GET", `/jobs/${id}`)).body;
const jobsOf = async (query: string): Promise<string[]> =>
  (await hub.call("GET", `/jobs?${query}`)).body.jobs.map((job: { job_id: string }) => job.job_id);

interface Captured {
  page?: string;
  bodies?: Record<string, string>;
  end?: object;
}

/** The capture that a pass or a call has just asked for, done. */
async function finishCapture({ page = "<p>same</p>", bodies = {}, end = {} }: Captured = {}) {
  const job = await worker.assigned.next();
  for (const [n, [source_url, body]] of Object.entries(bodies).entries())
    await worker.putAsset(job, body, { name: `a${n}.txt`, mime: "text/plain", source_url });
  await worker.putDocument(job, "page.html", page);
  worker.finish(job, { title: "Shop", final_url: TARGET, ...end });
  await hub.signals.next("capture decided", { job_id: job.job_id });
  await hub.signals.next("lane freed");
  return job.job_id;
}
/** The capture of the next minute. The wall clock is put forward, so that no loop of the hub has to catch up. */
const nextCapture = async (what: Captured = {}) => {
  clock.jump(MINUTE);
  await watchOnce(hub.ctx);
  return finishCapture(what);
};

test("each time makes a capture; the first is the baseline, and every completed one is what the next is compared with", async () => {
  await start();
  const id = await addWatch();
  expect(await watchOf(id)).toMatchObject({ last: null, next_at: "2026-01-01T00:01:00.000Z" });
  const first = await nextCapture({ page: "<p>12 €</p><p>In stock</p>" });
  expect(await jobOf(first)).toMatchObject({ watch_id: id, changed: null, changes: null });
  const same = await nextCapture({ page: "<p>12 €</p><p>In stock</p>" });
  expect(await jobOf(same)).toMatchObject({
    changed: false,
    changes: { against: first, parts: [] },
  });
  const other = await nextCapture({
    page: "<p>14 €</p><p>In stock</p><p>Sale</p>",
    bodies: { "http://site.test/new.js": "v1" },
    end: { title: "Sale", http_status: 203 },
  });
  expect((await jobOf(other)).changes).toEqual({
    against: same,
    parts: ["text", "title", "status"],
    text: { added: 2, removed: 1 },
    title: { changed: true, before: "Shop", after: "Sale" },
    status: { changed: true, before: 200, after: 203 },
    assets: { new: 1, gone: 0, changed: 0 },
  });
  expect(await watchOf(id)).toMatchObject({
    baseline: other,
    capturing: null,
    captures: 3,
    changes: 1,
    failures: 0,
    last: { job_id: other, status: "completed", changed: true },
    last_change: { job_id: other },
    next_at: "2026-01-01T00:04:00.000Z",
  });
  expect(await jobsOf(`watch=${id}`)).toEqual([other, same, first]);
  expect(await jobsOf(`watch=${id}&changed=true`)).toEqual([other]);
  expect(await jobsOf("changed=false")).toEqual([same]);
});

test("a hub makes the captures by itself, one with an interval from its beginning", async () => {
  await start();
  const id = await addWatch({ cron: null, every_s: 60 });
  const ends: string[] = [];
  for (const wait of [5_000, 60_000]) {
    const done = finishCapture();
    for (let ms = 0; ms < wait; ms += 1_000) await clock.advance(1_000);
    ends.push(await done);
  }
  expect((await jobsOf(`watch=${id}`)).toReversed()).toEqual(ends);
});

test("what changed is in the job's story before its end, in the record of the end and in the webhooks (rules/watches#who-hears-of-a-change)", async () => {
  await start();
  const heard: { event: string | null; body: Record<string, unknown>; path: string }[] = [];
  const receiver = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const event = request.headers.get("x-flotilla-event");
      heard.push({
        event,
        body: (await request.json()) as never,
        path: new URL(request.url).pathname,
      });
      return new Response("thanks");
    },
  });
  try {
    await hub.call("PATCH", "/settings", { webhook_url: `${receiver.url}fleet` });
    await addWatch({ webhook_url: `${receiver.url}watch` });
    const first = await nextCapture();
    const second = await nextCapture({ page: "<p>other</p>" });
    await until(() => heard.length === 3);
    const told = heard.map(({ event, body, path }) => [path, event, body.job_id, body.changed]);
    const expected = [
      ["/fleet", "job.completed", first, null],
      ["/fleet", "job.completed", second, true],
      ["/watch", "job.changed", second, true],
    ];
    expect(told.toSorted()).toEqual(expected.toSorted());
    const socket = new WebSocket(`${hub.url.replace("http", "ws")}/jobs/${second}/events`);
    const events: JobEvent[] = [];
    socket.onmessage = ({ data }) => events.push(JSON.parse(String(data)));
    await new Promise((closed) => {
      socket.onclose = closed;
    });
    expect(events.slice(-2)).toMatchObject([
      {
        type: "log",
        data: {
          stage: "watch",
          message: `changed since job ${first}: text`,
          fields: { event: "job.changed", changes: { against: first } },
        },
      },
      { type: "done", data: { job_id: second, changed: true, changes: { parts: ["text"] } } },
    ]);
  } finally {
    await receiver.stop(true);
  }
});

test("what a watch does not count is no change: other parts, lines and URLs that are ignored (rules/watches#what-counts-as-a-change)", async () => {
  await start();
  const id = await addWatch({
    compare: ["text", "assets"],
    ignore_text: ["*visitors today"],
    ignore_assets: ["*://ads.test/*"],
  });
  await nextCapture({ page: "<p>Lamp</p><p>17 Visitors today</p>" });
  const quiet = await nextCapture({
    page: "<p>Lamp</p><p>18 visitors today</p>",
    end: { title: "other" },
    bodies: { "http://ads.test/banner.js": "x" },
  });
  expect(await jobOf(quiet)).toMatchObject({
    changed: false,
    changes: { parts: [], text: { added: 0 }, title: { changed: true }, assets: { new: 0 } },
  });
  await hub.call("PATCH", `/watches/${id}`, { ignore_text: [] });
  const loud = await nextCapture({ page: "<p>Lamp</p><p>19 visitors today</p>" });
  expect(await jobOf(loud)).toMatchObject({ changed: true, changes: { parts: ["text"] } });
});

test("failed captures are counted and leave the baseline; one that is cancelled counts for nothing", async () => {
  await start();
  const id = await addWatch();
  const first = await nextCapture();
  const failed = await nextCapture({ end: { status: "failed", error: "no page" } });
  const since = (await jobOf(failed)).finished_at;
  await nextCapture({ end: { status: "failed", error: "again no page" } });
  expect(await watchOf(id)).toMatchObject({
    baseline: first,
    failures: 2,
    failing_since: since,
    last_error: "again no page",
    last: { status: "failed", changed: null },
  });
  clock.jump(MINUTE);
  await watchOnce(hub.ctx);
  const { job_id } = await worker.assigned.next();
  await hub.call("POST", `/jobs/${job_id}/cancel`);
  await hub.signals.next("capture decided", { job_id });
  worker.reset(0);
  await hub.signals.next("lane freed");
  expect(await watchOf(id)).toMatchObject({ failures: 2, last: { status: "cancelled" } });
  const next = await nextCapture({ page: "<p>other</p>" });
  expect(await jobOf(next)).toMatchObject({ changed: true, changes: { against: first } });
  expect(await watchOf(id)).toMatchObject({ failures: 0, failing_since: null, last_error: null });
});

test("a time that comes while a capture is under way waits for it, and of several missed times one is made up for (rules/watches#missed-times)", async () => {
  await start();
  const id = await addWatch();
  clock.jump(MINUTE);
  await watchOnce(hub.ctx);
  const job = await worker.assigned.next();
  clock.jump(3 * MINUTE);
  await watchOnce(hub.ctx);
  expect(await jobsOf(`watch=${id}`)).toEqual([job.job_id]);
  const { status, body } = await hub.call("POST", `/watches/${id}/capture`);
  expect({ status, body }).toEqual({
    status: 409,
    body: { detail: `capture ${job.job_id} of the watch is under way` },
  });
  worker.finish(job);
  await hub.signals.next("capture decided", { job_id: job.job_id });
  await hub.signals.next("lane freed");
  await watchOnce(hub.ctx);
  await finishCapture();
  await watchOnce(hub.ctx);
  expect(await jobsOf(`watch=${id}`)).toHaveLength(2);
  expect(await watchOf(id)).toMatchObject({ next_at: "2026-01-01T00:05:00.000Z" });
});

test("a paused watch makes nothing by itself, and a capture when it is asked; after the pause it goes on", async () => {
  await start();
  const id = await addWatch({ paused: true });
  expect((await watchOf(id)).next_at).toBeNull();
  clock.jump(2 * MINUTE);
  await watchOnce(hub.ctx);
  const asked = await hub.call("POST", `/watches/${id}/capture`);
  expect(asked.body).toMatchObject({ watch_id: id, status: "queued" });
  expect(await finishCapture()).toBe(asked.body.job_id);
  expect(await jobsOf(`watch=${id}`)).toHaveLength(1);
  await hub.call("PATCH", `/watches/${id}`, { paused: false });
  expect(await watchOf(id)).toMatchObject({ next_at: "2026-01-01T00:03:00.000Z" });
});

test("after a restart the schedule goes on, and a capture that ended without a comparison gets one", async () => {
  await start();
  const id = await addWatch();
  const first = await nextCapture();
  // As a hub leaves it that dies between the end of a job and its comparison.
  Object.assign(hub.ctx, { watching: { ended: () => {}, stop: async () => {} } });
  clock.jump(MINUTE);
  await watchOnce(hub.ctx);
  const job = await worker.assigned.next();
  await worker.putDocument(job, "page.html", "<p>other</p>");
  worker.finish(job, { title: "Shop", final_url: TARGET });
  await hub.signals.next("lane freed");
  await hub.restart();
  expect(await watchOf(id)).toMatchObject({ capturing: job.job_id });
  clock.jump(MINUTE);
  await watchOnce(hub.ctx);
  await until(async () => (await watchOf(id)).capturing === null);
  expect(await jobOf(job.job_id)).toMatchObject({ changed: true, changes: { against: first } });
  const ends = async () => {
    const { events } = (await hub.call("GET", `/jobs/${job.job_id}/events.json`)).body;
    return events.filter((e: JobEvent) => e.type === "done");
  };
  // The decision is stored before the end is told.
  await until(async () => (await ends()).length > 0);
  expect(await ends()).toHaveLength(1);
  worker = await hub.worker();
  const next = await nextCapture({ page: "<p>other</p>" });
  expect(await jobOf(next)).toMatchObject({ changed: false });
});

test("keep bounds the captures; retention leaves the baseline, and one that somebody deletes has the watch begin anew (rules/watches#retention)", async () => {
  await start();
  const id = await addWatch({ keep: 2 });
  const all: string[] = [];
  for (let n = 0; n < 5; n += 1) all.push(await nextCapture());
  await until(async () => (await jobsOf(`watch=${id}`)).length === 3);
  expect((await jobsOf(`watch=${id}`)).toReversed()).toEqual(all.slice(2));
  await hub.call("PATCH", "/settings", { retention_days: 30 / 86_400 });
  clock.jump(MINUTE);
  await retainJobsOnce(hub.ctx);
  expect(await jobsOf(`watch=${id}`)).toEqual([all[4] as string]);
  expect((await hub.call("DELETE", `/jobs/${all[4]}`)).status).toBe(204);
  clock.jump(MINUTE);
  await watchOnce(hub.ctx);
  const next = await finishCapture();
  expect(await jobOf(next)).toMatchObject({ changed: null, changes: null });
  expect(await watchOf(id)).toMatchObject({ baseline: next });
  expect((await hub.call("DELETE", `/watches/${id}`)).status).toBe(204);
  expect(await jobOf(next)).toMatchObject({ status: "completed", watch_id: id });
});

test("a capture that is refused leaves the watch with the reason, and the next time comes", async () => {
  await start();
  const id = await addWatch({ options: { use_profile: "gone" } });
  clock.jump(MINUTE);
  await watchOnce(hub.ctx);
  const watch = await watchOf(id);
  expect(watch).toMatchObject({ capturing: null, next_at: "2026-01-01T00:02:00.000Z" });
  expect(watch.last_error).toStartWith("no capture was made: options.use_profile");
});

test("a comparison that fails is tried again, and after ten minutes the capture is the baseline without one", async () => {
  await start();
  const id = await addWatch();
  await nextCapture();
  const { comparisons } = hub.ctx;
  const rows = () => Promise.reject(new Error("the bucket is away"));
  Object.assign(hub.ctx, { comparisons: { ...comparisons, rows } });
  clock.jump(MINUTE);
  await watchOnce(hub.ctx);
  const job = await worker.assigned.next();
  worker.finish(job);
  await hub.signals.next("lane freed");
  clock.jump(5 * MINUTE);
  await watchOnce(hub.ctx);
  expect(await watchOf(id)).toMatchObject({ capturing: job.job_id });
  clock.jump(7 * MINUTE);
  await watchOnce(hub.ctx);
  expect(await watchOf(id)).toMatchObject({
    capturing: null,
    baseline: job.job_id,
    failures: 0,
    last_error: expect.stringContaining("the bucket is away"),
  });
});
