import { afterEach, expect, test } from "bun:test";
import { documentKey } from "#hub/fleet/jobs/stored-files.ts";
import { endLostRecordings, retainRecordings } from "#hub/fleet/recordings/keep.ts";
import { createClient } from "#shared/client/index.ts";
import { encodeFrame, encodeJsonFrame, FRAME } from "#shared/recording/frames.ts";
import { Har } from "#test/support/clients/har.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";
import { madeEntry } from "#test/support/rigs/made-recording.ts";

/** Recordings from the worker's pieces to what people read (rules/recordings#on-the-way-to-the-hub). */

let hub: TestHub;
let worker: FakeWorker;
afterEach(() => hub.close());

const start = (of = "job") =>
  encodeJsonFrame(FRAME.event, 0, {
    type: "start",
    at: "2026-11-20T10:00:00.000Z",
    of,
    id: "x",
    mode: "screen",
    screen: "headful",
  });
const chunk = (ms: number) =>
  encodeJsonFrame(FRAME.chunk, ms, { width: 1920, height: 1080, name: "lane", why: "start" });
const pixels = (ms: number, size: number) => encodeFrame(FRAME.rfb, ms, new Uint8Array(size));
const note = (ms: number, text: string) =>
  encodeJsonFrame(FRAME.event, ms, { type: "note", level: "info", text });
const request = (ms: number, note: object) => encodeJsonFrame(FRAME.request, ms, note);
const end = (ms: number) => encodeJsonFrame(FRAME.end, ms, { why: "ended" });
const joined = (...frames: Uint8Array[]) => new Uint8Array(Buffer.concat(frames));
const MIB = 1024 * 1024;

interface Of {
  path: string;
  lease_token: number;
}
async function put({ path, lease_token }: Of, offset: number, bytes: Uint8Array) {
  const { upload_token } = await worker.registered;
  const response = await fetch(
    `${hub.url}/workers/${worker.worker_id}/${path}/recording?offset=${offset}`,
    {
      method: "PUT",
      body: bytes as Uint8Array<ArrayBuffer>,
      headers: { Authorization: `Bearer ${upload_token}`, "X-Lease-Token": String(lease_token) },
    },
  );
  // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
  return { status: response.status, body: (await response.json()) as any };
}
const length = (n: number) => ({ status: 200, body: { length: n } });

async function runningJob(options: TestHubOptions = {}) {
  hub = await startTestHub(options);
  worker = await hub.worker();
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const job = await worker.assigned.next((each) => each.job_id === job_id);
  return { job, job_id, of: { path: `jobs/${job_id}`, lease_token: job.lease_token } };
}
const recording = async (path: string) => (await hub.call("GET", `${path}/recording`)).body;
const data = async (path: string, range?: string) => {
  const response = await fetch(`${hub.url}${path}/recording/data`, {
    headers: range === undefined ? {} : { Range: range },
  });
  return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) };
};
const events = async (path: string, after = -1) =>
  (await hub.call("GET", `${path}/recording/events?after_ms=${after}`)).body;

