import { afterEach, beforeEach, expect, test } from "bun:test";
import type { ReplayEntry } from "#shared/protocol/schema/replay.ts";
import type { FakeWorker, FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/** What a hub gives to workers that replay a capture (rules/replay#open-a-replay), without a browser. */

let hub: TestHub;
beforeEach(async () => {
  hub = await startTestHub();
});
afterEach(() => hub.close());

const lane_novnc_urls = ["http://127.0.0.1:6901/", "http://127.0.0.1:6902/"];
const PLAIN = { max_concurrent: 2, lane_novnc_urls };
const ABLE = { ...PLAIN, replay: true, replay_clock: true } as never;
const connect = (options: FakeWorkerOptions = {}): Promise<FakeWorker> =>
  hub.worker({ lanes: 2, capabilities: ABLE, ...options });

const CAPTURED = Date.parse("2026-11-20T10:00:00.000Z");

const entryOf = (url: string, more: object = {}, request: object = {}) => ({
  startedDateTime: new Date(CAPTURED).toISOString(),
  time: 5,
  request: { method: "GET", url, httpVersion: "h2", headers: [], ...request },
  response: {
    status: 200,
    statusText: "",
    httpVersion: "h2",
    headers: [{ name: "content-type", value: "text/html" }],
    content: { size: 4, mimeType: "text/html" },
    redirectURL: "",
    bodySize: 4,
    ...more,
  },
  timings: { blocked: 0, dns: 0, connect: 0, ssl: 0, send: 0, wait: 0, receive: 0 },
});
const content = (_asset: string) => ({ content: { size: 4, mimeType: "text/html", _asset } });

/** A job with a page, a form that was sent, a body that was lost, and one that no request names. */
async function capture(worker: FakeWorker): Promise<string> {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const job = await worker.assigned.next((assigned) => assigned.job_id === job_id);
  await worker.putAsset(job, "<h1>", { name: "page.html", mime: "text/html", source_url: TARGET });
  await worker.putAsset(job, "lone", {
    name: "lone.txt",
    mime: "text/plain",
    source_url: "http://site.test/lone",
    status: 206,
  });
  // What the browser saved has no status, and neither has a picture of the page, which is none of the site's.
  const saved = { mime: "text/csv", source_url: "http://site.test/file", status: null };
  await worker.putAsset(job, "a,b", { name: "räport.csv", page_url: TARGET, ...saved });
  await worker.putAsset(job, "shot", {
    name: "shot.png",
    mime: "image/png",
    status: null,
    source_url: TARGET,
    page_url: TARGET,
  });
  const entries = [
    entryOf(TARGET, content("page.html")),
    entryOf(
      "http://site.test/form",
      { content: { size: 9, mimeType: "text/html" } },
      {
        method: "POST",
        _bodyDigest: "abcd",
      },
    ),
    entryOf("data:text/plain,x"),
  ];
  const har = { log: { version: "1.2", creator: {}, pages: [], entries } };
  await worker.putDocument(job, "har.json", JSON.stringify(har));
  worker.finish(job);
  await worker.settle();
  return job_id;
}

const get = async (worker: FakeWorker, path: string, token?: string): Promise<Response> => {
  const { upload_token } = await worker.registered;
  return fetch(`${hub.url}/workers/${worker.worker_id}/replays/${path}`, {
    headers: { authorization: `Bearer ${token ?? upload_token}` },
  });
};
const linesOf = async (answer: Response): Promise<ReplayEntry[]> =>
  (await answer.text())
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

test("a session in replay begins at the job's URL, and its worker may read that capture and no other (rules/replay#open-a-replay)", async () => {
  const worker = await connect();
  const [job_id, other] = [await capture(worker), await capture(worker)];
  expect((await get(worker, job_id)).status).toBe(404);
  const opened = await hub.call("POST", "/sessions", { replay: job_id });
  expect(opened).toMatchObject({
    status: 201,
    body: { replay: { job_id, answered: 0, missed_count: 0, missed: [] } },
  });
  expect(await worker.opening.next()).toMatchObject({ url: TARGET, replay: job_id, proxy: null });
  expect(await linesOf(await get(worker, job_id))).toEqual([
    {
      method: "GET",
      url: TARGET,
      status: 200,
      headers: [["content-type", "text/html"]],
      body: { name: "page.html", size: 4 },
      at: CAPTURED,
    },
    {
      method: "POST",
      url: "http://site.test/form",
      status: 200,
      headers: [["content-type", "text/html"]],
      body: null,
      digest: "abcd",
      at: CAPTURED,
      lacks: "the capture does not have its body",
    },
    {
      method: "GET",
      url: TARGET,
      status: 200,
      headers: [["content-type", "text/html"]],
      body: { name: "page.html", size: 4 },
      is_second_hand: true,
    },
    {
      method: "GET",
      url: "http://site.test/lone",
      status: 200,
      headers: [["content-type", "text/plain"]],
      body: { name: "lone.txt", size: 4 },
      is_second_hand: true,
    },
    {
      method: "GET",
      url: "http://site.test/file",
      status: 200,
      headers: [
        ["content-type", "text/csv"],
        [
          "content-disposition",
          "attachment; filename=r_port.csv; filename*=UTF-8''r%C3%A4port.csv",
        ],
      ],
      body: { name: "räport.csv", size: 3 },
      is_second_hand: true,
    },
  ]);
  expect(await (await get(worker, `${job_id}/bodies/page.html`)).text()).toBe("<h1>");
  for (const path of [`${other}`, `${other}/bodies/page.html`, `${job_id}/bodies/none`])
    expect((await get(worker, path)).status).toBe(404);
  expect((await get(worker, job_id, "wrong")).status).toBe(401);
});

test("the record of a session has the report of its worker's last answer (rules/replay#the-report)", async () => {
  const missed = [{ method: "GET", url: "http://site.test/gone", reason: "it is not there" }];
  const report = { job_id: "", answered: 3, missed_count: 1, missed };
  const worker = await connect({
    on_call: () => ({
      place: { url: TARGET, title: "T", tabs: 1, dialogs: [], replay: report },
    }),
  });
  report.job_id = await capture(worker);
  const { body } = await hub.call("POST", "/sessions", { replay: report.job_id });
  const state = await hub.call("GET", `/sessions/${body.session_id}/state`);
  expect(state.body).toMatchObject({ replay: report });
});

test("a job in replay is sent with its option, and without the proxy of its host (rules/replay#open-a-replay)", async () => {
  const worker = await connect();
  const replay = await capture(worker);
  await hub.call("PUT", "/hosts/site.test", { proxy: "http://proxy.test:3128" });
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET, options: { replay } })).body;
  const job = await worker.assigned.next((assigned) => assigned.job_id === job_id);
  expect(job).toMatchObject({ options: { replay }, extras: { proxy: null } });
  expect((await get(worker, replay)).status).toBe(200);
});

