import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";
import { type ReplaySite, startReplaySite } from "#test/support/servers/site/replay-site.ts";

/** Captures that answer a real Chromium, over HTTPS, while their site is gone (rules/replay). */

const LONG = 180_000;
let fleet: FleetProcesses;
let site: ReplaySite;
let captured: Job;
let facts: Record<string, unknown>;
/** Requests that the site had when it was stopped. */
let seen = 0;

const json = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
  const answer = await fetch(fleet.url + path, {
    method,
    signal: AbortSignal.timeout(70_000),
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text}`);
  return JSON.parse(text) as T;
};
const evaluate = async (session: Session, code: string) =>
  (await json<{ result: unknown }>("POST", `/sessions/${session.session_id}/evaluate`, { code }))
    .result;
const factsIn = (html: string): Record<string, unknown> =>
  JSON.parse(/<h1>(\{.*?\})<\/h1>/.exec(html)?.[1] ?? "null");
const pageOf = async ({ job_id }: Job) =>
  (await fetch(`${fleet.url}/jobs/${job_id}/page.html`)).text();
const run = async (options: object) => {
  const { job_id } = await fleet.submit(`${site.origin}/`, { idle_seconds: 5, ...options });
  return fleet.finished(job_id, 120_000);
};

beforeAll(async () => {
  site = startReplaySite();
  fleet = await startFleet({
    lanes: 1,
    headless: true,
    env: { SVC_IGNORE_CERTIFICATE_ERRORS: "1", SVC_DRAIN_TIMEOUT_S: "1" },
  });
  await fleet.lanesWarm(60_000);
  captured = await run({});
  facts = factsIn(await pageOf(captured));
  await site.stop();
  seen = site.count();
}, LONG);

afterAll(async () => {
  expect(await fleet.stop()).toEqual([]);
  // Nothing came after it was stopped: every test below was answered by the capture.
  expect(site.count()).toBe(seen);
}, LONG);

test(
  "a job in replay sees what its capture saw, and its page is the same (rules/replay#what-is-answered)",
  async () => {
    expect(captured).toMatchObject({ status: "completed", title: "done" });
    expect(facts).toEqual({
      secure: true,
      first: "count 1",
      second: "count 2",
      busted: '{"from":"the site"}',
      one: "one as 1",
      two: "two as 2",
      form: "value",
      moved: "moved here",
      compressed: 50_000,
      part: "cde",
      seconds: 2,
      worker: "worker: from the site",
    });
    const job = await run({ replay: captured.job_id });
    expect(job).toMatchObject({
      status: "completed",
      title: "done",
      final_url: `${site.origin}/page`,
      capture: {
        replay: { job_id: captured.job_id, missed: [], missed_count: 0 },
        traffic: { received_bytes: 0, sent_bytes: 0 },
      },
    });
    expect(await pageOf(job)).toBe(await pageOf(captured));
  },
  LONG,
);

test(
  "a session shows the capture, and lists what is not in it (rules/replay#the-report)",
  async () => {
    await fleet.lanesWarm(60_000);
    const session = await json<Session>("POST", "/sessions", {
      replay: captured.job_id,
      headless: true,
    });
    expect(session).toMatchObject({ replay: { job_id: captured.job_id } });
    await until("the page's last answer", 60_000, async () => {
      return (await evaluate(session, "document.title")) === "done";
    });
    expect(
      JSON.parse(String(await evaluate(session, "document.querySelector('h1').textContent"))),
    ).toEqual(facts);
    const status = "fetch('/elsewhere').then((r) => r.status)";
    expect(await evaluate(session, status)).toBe(504);
    expect(
      await evaluate(
        session,
        "fetch('/echo', {method: 'POST', body: 'three'}).then((r) => r.status)",
      ),
    ).toBe(504);
    const socket = `new Promise((done) => {
      const socket = new WebSocket(location.origin.replace("https", "wss") + "/socket");
      socket.onerror = () => done("refused");
      socket.onopen = () => done("open");
    })`;
    expect(await evaluate(session, socket)).toBe("refused");
    const missed = [
      { method: "GET", url: `${site.origin}/elsewhere`, reason: "it is not in the capture" },
      {
        method: "POST",
        url: `${site.origin}/echo`,
        reason: "the capture has this request only with another body",
      },
      { method: "GET", url: `${site.origin}/socket`, reason: "WebSockets are not replayed" },
    ];
    const path = `/sessions/${session.session_id}`;
    const { replay } = await json<Session>("GET", `${path}/state`);
    expect(replay).toMatchObject({ missed, missed_count: 3 });
    expect((await fetch(fleet.url + path, { method: "DELETE" })).status).toBe(204);
    await fleet.lanesWarm(60_000);
  },
  LONG,
);

/** What time the page sees, in each way that a script may ask. */
const TIMES = `(async () => {
  const blob = (code) => URL.createObjectURL(new Blob([code]));
  const worker = new Promise((seen) => {
    const nested = "new Worker(URL.createObjectURL(new Blob(['postMessage(Date.now())']))).onmessage = (e) => postMessage(e.data)";
    new Worker(blob(nested)).onmessage = (e) => seen(e.data);
  });
  const shared = new Promise((seen) => {
    const { port } = new SharedWorker(blob("onconnect = (e) => e.ports[0].postMessage(Date.now())"));
    port.onmessage = (e) => seen(e.data);
  });
  const frame = document.createElement("iframe");
  document.body.append(frame);
  const inner = frame.contentWindow;
  return {
    now: Date.now(),
    made: new Date().getTime(),
    text: Date.parse(Date()),
    frame: inner.Date.now(),
    frame_made: +new inner.Date(),
    format: Date.parse(new Intl.DateTimeFormat("en-US", { dateStyle: "short", timeStyle: "long", timeZone: "UTC" }).format()),
    instant: Temporal.Now.instant().epochMilliseconds,
    zoned: Temporal.Now.zonedDateTimeISO("UTC").epochMilliseconds,
    origin: Math.ceil(performance.timeOrigin + performance.now()),
    service_worker: Number(await (await fetch("/clock")).text()),
    worker: await worker,
    shared: await shared,
  };
})()`;

test(
  "the clock of a capture begins when it was made, in pages, frames and workers, and goes on (rules/replay#the-clock)",
  async () => {
    await fleet.lanesWarm(60_000);
    const since = Date.now();
    const session = await json<Session>("POST", "/sessions", {
      replay: captured.job_id,
      replay_clock: "capture",
      headless: true,
    });
    const path = `/sessions/${session.session_id}`;
    await until("the page's service worker", 60_000, async () => {
      return (await evaluate(session, "document.title")) === "done";
    });
    const { replay } = await json<Session>("GET", `${path}/state`);
    const began = Date.parse(replay?.clock_began ?? "");
    expect(began).toBeWithin(
      Date.parse(captured.started_at ?? ""),
      Date.parse(captured.finished_at ?? ""),
    );
    const seen = (await evaluate(session, TIMES)) as Record<string, number>;
    const latest = began + Date.now() - since;
    // Text has no milliseconds.
    const earliest = began - (began % 1_000);
    const wrong = Object.entries(seen).filter(([, ms]) => !(ms >= earliest && ms <= latest));
    expect({ wrong, earliest, latest }).toMatchObject({ wrong: [] });
    expect(Object.keys(seen)).toHaveLength(12);
    const facts = `[new Date(2020, 1, 2).getFullYear(), new Date().constructor === Date,
      new Date() instanceof Date, Date.length, typeof Date(), performance.now() < 100000, String(Date.now)]`;
    expect(await evaluate(session, facts)).toEqual([
      ...[2020, true, true, 7, "string", true],
      "function () { [native code] }",
    ]);
    expect((await fetch(fleet.url + path, { method: "DELETE" })).status).toBe(204);
    await fleet.lanesWarm(60_000);
  },
  LONG,
);

test(
  "a script is run against the capture, and fails where it has no answer (rules/replay#scripts)",
  async () => {
    const code = `import { session } from "flotilla";
for (let i = 0; i < 100; i += 1)
  if ((await session.evaluate("document.title")) === "done") break;
export default {
  facts: JSON.parse(await session.text({ selector: "h1" })),
  now: await session.evaluate("Date.now()"),
};`;
    const since = Date.now();
    const job = await run({
      mode: "rerun",
      code,
      replay: captured.job_id,
      replay_clock: "capture",
    });
    expect(job).toMatchObject({ status: "completed", capture: { replay: { missed: [] } } });
    const result = await fetch(`${fleet.url}/jobs/${job.job_id}/assets/result.json`);
    const seen = (await result.json()) as { facts: object; now: number };
    expect(seen.facts).toEqual(facts);
    const began = Date.parse(job.capture?.replay?.clock_began ?? "");
    expect(seen.now).toBeWithin(began, began + Date.now() - since);
    const { job_id } = await fleet.submit(`${site.origin}/elsewhere`, { replay: captured.job_id });
    expect(await fleet.finished(job_id, 120_000)).toMatchObject({
      status: "failed",
      http_status: 504,
      error: `the capture of job ${captured.job_id} has no answer for ${site.origin}/elsewhere`,
    });
  },
  LONG,
);