test("a job's recording is read while it grows, and is whole when its end has come", async () => {
  const { job, job_id, of } = await runningJob();
  expect((await hub.call("GET", `/jobs/${job_id}/recording`)).status).toBe(404);
  const first = joined(start(), chunk(10), pixels(12, 1_000));
  expect(await put(of, 0, first)).toEqual(length(first.length));
  expect(await recording(`/jobs/${job_id}`)).toMatchObject({
    state: "live",
    mode: "screen",
    job_id,
    ms: 12,
    bytes: first.length,
    events: 1,
    width: 1920,
    height: 1080,
    end_reason: null,
    ended_at: null,
    chunks: [{ at_ms: 10, ms: 2 }],
  });
  // The page of the web app reads it by the session as well.
  expect((await recording(`/sessions/${job.session_id}`)).job_id).toBe(job_id);
  worker.finish(job);
  await worker.settle();
  // The last piece comes after the result, when the lease is over.
  const last = joined(note(900, "bye"), end(1_000));
  expect(await put(of, first.length, last)).toEqual(length(first.length + last.length));
  const whole = await recording(`/jobs/${job_id}`);
  expect(whole).toMatchObject({ state: "whole", ms: 1_000, events: 2, end_reason: "ended" });
  expect((await data(`/jobs/${job_id}`)).bytes).toEqual(joined(first, last));
  const { offset } = whole.chunks[0];
  const part = await data(`/jobs/${job_id}`, `bytes=${offset}-${offset + 99}`);
  expect(part.status).toBe(206);
  expect(part.bytes).toEqual(first.slice(offset, offset + 100));
  expect((await events(`/jobs/${job_id}`)).items.map((e: { type: string }) => e.type)).toEqual([
    "start",
    "note",
  ]);
  expect(await events(`/jobs/${job_id}`, 0)).toEqual({
    items: [{ type: "note", level: "info", text: "bye", at_ms: 900 }],
    more: false,
  });
  expect(await put(of, first.length + last.length, note(1_001, "late"))).toMatchObject({
    status: 404,
  });
  expect((await hub.call("DELETE", `/jobs/${job_id}`)).status).toBe(204);
  expect(await hub.ctx.objects.list("recordings")).toEqual([]);
  expect(await hub.ctx.db.recordings.ofJob(job_id)).toEqual([]);
});

test("the hub's length is the truth, and what is no recording is refused", async () => {
  const { of } = await runningJob();
  const first = joined(start(), note(5, "one"));
  expect(await put(of, 7, first)).toMatchObject({ status: 409, body: { length: 0 } });
  expect(await put(of, 0, note(5, "no start"))).toMatchObject({ status: 409 });
  expect(await put(of, 0, first)).toEqual(length(first.length));
  const again = await put(of, 0, first);
  expect(again).toMatchObject({ status: 409, body: { length: first.length } });
  // A frame that is torn, or none at all.
  expect((await put(of, first.length, note(6, "torn").slice(0, -1))).status).toBe(422);
  expect((await put(of, first.length, new Uint8Array(64))).status).toBe(422);
  expect((await put(of, first.length, new Uint8Array(9 * MIB))).status).toBe(413);
  expect(await put(of, first.length, new Uint8Array(0))).toEqual(length(first.length));
  // Another run's lease.
  expect((await put({ ...of, lease_token: of.lease_token + 1 }, 0, first)).status).toBe(404);
  const { path, lease_token } = of;
  const stranger = await fetch(`${hub.url}/workers/w11/${path}/recording?offset=0`, {
    method: "PUT",
    body: first,
    headers: { Authorization: "Bearer wrong", "X-Lease-Token": String(lease_token) },
  });
  expect(stranger.status).toBe(401);
});

test("long recordings are sealed in parts, and read as one file with their events", async () => {
  const { job_id, of } = await runningJob();
  const pieces = [start(), chunk(1)];
  for (let i = 0; i < 5; i += 1) pieces.push(pixels(i * 1_000, 3 * MIB), note(i * 1_000, `n${i}`));
  let at = 0;
  for (const piece of pieces) {
    expect(await put(of, at, piece)).toEqual(length(at + piece.length));
    at += piece.length;
  }
  const objects = (await hub.ctx.objects.list("recordings")).filter((key) => !/events$/.test(key));
  expect(objects.length).toBe(1);
  const whole = joined(...pieces);
  expect(Buffer.compare((await data(`/jobs/${job_id}`)).bytes, whole)).toBe(0);
  const sealed = Number(objects[0]?.split("-").at(-1));
  const across = await data(`/jobs/${job_id}`, `bytes=${sealed - 10}-${sealed + 9}`);
  expect(across.bytes).toEqual(whole.slice(sealed - 10, sealed + 10));
  const { items } = await events(`/jobs/${job_id}`, 999);
  expect(items.map((e: { text: string }) => e.text)).toEqual(["n1", "n2", "n3", "n4"]);
});

