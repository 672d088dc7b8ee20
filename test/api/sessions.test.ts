import { afterEach, beforeEach, expect, test } from "bun:test";
import { systemClock } from "#shared/kit/clock.ts";
import type { Dialog } from "#shared/protocol/schema/dialog.ts";
import { SESSION_ACTIONS } from "#shared/protocol/schema/session.ts";
import { issueAt } from "#test/support/clients/api.ts";
import { type FakeBridge, startFakeBridge } from "#test/support/fakes/fake-bridge.ts";
import type { FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

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

const start = async (worker: FakeWorkerOptions = {}, options: TestHubOptions = {}) => {
  hub = await startTestHub(options);
  const { lane_novnc_urls } = bridge;
  const lanes = worker.lanes ?? 1;
  return hub.worker({
    address: "127.0.0.1",
    capabilities: { lane_novnc_urls, max_concurrent: lanes } as never,
    ...worker,
  });
};
const open = async (body: object = {}) => {
  const answer = await hub.call("POST", "/sessions", body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  return answer.body;
};
const act = (sid: string, action: string, body?: unknown, init?: RequestInit) =>
  hub.call("POST", `/sessions/${sid}/${action}`, body, init);

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
    session_id: sid,
    state: "active",
    worker_id: "w11",
    lane_idx: 0,
    job_id: null,
    headless: true,
    egress: null,
    proxy: null,
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

test("a client that goes away while its session opens leaves nothing: the worker is told, the lane comes back", async () => {
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

test("every action goes to the worker with its defaults, and its answer comes back (rules/session-actions#the-actions)", async () => {
  const worker = await start();
  const { session_id: sid } = await open();
  const needed: Record<string, object> = {
    navigate: { url: TARGET },
    click: { selector: "a" },
    fill: { selector: "a", text: "t" },
    type: { text: "t" },
    press: { key: "Enter" },
    hover: { selector: "a" },
    drag_and_drop: { source: "a", target: "b" },
    mouse: { op: "up" },
    select_option: { selector: "a", values: ["x"] },
    check: { selector: "a" },
    uncheck: { selector: "a" },
    scroll: { amount: 1 },
    wait: { seconds: 0 },
    evaluate: { code: "1" },
    set_input_files: { selector: "a", files: [] },
    tab: { op: "new" },
    recipe: { actions: [{ kind: "press", key: "Enter" }] },
    ask: { prompt: "what?" },
    agent: { goal: "go" },
    dialog: { op: "accept" },
  };
  for (const action of Object.keys(SESSION_ACTIONS).filter((name) => name !== "keepalive")) {
    const answer = await act(sid, action, { ...needed[action], timeout_s: 7 });
    expect({ action, status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    expect(answer.body).toMatchObject({ ok: true, url: "about:blank", title: "Title", ms: 1 });
    expect(answer.body.result).toMatchObject({ action, args: needed[action] ?? {} });
    const call = await worker.calls.next();
    expect(call).toMatchObject({ session_id: sid, action, timeout_ms: 7_000 });
    expect(call.args).not.toHaveProperty("timeout_s");
  }
  expect((await act(sid, "reload")).body.result.args).toEqual({ wait_until: "load" });
});

test("an action is validated by the hub: 422 names the field, 400 what is missing or no JSON, 415, 404 for no action", async () => {
  const worker = await start();
  const { session_id: sid } = await open();
  for (const [action, body, loc] of [
    ["click", { selector: "a", x: 1, y: 1 }, []],
    ["click", { selector: "a", button: "thumb" }, ["button"]],
    ["click", { selector: "a", wait_for: "dialog" }, ["wait_for"]],
    ["click", { selector: "a", frame: [] }, ["frame"]],
    ["mouse", { op: "move" }, []],
    ["screenshot", { frame: "iframe" }, ["frame"]],
    ["navigate", { url: "file:///etc/passwd" }, ["url"]],
    ["fill", { selector: "a", text: "b", extra: 1 }, ["extra"]],
    ["reload", { timeout_s: 0 }, ["timeout_s"]],
    ["reload", { timeout_s: 3_601 }, ["timeout_s"]],
    ["evaluate", { code: "x".repeat(200 * 1024 + 1) }, ["code"]],
    [
      "set_input_files",
      { selector: "a", files: [{ name: "a", upload_id: "x" }] },
      ["files", 0, "upload_id"],
    ],
    ["set_input_files", { selector: "a", files: [{ name: "a" }] }, ["files", 0, "content_base64"]],
  ] as const) {
    const answer = await act(sid, action, body);
    expect(answer).toMatchObject({ status: 422, body: issueAt("body", ...loc) });
  }
  expect((await act(sid, "navigate", "{nope")).status).toBe(400);
  expect(
    (await act(sid, "reload", "x", { headers: { "content-type": "text/plain" } })).status,
  ).toBe(415);
  for (const action of ["constructor", "state", "snapshot"])
    expect([404, 405]).toContain((await act(sid, action, {})).status);
  expect((await act(sid, "dance", {})).status).toBe(404);
  expect((await hub.call("GET", `/sessions/${sid}/click`)).headers.get("allow")).toBe("POST");
  expect(worker.calls.all.length).toBe(0);
});

/** As a worker tells of it. */
const DIALOG: Dialog = {
  dialog_id: "1",
  type: "confirm",
  message: "Really?",
  default_prompt: "",
  url: "http://x.test/",
  active: true,
  opened_at: "2026-01-01T00:00:00.000Z",
  closes_at: null,
};

test("a failed action: 422 with error for the page, 504 for time, 404 gone, 502 for the rest", async () => {
  const error = { name: "Error", message: "no such element", stack: "at x" };
  const kinds = { page: 422, invalid: 422, timeout: 504, gone: 404, broken: 502 } as const;
  let kind: keyof typeof kinds = "page";
  await start({
    on_call: () => ({
      ok: false,
      kind,
      error,
      place: { url: "http://x.test/", title: "X", tabs: 2, dialogs: [DIALOG] },
    }),
  });
  const { session_id: sid } = await open();
  for (const [name, status] of Object.entries(kinds)) {
    kind = name as keyof typeof kinds;
    const answer = await act(sid, "click", { selector: "a" });
    expect(answer.status).toBe(status);
    if (kind === "page") expect(answer.body).toEqual({ detail: "no such element", error });
  }
  // A failed action tells where the page is as well.
  expect((await hub.call("GET", "/sessions")).body.sessions[0]).toMatchObject({
    dialogs: [DIALOG],
    url: "http://x.test/",
    title: "X",
    tabs: 2,
  });
});

test("actions of a session run at once, 32 at most; the next is 503 with Retry-After", async () => {
  const worker = await start({ on_call: () => null });
  const { session_id: sid } = await open();
  const running = Array.from({ length: 32 }, () => act(sid, "evaluate", { code: "1" }));
  const calls = [];
  for (const _ of running) calls.push(await worker.calls.next());
  const refused = await act(sid, "evaluate", { code: "1" });
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("1");
  // Answered in another order than they came, and each to its own caller.
  for (const call of calls.reverse()) worker.reply(call, { result: call.call_id });
  const results = (await Promise.all(running)).map((a) => a.body.result);
  expect(new Set(results).size).toBe(32);
  expect(hub.ctx.session_calls.size).toBe(0);
});

test("a reply does not wait for what the database still has to store", async () => {
  const worker = await start({ lanes: 2 }, {});
  const { session_id: sid } = await open();
  await hub.call("POST", "/jobs", { url: TARGET });
  const job = await worker.assigned.next();
  const { promise: blocked, resolve: unblock } = Promise.withResolvers<void>();
  const append = hub.ctx.db.events.append;
  hub.ctx.db.events.append = async (...args) => {
    await blocked;
    return append(...args);
  };
  worker.log(job, "fetching", "a line");
  expect((await act(sid, "evaluate", { code: "1" })).status).toBe(200);
  unblock();
});

test("screenshot and pdf answer raw bytes when Accept asks for them", async () => {
  const content_base64 = Buffer.from("picture").toString("base64");
  await start({
    on_call: ({ action }) => ({
      result: { mime: action === "pdf" ? "application/pdf" : "image/png", content_base64 },
    }),
  });
  const { session_id: sid } = await open();
  for (const [action, accept] of [
    ["screenshot", "image/*"],
    ["pdf", "application/pdf"],
  ] as const) {
    const answer = await act(sid, action, {}, { headers: { accept } });
    expect(answer).toMatchObject({ status: 200, text: "picture" });
    expect(answer.headers.get("content-type")).toStartWith(accept.replace("*", "png"));
    const plain = await act(sid, action, {}, { headers: { accept: "application/json" } });
    expect(plain.body.result.content_base64).toBe(content_base64);
  }
});

test("a result too large for the link is read from the worker's bridge, with its token", async () => {
  const worker = await start({ on_call: () => ({ blob: "b1" }) });
  const big = { text: "é".repeat(600_000) };
  bridge.blobs.set("b1", JSON.stringify(big));
  const { session_id: sid } = await open();
  const answer = await act(sid, "content");
  expect(answer.body).toMatchObject({ ok: true, title: "Title" });
  expect(answer.body.result).toEqual(big);
  const { upload_token } = await worker.registered;
  expect(bridge.requests).toEqual([
    { method: "GET", path: `/sessions/${sid}/blobs/b1`, bearer: `Bearer ${upload_token}` },
  ]);
  await bridge.stop();
  expect((await act(sid, "content")).status).toBe(502);
});

test("set_input_files as multipart: files go to the worker as they come, the call names them", async () => {
  const worker = await start();
  const { session_id: sid } = await open();
  const big = new Uint8Array(20_000_000).fill(7);
  const form = new FormData();
  form.append("files", new File(["hello"], "a.txt", { type: "text/plain" }));
  form.append("files", new File([big], "../b ä.bin"));
  form.append("selector", "#file");
  form.append("timeout_s", "12");
  const answer = await fetch(`${hub.url}/sessions/${sid}/set_input_files`, {
    method: "POST",
    body: form,
  });
  expect({ status: answer.status, body: await answer.text() }).toMatchObject({ status: 200 });
  const call = await worker.calls.next();
  expect(call).toMatchObject({ action: "set_input_files", timeout_ms: 12_000 });
  const files = call.args.files as { name: string; mime: string; upload_id: string }[];
  expect(files.map(({ name, mime }) => ({ name, mime }))).toEqual([
    { name: "a.txt", mime: "text/plain" },
    { name: "b ä.bin", mime: "application/octet-stream" },
  ]);
  expect(bridge.uploads.get(files[0]?.upload_id ?? "")?.size).toBe(5);
  expect(bridge.uploads.get(files[1]?.upload_id ?? "")?.sha256).toBe(
    new Bun.CryptoHasher("sha256").update(big).digest("hex"),
  );
});

test("set_input_files beyond 100 MB is 413, announced or not, and leaves nothing on the worker", async () => {
  const worker = await start();
  const { session_id: sid } = await open();
  const url = `${hub.url}/sessions/${sid}/set_input_files`;
  const headers = { "content-type": "multipart/form-data; boundary=x" };
  const part = (name: string) =>
    `--x\r\nContent-Disposition: form-data; name="files"; filename="${name}"\r\n\r\n`;
  let sent = 0;
  const endless = new ReadableStream({
    start: (c) => c.enqueue(Buffer.from(`${part("small")}abc\r\n${part("big")}`)),
    pull: (c) => {
      sent += 1_048_576;
      c.enqueue(new Uint8Array(1_048_576));
    },
  });
  const grown = await fetch(url, { method: "POST", headers, body: endless });
  expect(grown.status).toBe(413);
  // Sockets, and a router, hold some of it.
  expect(sent).toBeLessThan(200 * 1_048_576);
  expect(bridge.uploads.size).toBe(0);
  expect(worker.calls.all.length).toBe(0);
}, 60_000);

test("a form that is none, has too many files, or whose call fails leaves nothing on the worker", async () => {
  await start({
    on_call: () => ({ ok: false, kind: "page", error: { name: "Error", message: "no element" } }),
  });
  const { session_id: sid } = await open();
  const send = (body: string | FormData, headers: Record<string, string> = {}) =>
    fetch(`${hub.url}/sessions/${sid}/set_input_files`, { method: "POST", body, headers });
  const form = new FormData();
  form.append("files", new File(["x"], "a"));
  expect((await send(form)).status).toBe(400); // no selector
  form.append("selector", "#file");
  expect((await send(form)).status).toBe(422);
  form.append("timeout_s", "soon");
  expect((await send(form)).status).toBe(422);
  const many = new FormData();
  for (let i = 0; i < 101; i += 1) many.append("files", new File(["x"], `f${i}`));
  expect((await send(many)).status).toBe(422);
  const multipart = { "content-type": "multipart/form-data; boundary=x" };
  expect((await send("nonsense", multipart)).status).toBe(400);
  expect((await send("x", { "content-type": "multipart/form-data" })).status).toBe(400);
  expect((await send(form, { "idempotency-key": "k" })).status).toBe(422);
  expect(bridge.uploads.size).toBe(0);
});

test("cookies: read with their values, put, deleted (rules/sessions#cookies-of-a-session)", async () => {
  const cookies = [{ name: "a", value: "1", domain: "site.test", path: "/", expires: -1 }];
  const worker = await start({
    on_call: ({ action }) => (action === "cookies_get" ? { result: { cookies } } : {}),
  });
  const { session_id: sid } = await open();
  const path = `/sessions/${sid}/cookies`;
  expect(await hub.call("GET", path)).toMatchObject({ status: 200, body: { cookies } });
  const put = await hub.call("PUT", path, { cookies: [{ name: "b", value: "2", url: TARGET }] });
  expect(put).toMatchObject({ status: 200, body: { cookies } });
  expect((await hub.call("PUT", path, { cookies: [{ name: "b" }] })).status).toBe(400);
  expect((await hub.call("DELETE", path)).status).toBe(204);
  expect(worker.calls.all.map((c) => c.action)).toEqual([
    "cookies_get",
    "cookies_put",
    "cookies_get",
    "cookies_clear",
  ]);
});

test("network: entries after `since` (rules/sessions#network-log)", async () => {
  const log = { entries: [], next: 7, dropped: 0 };
  const worker = await start({ on_call: () => ({ result: log }) });
  const { session_id: sid } = await open();
  expect((await hub.call("GET", `/sessions/${sid}/network?since=6`)).body).toEqual(log);
  expect((await worker.calls.next()).args).toEqual({ since: 6 });
  expect((await hub.call("GET", `/sessions/${sid}/network?since=-1`)).status).toBe(422);
});

test("downloads: listed with their hrefs, read through the bridge as attachments that run nothing", async () => {
  const file = {
    name: "a b.html",
    size: 5,
    mime: "text/html",
    url: TARGET,
    state: "completed",
    created_at: Date.UTC(2026, 0, 1),
  };
  await start({ on_call: () => ({ result: { files: [file] } }) });
  bridge.files.set("a b.html", { body: "<b>x</b>", mime: "text/html" });
  const { session_id: sid } = await open();
  const href = `/sessions/${sid}/files/a%20b.html`;
  expect((await hub.call("GET", `/sessions/${sid}/files`)).body).toEqual({
    files: [{ ...file, href, created_at: "2026-01-01T00:00:00.000Z" }],
  });
  const { status, text, headers } = await hub.call("GET", href);
  expect({ status, text }).toEqual({ status: 200, text: "<b>x</b>" });
  expect(headers.get("content-disposition")).toStartWith('attachment; filename="a b.html"');
  expect(headers.get("content-security-policy")).toBe("sandbox");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  for (const name of ["none", "..%2f..%2fetc%2fpasswd", "%2e%2e"])
    expect((await hub.call("GET", `/sessions/${sid}/files/${name}`)).status).toBe(404);
});

test("preview.jpg: one call however many ask, kept for preview_interval_s, never cached outside", async () => {
  const jpeg = { mime: "image/jpeg", content_base64: Buffer.from("jpg").toString("base64") };
  const worker = await start({ on_call: () => ({ result: jpeg }) });
  const { session_id: sid } = await open();
  const ask = () => hub.call("GET", `/sessions/${sid}/preview.jpg`);
  const answers = await Promise.all([ask(), ask(), ask()]);
  for (const { status, text, headers } of answers) {
    expect({ status, text }).toEqual({ status: 200, text: "jpg" });
    expect(headers.get("content-type")).toBe("image/jpeg");
    expect(headers.get("cache-control")).toBe("no-store");
  }
  await ask();
  expect(worker.calls.all.length).toBe(1);
  await hub.ctx.db.settings.set("preview_interval_s", 0.000_1, 0);
  hub.ctx.settings_cache.delete("preview_interval_s");
  await ask();
  expect(worker.calls.all.length).toBe(2);
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

test("whatever is asked of no session is 404: unknown ids, job ids, and ended ones for ever (rules/sessions#ended-sessions-are-404)", async () => {
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
