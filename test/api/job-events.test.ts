import { afterAll, beforeAll, expect, test } from "bun:test";
import { startEventStream } from "#hub/fleet/jobs/event-stream.ts";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import type { JobEvent } from "#shared/protocol/schema/job.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { createQueue } from "#test/support/models/queue.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/** WS /jobs/{id}/events (rules/events#event-stream). */

let hub: TestHub;
let worker: FakeWorker;
beforeAll(async () => {
  hub = await startTestHub();
  worker = await hub.worker({ lanes: 50 });
});
afterAll(() => hub.close());

const run = async (): Promise<HubAssignJob> => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  return worker.assigned.next((job) => job.job_id === job_id);
};

function follow(job_id: string, since?: string, headers: Record<string, string> = {}) {
  const query = since === undefined ? "" : `?since=${since}`;
  const url = `${hub.url.replace("http", "ws")}/jobs/${job_id}/events${query}`;
  const socket = new WebSocket(url, { headers });
  const events = createQueue<JobEvent>();
  socket.onerror = () => {};
  socket.onmessage = ({ data }) => events.push(JSON.parse(String(data)));
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.onclose = ({ code, reason }) => resolve({ code, reason });
  });
  return { socket, events, closed };
}

test("WS /jobs/{id}/events?since=<n>: stored events are replayed, live ones follow, and done closes with 1000 (rules/events#since)", async () => {
  const job = await run();
  worker.log(job, "navigate", "one");
  await worker.settle();
  const stream = follow(job.job_id);
  await stream.events.next((e) => e.data.message === "one");
  worker.log(job, "idle", "two");
  await stream.events.next((e) => e.data.message === "two");
  worker.result(job);
  expect(await stream.closed).toEqual({ code: 1000, reason: "done" });
  expect(stream.events.all.map((e) => [e.seq, e.type])).toEqual([
    [1, "log"],
    [2, "log"],
    [3, "log"],
    [4, "done"],
  ]);
  expect(stream.events.all[1]).toEqual({
    seq: 2,
    ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    type: "log",
    data: { level: "info", stage: "navigate", message: "one", fields: {} },
  });
  expect(stream.events.all[3]?.data).toMatchObject({ job_id: job.job_id, status: "completed" });
});

test("WS /jobs/{id}/events?since=<n>: a failed job ends with error {detail}, a cancelled one with done (rules/events#event-stream)", async () => {
  const failing = await run();
  const failed = follow(failing.job_id);
  worker.result(failing, { status: "failed", error: "TLS error" });
  expect((await failed.closed).code).toBe(1000);
  expect(failed.events.all.at(-1)).toMatchObject({ type: "error", data: { detail: "TLS error" } });
  const job = await run();
  const cancelled = follow(job.job_id);
  await hub.call("POST", `/jobs/${job.job_id}/cancel`);
  await cancelled.closed;
  expect(cancelled.events.all.at(-1)).toMatchObject({
    type: "done",
    data: { status: "cancelled" },
  });
});

test("WS /jobs/{id}/events?since=<n>: since is the last seq already seen; at the end of a finished job it closes without a message (rules/events#since)", async () => {
  const job = await run();
  worker.log(job, "navigate", "one");
  worker.result(job);
  await hub.signals.next("job finished", { job_id: job.job_id });
  const seqs = async (since?: string) => {
    const stream = follow(job.job_id, since);
    expect((await stream.closed).code).toBe(1000);
    return stream.events.all.map((e) => e.seq);
  };
  expect(await seqs()).toEqual([1, 2, 3]);
  expect(await seqs("0")).toEqual([1, 2, 3]);
  expect(await seqs("2")).toEqual([3]);
  expect(await seqs("3")).toEqual([]);
  expect(await seqs("999")).toEqual([]);
});

test("WS /jobs/{id}/events?since=<n>: an unknown job closes with 4404 (rules/events#end-of-the-stream)", async () => {
  expect(await follow("none").closed).toEqual({ code: 4404, reason: "job not found" });
});