// rules/recordings#requests
test("a session's requests are answered as HAR 1.2 while it is open and when it has ended", async () => {
  hub = await startTestHub();
  worker = await hub.worker();
  const { session_id } = (await hub.call("POST", "/sessions", {})).body;
  const asked = await worker.opening.next((each) => each.session_id === session_id);
  const of = { path: `sessions/${session_id}`, lease_token: asked.lease_token };
  const har = (query = "") => hub.call("GET", `/sessions/${session_id}/har.json${query}`);
  expect(await har()).toMatchObject({
    status: 404,
    body: { detail: "nothing is recorded of this session, so its requests are not known" },
  });
  const first = start("session");
  await put(of, 0, first);
  expect(await har()).toMatchObject({
    status: 404,
    body: { detail: "no requests were noted in the recording of this session" },
  });
  const second = joined(
    request(20, { browser: "Chrome/156.0" }),
    request(30, { n: 2, at_ms: 25, har: madeEntry("http://site.test/b", { _unfinished: true }) }),
    request(31, { n: 1, at_ms: 21, har: madeEntry("http://site.test/a", { _frameId: "f" }) }),
    request(32, { n: 3, har: "damaged" }),
    request(33, { of: "a later version" }),
    // Enough for a part that is sealed.
    ...[0, 1, 2].flatMap((i) => [chunk(40 + i), pixels(40 + i, 2.2 * MIB)]),
  );
  let at = first.length + second.length;
  expect(await put(of, first.length, second)).toEqual(length(at));
  const live = await har();
  expect(live.headers.get("content-type")).toBe("application/json");
  expect(live.body.log).toMatchObject({ browser: { name: "Chrome", version: "156.0" }, _ms: 33 });
  expect(live.body.log.pages).toMatchObject([{ id: "tab-1", title: "http://site.test/a" }]);
  expect(Har.parse(live.body).log.entries).toMatchObject([
    { _n: 1, _at_ms: 21, _frameId: "f", request: { url: "http://site.test/a" } },
    { _n: 2, _at_ms: 25, _unfinished: true },
  ]);
  const more = [
    joined(chunk(50), pixels(50, 2 * MIB)),
    joined(request(60, { n: 2, at_ms: 25, har: madeEntry("http://site.test/b") })),
    joined(request(61, { dropped: 7 }), end(62)),
  ];
  for (const piece of more) {
    expect(await put(of, at, piece)).toEqual(length(at + piece.length));
    at += piece.length;
  }
  expect((await har("?after_ms=33")).body.log.entries).toMatchObject([{ _n: 2, _at_ms: 25 }]);
  await hub.call("DELETE", `/sessions/${session_id}`);
  expect(await recording(`/sessions/${session_id}`)).toMatchObject({ state: "whole", requests: 7 });
  const ended = await har();
  expect(Har.parse(ended.body).log).toMatchObject({ _dropped: 7, _ms: 61 });
  const { sessions } = createClient({ base_url: hub.url });
  expect(await sessions.har(session_id)).toEqual(ended.body);
  const [, last] = ended.body.log.entries;
  expect(last).toMatchObject({ _n: 2, request: { url: "http://site.test/b" } });
  expect(last._unfinished).toBeUndefined();
  expect((await har("?after_ms=x")).status).toBe(422);
});

// rules/recordings#requests
test("what was noted of a job's requests is its HAR, until the job has stored one", async () => {
  const { job_id, of } = await runningJob();
  const har = () => hub.call("GET", `/jobs/${job_id}/har.json`);
  expect((await har()).status).toBe(404);
  const first = start();
  await put(of, 0, first);
  expect((await har()).status).toBe(404);
  const a = madeEntry("http://site.test/a");
  const noted = joined(
    request(20, { browser: "Chrome/156.0" }),
    request(31, { n: 1, at_ms: 21, har: a }),
  );
  await put(of, first.length, noted);
  const so_far = await har();
  expect(so_far.headers.get("content-type")).toBe("application/json");
  expect(Har.parse(so_far.body).log).toMatchObject({ _ms: 31, entries: [{ _n: 1, _at_ms: 21 }] });
  await worker.close();
  expect((await har()).body).toEqual(so_far.body);
  await hub.ctx.objects.put(documentKey(job_id, "har.json"), Buffer.from("{}"));
  expect((await har()).body).toEqual({});
});

