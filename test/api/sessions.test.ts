import { afterEach, beforeEach, expect, test } from "bun:test";
import { systemClock } from "#shared/kit/clock.ts";
import { issueAt } from "#test/support/clients/api.ts";
import { type FakeBridge, startFakeBridge } from "#test/support/fakes/fake-bridge.ts";
import type { FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";
import { openSessionOf, startSessionHub } from "#test/support/rigs/session-hub.ts";

/**
 * The calls of a session (rules/sessions#open-a-session, rules/session-actions#the-actions), against a worker that answers
 * without a browser.
 */

let hub: TestHub;
let bridge: FakeBridge;
beforeEach(() => {
  bridge = startFakeBridge();
});
afterEach(async () => {
  await hub?.close();
  await bridge.stop();
});

const start = async (options?: FakeWorkerOptions, of_hub?: TestHubOptions) => {
  const started = await startSessionHub(bridge, options, of_hub);
  ({ hub } = started);
  return started.worker;
};
const open = (body?: object) => openSessionOf(hub, body);

test("POST /sessions answers 201 with the session's record and takes a lane (rules/sessions#open-a-session)", async () => {
  const worker = await start();
  const session = await open({
    url: TARGET,
    headless: true,
    viewport: { width: 800, height: 600 },
  });
  const { session_id: sid } = session;
  expect(sid).toMatch(/^[\w-]{22}$/);
  expect(session).toEqual({
    capture: false,
    watchers: [],
    reconnect_s: null,
    session_id: sid,
    state: "active",
    worker_id: "w11",
    lane_idx: 0,
    job_id: null,
    headless: true,
    egress: null,
    proxy: null,
    replay: null,
    blocked: null,
    trace: false,
    novnc_url: `/sessions/${sid}/novnc/?path=sessions/${sid}/novnc/websockify&autoconnect=1&resize=scale&reconnect=1`,
    cdp_url: `/sessions/${sid}/cdp`,
    created_at: expect.stringMatching(/Z$/),
    last_active_at: session.created_at,
    idle_ttl_s: 300,
    expires_at: new Date(Date.parse(session.created_at) + 14_400_000).toISOString(),
    url: TARGET,
    title: "Title",
    tabs: 1,
    dialogs: [],
  });
  expect(await worker.opening.next()).toMatchObject({
    session_id: sid,
    lane_idx: 0,
    url: TARGET,
    headless: true,
    viewport: { width: 800, height: 600 },
    profile: null,
  });
  expect((await hub.call("GET", "/workers")).body.workers[0]).toMatchObject({ in_flight: 1 });
  expect((await hub.call("GET", "/sessions")).body).toEqual({
    sessions: [session],
    next_cursor: null,
  });
});

test("a session's record has the way out that it asked for, or its host names, and never a login", async () => {
  const egress = { mode: "open", allow: [], deny: [], block: [] };
  const { lane_novnc_urls } = bridge;
  const worker = await start({
    lanes: 3,
    capabilities: { lane_novnc_urls, max_concurrent: 3, egress } as never,
  });
  const asked = { mode: "public", allow: ["10.0.0.0/8"], deny: ["*.ads.test"] };
  const own = await open({ egress: asked, proxy: "http://me:hush@proxy.test:3128" });
  const sent = await worker.opening.next(({ session_id }) => session_id === own.session_id);
  expect(sent.proxy).toMatchObject({ username: "me", password: "hush" });
  const shown = { server: "http://proxy.test:3128", bypass: null };
  const hidden = { username: "***", password: "***" };
  expect(own).toMatchObject({ egress: asked, proxy: { ...shown, ...hidden } });
  const proxy = { server: "socks5://user:pass@exit.test", bypass: "intern.test" };
  expect((await hub.call("PUT", "/hosts/site.test", { proxy })).status).toBe(200);
  const of_host = await open({ url: TARGET });
  expect(of_host).toMatchObject({
    egress: null,
    proxy: { server: "socks5://exit.test:1080", bypass: "intern.test", ...hidden },
  });
  const read = await Promise.all([
    hub.call("GET", "/sessions"),
    hub.call("GET", `/sessions/${own.session_id}/state`),
  ]);
  for (const { text } of read) {
    expect(text).toContain("proxy.test");
    expect(text).not.toMatch(/hush|"me"|"pass"/);
  }
  expect(JSON.stringify(hub.log)).not.toContain("hush");
});

test("POST /sessions: bad fields are 422, an unknown worker 404, an unknown profile 422", async () => {
  await start();
  for (const [body, field] of [
    [{ idle_ttl_s: 4 }, "idle_ttl_s"],
    [{ idle_ttl_s: 86_401 }, "idle_ttl_s"],
    [{ ttl_s: 864_001 }, "ttl_s"],
    [{ url: "file:///etc/passwd" }, "url"],
    [{ viewport: { width: 1, height: 1 } }, "viewport"],
    [{ use_profile: "No Such" }, "use_profile"],
    [{ use_profile: "nosuch" }, "use_profile"],
    [{ colour: "red" }, "colour"],
  ] as const) {
    const answer = await hub.call("POST", "/sessions", body);
    expect(answer.status).toBe(422);
    expect(JSON.stringify(answer.body.detail)).toContain(field);
  }
  expect(await hub.call("POST", "/sessions", { worker_id: "w99" })).toMatchObject({
    status: 404,
    body: { detail: "worker not found" },
  });
  expect((await hub.call("GET", "/workers")).body.workers[0]).toMatchObject({ in_flight: 0 });
});

test("worker_id: only that worker will do; drained or away it is 503", async () => {
  await start({ lanes: 3 });
  const two = await hub.worker({ worker_id: "w12", instance_id: "i2", hostname: "host-2" });
  expect(await open({ worker_id: "w12" })).toMatchObject({ worker_id: "w12" });
  expect((await hub.call("POST", "/sessions", { worker_id: "w12" })).status).toBe(503);
  await two.close();
  await hub.signals.next("link closed", { worker_id: "w12" });
  expect((await hub.call("POST", "/sessions", { worker_id: "w12" })).status).toBe(503);
  await hub.call("POST", "/workers/w11/status", { status: "drain" });
  expect((await hub.call("POST", "/sessions", { worker_id: "w11" })).status).toBe(503);
});

test("without a free lane POST /sessions is 503 fleet at capacity with Retry-After (rules/sessions#no-lane-for-a-session)", async () => {
  await start();
  await open();
  const answer = await hub.call("POST", "/sessions", {});
  expect(answer).toMatchObject({ status: 503, body: { detail: "fleet at capacity" } });
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(hub.ctx.lanes_wanted.size).toBe(0);
});

test("two POST /sessions that race for one lane: one gets it, the other 503", async () => {
  await start();
  const answers = await Promise.all([
    hub.call("POST", "/sessions", {}),
    hub.call("POST", "/sessions", {}),
  ]);
  expect(answers.map((a) => a.status).sort()).toEqual([201, 503]);
  expect((await hub.ctx.leases.list("w11")).length).toBe(1);
});

test("a waiting POST /sessions gets the next free lane, after the jobs that were queued before it", async () => {
  // Every look at it is later than the one before, so that no two calls came at the same time.
  let last = 0;
  const clock = {
    ...systemClock,
    now: () => {
      last = Math.max(last + 1, Date.now());
      return last;
    },
  };
  // A lane goes in turn to what waits at its own hub; a call that waits at another gets what is left (rules/cluster#sessions-across-hubs).
  const worker = await start({}, { alone: true, clock, env: { SVC_SUBMIT_WAIT_S: "20" } });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const queued = async (count: number) => {
    while ((await hub.ctx.db.jobs.oldestQueued(clock.now(), 9)).length < count) await turn();
  };
  const first = await open();
  const job = hub.call("POST", "/jobs", { url: TARGET });
  await queued(1);
  const second = hub.call("POST", "/sessions", {});
  while (hub.ctx.lanes_wanted.size === 0) await turn();
  const later = hub.call("POST", "/jobs", { url: TARGET });
  await queued(2);
  await hub.call("DELETE", `/sessions/${first.session_id}`);
  const assigned = await worker.assigned.next();
  expect((await job).body.job_id).toBe(assigned.job_id);
  expect(worker.opening.all.length).toBe(1);
  worker.finish(assigned);
  const { status, body: session } = await second;
  expect([status, session.session_id]).toEqual([201, worker.opening.all[1]?.session_id]);
  await hub.call("DELETE", `/sessions/${session.session_id}`);
  expect((await later).body.job_id).toBe((await worker.assigned.next()).job_id);
});

test("a lane the worker refuses is not asked again: another one is, and a page that fails is 422", async () => {
  await start({ on_open: "lane" });
  expect((await hub.call("POST", "/sessions", {})).status).toBe(503);
  const good = await hub.worker({ worker_id: "w12", instance_id: "i2", hostname: "host-2" });
  expect((await open()).worker_id).toBe("w12");
  await hub.call("POST", "/workers/w12/status", { status: "drain" });
  await good.settle();
  await hub.close();
  await start({ on_open: "page" });
  const answer = await hub.call("POST", "/sessions", { url: TARGET });
  expect(answer).toMatchObject({ status: 422, body: issueAt("body", "url") });
  expect(answer.text).toContain("cannot");
  await hub.signals.next("lane freed");
  expect(await hub.ctx.leases.list("w11")).toEqual([]);
  expect(hub.ctx.sessions.size).toBe(0);
});

test("a client that goes away while its session opens leaves nothing: the worker hears of it, the lane comes back", async () => {
  const worker = await start({ on_open: "never" });
  const gone = new AbortController();
  const call = hub.call("POST", "/sessions", {}, { signal: gone.signal }).catch(() => null);
  const opening = await worker.opening.next();
  gone.abort();
  await call;
  expect(await worker.closing.next()).toMatchObject({
    session_id: opening.session_id,
    lease_token: opening.lease_token,
  });
  // It had opened after all: that is told again, and only `warm` gives the lane back.
  worker.opened(opening);
  await worker.closing.next();
  await hub.signals.next("lane freed");
  expect(hub.ctx.sessions.size).toBe(0);
  expect(await hub.ctx.leases.list("w11")).toEqual([]);
});

test("the worker goes away while a session opens: 502, nothing left", async () => {
  const worker = await start({ on_open: "never" });
  const call = hub.call("POST", "/sessions", {});
  await worker.opening.next();
  await worker.close();
  expect((await call).status).toBe(502);
  await hub.signals.next("link closed");
  expect(await hub.ctx.leases.list("w11")).toEqual([]);
});

test("the hub stops while a session opens or waits for a lane: both are answered", async () => {
  const worker = await start({ on_open: "never" }, { env: { SVC_SUBMIT_WAIT_S: "20" } });
  const opening = hub.call("POST", "/sessions", {});
  await worker.opening.next();
  const waiting = hub.call("POST", "/sessions", {});
  while (hub.ctx.lanes_wanted.size === 0) await new Promise((r) => setImmediate(r));
  const stopped = hub.stop();
  expect((await opening).status).toBe(503);
  expect((await waiting).status).toBe(503);
  await stopped;
});

test("Idempotency-Key: the same key opens one session; a 503 may be tried again with it at once", async () => {
  const worker = await start();
  const keyed = (key: string, body: object = {}) =>
    hub.call("POST", "/sessions", body, { headers: { "idempotency-key": key } });
  const [one, two] = await Promise.all([keyed("a"), keyed("a")]);
  expect([one.status, two.status]).toEqual([201, 201]);
  expect(two.body.session_id).toBe(one.body.session_id);
  expect(worker.opening.all.length).toBe(1);
  expect((await keyed("a", { headless: true })).status).toBe(409);
  expect((await keyed("b")).status).toBe(503);
  const path = `/sessions/${one.body.session_id}`;
  const headers = { "idempotency-key": "d" };
  expect((await hub.call("DELETE", path, undefined, { headers })).status).toBe(204);
  expect((await hub.call("DELETE", path, undefined, { headers })).status).toBe(204);
  await hub.signals.next("lane freed");
  expect((await keyed("b")).status).toBe(201);
});

test("a call that comes while the browser starts is 503 with Retry-After, not 502 (rules/session-actions#failed-actions)", async () => {
  const error = { name: "BrowserStarting", message: "the browser is still starting" };
  await start({ on_call: () => ({ ok: false, kind: "broken", error }) });
  const { session_id: sid } = await open();
  for (const [method, path] of [
    ["GET", "preview.jpg"],
    ["POST", "markdown"],
  ] as const) {
    const args = method === "POST" ? [{}] : [];
    const { status, body, headers } = await hub.call(method, `/sessions/${sid}/${path}`, ...args);
    expect({ status, body }).toEqual({ status: 503, body: { detail: error.message, error } });
    expect(headers.get("retry-after")).toBe("1");
  }
});

test("GET /sessions/{sid} and /state tell where the page is now, or what is known when the worker is busy", async () => {
  const worker = await start({
    on_call: () => ({ place: { url: "http://now.test/", title: "Now", tabs: 3, dialogs: [] } }),
  });
  const { session_id: sid } = await open();
  for (const path of [`/sessions/${sid}`, `/sessions/${sid}/state`]) {
    const { body } = await hub.call("GET", path);
    expect(body).toMatchObject({ session_id: sid, url: "http://now.test/", title: "Now", tabs: 3 });
    expect((await worker.calls.next()).action).toBe("state");
  }
});

test("whatever is asked of no session is 404: unknown ids, job ids, and ended ones forever (rules/sessions#ended-sessions-are-404)", async () => {
  const worker = await start({ lanes: 2 });
  const { session_id: sid } = await open();
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const job = await worker.assigned.next();
  expect((await hub.call("DELETE", `/sessions/${sid}`)).status).toBe(204);
  const paths = [
    ["GET", ""],
    ["GET", "state"],
    ["DELETE", ""],
    ["POST", "click"],
    ["POST", "keepalive"],
    ["POST", "nonsense"],
    ["PATCH", "click"],
    ["GET", "cookies"],
    ["PUT", "cookies"],
    ["DELETE", "cookies"],
    ["GET", "network"],
    ["GET", "files"],
    ["GET", "files/a"],
    ["GET", "preview.jpg"],
    ["GET", "novnc/"],
    ["GET", "cdp/json/version"],
  ] as const;
  for (const id of [sid, job_id, "x", sid.slice(0, -1), sid.toLowerCase(), "__proto__"])
    for (const [method, path] of paths) {
      if (id === job.session_id) continue;
      const answer = await hub.call(
        method,
        `/sessions/${id}${path && `/${path}`}`,
        method === "POST" || method === "PUT" ? {} : undefined,
      );
      expect({ id, method, path, status: answer.status, body: answer.body }).toMatchObject({
        status: 404,
        body: { detail: expect.stringContaining("not found") },
      });
    }
  expect((await hub.call("GET", `/sessions/${job.session_id}/state`)).status).toBe(200);
});

test("SVC_API_TOKEN is asked for by every call of a session", async () => {
  await start({}, { env: { SVC_API_TOKEN: "t0ken" } });
  for (const path of ["/sessions", "/sessions/x", "/sessions/x/state", "/sessions/x/cookies"])
    expect((await hub.call("GET", path)).status).toBe(401);
  expect((await hub.call("POST", "/sessions", {})).status).toBe(401);
  expect((await hub.call("POST", "/sessions/x/click", {})).status).toBe(401);
});