test("WS /jobs/{id}/events?since=<n>: a bad since closes with 4422 and the reason; without an upgrade it is 426 (rules/events#end-of-the-stream)", async () => {
  const job = await run();
  for (const since of ["x", "-1", "1.5", "1e3", "99999999999"]) {
    const url = `${hub.url.replace("http", "ws")}/jobs/${job.job_id}/events?since=${since}`;
    const socket = new WebSocket(url);
    const closed = new Promise<CloseEvent>((resolve) => {
      socket.onclose = resolve;
    });
    expect(await closed).toMatchObject({
      code: 4422,
      reason: "query.since must be a whole number from 0 to 999999999",
    });
  }
  expect((await hub.call("GET", `/jobs/${job.job_id}/events`)).status).toBe(426);
});

test("a page of another origin cannot follow a job; the hub's own can", async () => {
  const job = await run();
  const foreign = follow(job.job_id, "0", { Origin: "https://evil.test" });
  expect((await foreign.closed).code).not.toBe(1000);
  expect(foreign.events.all).toEqual([]);
  const own = follow(job.job_id, "0", { Origin: hub.url });
  await own.events.next();
  own.socket.close();
});

test("thousands of events while the replay still runs: none missing, none twice, in order", async () => {
  const job = await run();
  const entries = (from: number) =>
    Array.from({ length: 100 }, (_, i) => ({
      ts: 1,
      level: "info",
      stage: "page",
      message: `m${from + i}`,
      fields: {},
    }));
  const batch = (k: number) =>
    worker.send({
      type: "JobLog",
      job_id: job.job_id,
      lease_token: job.lease_token,
      entries: entries(k * 100),
    });
  for (let k = 0; k < 20; k += 1) batch(k);
  await worker.settle();
  const streams = [follow(job.job_id), follow(job.job_id, "1000")];
  for (let k = 20; k < 40; k += 1) batch(k);
  worker.result(job);
  for (const [i, stream] of streams.entries()) {
    await stream.closed;
    const first = i === 0 ? 1 : 1001;
    expect(stream.events.all.map((e) => e.seq)).toEqual(
      Array.from({ length: 4002 - first + 1 }, (_, k) => first + k),
    );
  }
});

test("a job that ended without its last event still ends its stream", async () => {
  const job = await run();
  // As after a crash between the two writes.
  await hub.ctx.db.jobs.finish(job.job_id, job.lease_token, {
    status: "failed",
    error: "lost",
    now: 5,
  });
  const stream = follow(job.job_id);
  expect((await stream.closed).code).toBe(1000);
  expect(stream.events.all.at(-1)).toMatchObject({
    seq: 2,
    type: "error",
    data: { detail: "lost" },
  });
});

test("the plain call has the last event too where it was never stored, once there is no hub that still may (rules/events#events-by-plain-calls)", async () => {
  const eventsOf = async (job_id: string) =>
    (await hub.call("GET", `/jobs/${job_id}/events.json`)).body.events;
  const end = (now: number) => ({ status: "failed", error: "lost", now }) as const;
  const job = await run();
  await hub.ctx.db.jobs.finish(job.job_id, job.lease_token, end(Date.now()));
  expect(await eventsOf(job.job_id)).toMatchObject([{ seq: 1, type: "log" }]);
  const clock = createFakeClock();
  const later = await startTestHub({ clock });
  try {
    const peer = await later.worker();
    const { job_id } = (await later.call("POST", "/jobs", { url: TARGET })).body;
    const { lease_token } = await peer.assigned.next();
    await later.ctx.db.jobs.finish(job_id, lease_token, end(clock.now()));
    clock.jump(10_000);
    const read = async (since: number) =>
      (await later.call("GET", `/jobs/${job_id}/events.json?since=${since}`)).body.events;
    const last = { seq: 2, type: "error", data: { detail: "lost" } };
    expect(await read(0)).toMatchObject([{ seq: 1, type: "log" }, last]);
    expect(await read(1)).toMatchObject([last]);
    expect(await read(2)).toEqual([]);
  } finally {
    await later.close();
  }
});

test("deleting a job ends the streams that follow it", async () => {
  const job = await run();
  const stream = follow(job.job_id);
  await stream.events.next();
  await hub.call("DELETE", `/jobs/${job.job_id}`);
  expect((await stream.closed).code).toBe(1000);
});