test("the requests of a job's session are in the HAR of the job", async () => {
  const { job, job_id, of } = await runningJob();
  await put(of, 0, start());
  expect(await hub.call("GET", `/sessions/${job.session_id}/har.json`)).toMatchObject({
    status: 404,
    body: {
      detail: `the session is job ${job_id}'s: GET /jobs/${job_id}/har.json has its requests`,
    },
  });
});

test("a hub that was restarted has what it had, and the worker goes on after it", async () => {
  const { job_id, of } = await runningJob();
  const first = joined(start(), chunk(10), pixels(12, 1_000));
  await put(of, 0, first);
  const before = worker;
  await hub.restart();
  await until("the hub has sealed what it had", 60_000, async () => {
    const [row] = await hub.ctx.db.recordings.ofJob(job_id);
    return row?.sealed === first.length;
  });
  expect((await data(`/jobs/${job_id}`)).bytes).toEqual(first);
  expect((await recording(`/jobs/${job_id}`)).chunks).toHaveLength(1);
  await before.closed;
});

test("a session's recording outlives it, and one whose worker was killed is cut", async () => {
  const clock = createFakeClock();
  hub = await startTestHub({ clock });
  worker = await hub.worker({ lanes: 2 });
  const open = async () => {
    const { session_id } = (await hub.call("POST", "/sessions", { idle_ttl_s: 80_000 })).body;
    const asked = await worker.opening.next((each) => each.session_id === session_id);
    return { session_id, path: `sessions/${session_id}`, lease_token: asked.lease_token };
  };
  const [ended, killed] = [await open(), await open()];
  const first = start("session");
  await put(ended, 0, joined(first, end(50)));
  await put(killed, 0, joined(first, note(70, "last words")));
  await hub.call("DELETE", `/sessions/${ended.session_id}`);
  expect((await hub.call("GET", `/sessions/${ended.session_id}`)).status).toBe(404);
  expect(await recording(`/sessions/${ended.session_id}`)).toMatchObject({ state: "whole" });
  await clock.advance(40_000);
  await endLostRecordings(hub.ctx);
  expect(await recording(`/sessions/${killed.session_id}`)).toMatchObject({ state: "live" });
  await worker.close();
  await hub.signals.next("session ended", { session_id: killed.session_id });
  await endLostRecordings(hub.ctx);
  expect(await recording(`/sessions/${killed.session_id}`)).toMatchObject({ state: "cut" });
  expect((await events(`/sessions/${killed.session_id}`)).items.at(-1).text).toBe("last words");
  await hub.call("PATCH", "/settings", { recording_max_count: 1 });
  await retainRecordings(hub.ctx);
  const kept = await Promise.all(
    [ended, killed].map(({ session_id }) => hub.call("GET", `/sessions/${session_id}/recording`)),
  );
  // The one that ended first has gone.
  expect(kept.map(({ status }) => status)).toEqual([404, 200]);
  await hub.call("PATCH", "/settings", { recording_days: 0.0001 });
  await clock.advance(10_000);
  await retainRecordings(hub.ctx);
  expect(await hub.ctx.objects.list("recordings")).toEqual([]);
  expect((await hub.call("GET", `/sessions/${ended.session_id}/recording`)).status).toBe(404);
});

test("of two hubs that seal different pieces one counts, and the other's objects do no harm", async () => {
  const { job_id, of } = await runningJob();
  const first = joined(start(), note(1, "a"));
  await put(of, 0, first);
  const [row] = await hub.ctx.db.recordings.ofJob(job_id);
  // Another hub has sealed more of it meanwhile.
  const more = joined(first, note(2, "b"));
  await hub.ctx.objects.put(`recordings/${row?.run_id}/0-${more.length}`, more);
  await hub.ctx.db.recordings.seal(row?.run_id ?? "", 0, {
    sealed: more.length,
    parts: [more.length],
    contents: { bytes: more.length, ms: 2, events: 3, chunks: [], end: null },
  });
  // This hub finds that out when it seals, and the worker goes on from there.
  await put(of, first.length, end(3));
  expect(await put(of, more.length, end(4))).toEqual(length(more.length + end(4).length));
  expect((await data(`/jobs/${job_id}`)).bytes).toEqual(joined(more, end(4)));
});