const refused = (loc: string[], words: string) => ({
  status: 422,
  body: { detail: [{ loc, msg: expect.stringContaining(words) }] },
});

test("what cannot be replayed is 422, and says why (rules/replay#open-a-replay)", async () => {
  const worker = await connect();
  const job_id = await capture(worker);
  const running = (await hub.call("POST", "/jobs", { url: TARGET })).body.job_id;
  const tries: [replay: object, at: string, words: string][] = [
    [{ replay: "none" }, "replay", "there is no such job"],
    [{ replay: running }, "replay", "has not ended"],
    [{ replay: job_id, proxy: "http://proxy.test:1" }, "proxy", "cannot be used with replay"],
    [{ replay_clock: "capture" }, "replay_clock", "is only for use with replay"],
  ];
  for (const [input, field, words] of tries) {
    const session = await hub.call("POST", "/sessions", input);
    expect(session).toMatchObject(refused(["body", field], words));
    const job = await hub.call("POST", "/jobs", { url: TARGET, options: input });
    expect(job).toMatchObject(refused(["body", "options", field], words));
  }
});

test("a worker of an earlier version is given no replay (rules/replay#open-a-replay)", async () => {
  const worker = await connect({ capabilities: PLAIN as never });
  const job_id = await capture(worker);
  const session = await hub.call("POST", "/sessions", { replay: job_id });
  expect(session).toMatchObject(refused(["body", "replay"], "of a version that cannot do it"));
});