test("a reader that takes nothing for 30 s is cut off, and holds one message of memory until then", async () => {
  const clock = createFakeClock();
  const job = await run();
  for (let i = 0; i < 5; i += 1) worker.log(job, "page", `line ${i}`);
  await worker.settle();
  const row = await hub.ctx.db.jobs.get(job.job_id);
  if (!row) throw new Error("no row");
  const sent: string[] = [];
  const closed = createQueue<number>();
  startEventStream({ ...hub.ctx, clock }, row, 0, {
    send: (text) => {
      sent.push(text);
      return false;
    },
    close: (code) => closed.push(code),
  });
  await clock.sleeperIn(30_000);
  worker.log(job, "page", "more");
  await worker.settle();
  expect(sent.length).toBe(1);
  await clock.advance(30_000);
  expect(await closed.next()).toBe(4408);
});

test("a last event that is stored while the stream looks for it is sent (rules/events#end-of-the-stream)", async () => {
  const job = await run();
  worker.result(job);
  expect((await follow(job.job_id).closed).code).toBe(1000);
  const { db } = hub.ctx;
  const row = await db.jobs.get(job.job_id);
  if (!row) throw new Error("no row");
  let reads = 0;
  // The job has ended, and its last event is stored after the stream's second look.
  const list: typeof db.events.list = async (...args) => {
    reads += 1;
    const page = await db.events.list(...args);
    return reads <= 2 ? page.filter(({ type }) => type === "log") : page;
  };
  const sent: JobEvent[] = [];
  const closed = createQueue<number>();
  startEventStream({ ...hub.ctx, db: { ...db, events: { ...db.events, list } } }, row, 0, {
    send: (text) => {
      sent.push(JSON.parse(text));
      return true;
    },
    close: (code) => closed.push(code),
  });
  expect(await closed.next()).toBe(1000);
  expect(sent.map(({ type }) => type)).toEqual(["log", "done"]);
});

test("the hub's stop closes streams with 1012 after the last event of what it failed", async () => {
  // Of a fleet that stops as one, the hub with the stream may be gone before the one with the link.
  const own = await startTestHub({ alone: true });
  const fake = await own.worker();
  const { job_id } = (await own.call("POST", "/jobs", { url: TARGET })).body;
  const queued = (await own.call("POST", "/jobs", { url: TARGET })).body.job_id;
  await fake.assigned.next();
  const open = (id: string) => {
    const socket = new WebSocket(`${own.url.replace("http", "ws")}/jobs/${id}/events`);
    const events: JobEvent[] = [];
    const ready = new Promise((resolve) => socket.addEventListener("open", resolve));
    const closed = new Promise<number>((resolve) => {
      socket.onclose = ({ code }) => resolve(code);
    });
    socket.onmessage = ({ data }) => events.push(JSON.parse(String(data)));
    return { events, ready, closed };
  };
  const [running, waiting] = [open(job_id), open(queued)];
  await Promise.all([running.ready, waiting.ready]);
  await own.call("GET", "/health");
  await own.stop();
  expect(await running.closed).toBe(1000);
  expect(running.events.at(-1)?.type).toBe("error");
  expect(await waiting.closed).toBe(1012);
  await own.close();
});

test("GET /jobs/{id}/events.json gives the same events by plain calls, page by page (rules/events#events-by-plain-calls)", async () => {
  const job = await run();
  worker.log(job, "navigate", "first");
  await worker.settle();
  const path = `/jobs/${job.job_id}/events.json`;
  const first = await hub.call("GET", `${path}?limit=1`);
  expect(first.body.events.map((e: JobEvent) => e.seq)).toEqual([1]);
  worker.result(job);
  // A stream that begins as the job ends tells its end a moment before it is stored.
  const body = await until("the last event", 60_000, async () => {
    const answer = await hub.call("GET", `${path}?since=1`);
    return answer.body.events.length > 1 && answer.body;
  });
  expect(body.events.map((e: JobEvent) => e.type)).toEqual(["log", "done"]);
  expect(body.events[0].data).toMatchObject({ stage: "navigate", message: "first" });
  expect((await hub.call("GET", `${path}?since=-1`)).status).toBe(422);
  expect((await hub.call("GET", "/jobs/nothing/events.json")).status).toBe(404);
});