test("the clock of a capture is asked of workers that can move it, and of no others (rules/replay#the-clock)", async () => {
  const older = await connect({
    capabilities: { ...PLAIN, replay: true } as never,
    worker_id: "older",
  });
  const replay = await capture(older);
  const asked = { replay, replay_clock: "capture" };
  const refusal = refused(["body", "replay_clock"], "of a version that cannot do it");
  expect(await hub.call("POST", "/sessions", asked)).toMatchObject(refusal);
  const job = await hub.call("POST", "/jobs", { url: TARGET, options: asked });
  expect(job).toMatchObject(refused(["body", "options", "replay_clock"], "worker older"));

  const newer = await connect({ worker_id: "newer" });
  const session = await hub.call("POST", "/sessions", asked);
  expect(session).toMatchObject({ status: 201, body: { worker_id: "newer" } });
  expect(await newer.opening.next()).toMatchObject(asked);
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET, options: asked })).body;
  const assigned = await newer.assigned.next((one) => one.job_id === job_id);
  expect(assigned).toMatchObject({ options: asked });
  const plain = await hub.call("POST", "/sessions", { replay, worker_id: "older" });
  expect(plain.status).toBe(201);
  expect(await older.opening.next()).not.toHaveProperty("replay_clock");
});

const PROVE = { mode: "codegen-loop", goal: "find it", prove_in_replay: true };
const prove = async (options: object = {}) => {
  const engine = { endpoint: "http://127.0.0.1:9/v1", model: "m", use_for_codegen: true };
  await hub.call("PUT", "/engines/local", engine);
  return hub.call("POST", "/jobs", { url: TARGET, options: { ...PROVE, ...options } });
};
const proveAt = (field: string, words: string) => refused(["body", "options", field], words);

test("a job proves its scripts where there is a second lane, and a capture that is whole (rules/scripts#proof-in-replay)", async () => {
  const [one] = lane_novnc_urls;
  const able = { replay: true, prove_in_replay: true };
  const single = { max_concurrent: 1, lane_novnc_urls: [one], ...able };
  const small = await connect({ lanes: 1, worker_id: "small", capabilities: single as never });
  const { job_id: plain } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const running = await small.assigned.next(({ job_id }) => job_id === plain);
  expect(Object.keys(running.options)).not.toContain("prove_in_replay");
  expect(await prove()).toMatchObject(proveAt("prove_in_replay", "needs a second lane"));

  const worker = await connect({ capabilities: { ...PLAIN, ...able } as never });
  expect(await prove({ proof_capture: "none" })).toMatchObject(
    proveAt("proof_capture", "there is no such job"),
  );
  await small.putDocument(running, "har.json", '{"log":{"entries":[]}}');
  const early = proveAt("proof_capture", "has not ended");
  expect(await prove({ proof_capture: plain })).toMatchObject(early);
  small.finish(running);
  await small.settle();
  const { status, body } = await prove({ proof_capture: plain });
  expect({ status, job_id: body.job_id }).toMatchObject({ status: 200 });
  const given = [small, worker].map((own) =>
    own.assigned.next((job) => job.job_id === body.job_id),
  );
  expect((await Promise.race(given)).options).toMatchObject({ ...PROVE, proof_capture: plain });
});

test("a worker of an earlier version is given no job that proves its scripts (rules/scripts#proof-in-replay)", async () => {
  await connect();
  const words = "is not possible: worker w11 is of a version that cannot do it";
  expect(await prove()).toMatchObject(proveAt("prove_in_replay", words));
});
