import { afterEach, beforeEach, expect, test } from "bun:test";
import { createClient } from "flotilla";
import type { SessionReply } from "#shared/protocol/link/messages.ts";
import { ONE_SHOT_KINDS } from "#shared/protocol/schema/one-shot.ts";
import { type FakeBridge, startFakeBridge } from "#test/support/fakes/fake-bridge.ts";
import type { FakeWorker, FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";
import { sessionWorkerOf } from "#test/support/rigs/session-hub.ts";

/** Pages in one call, at a worker that answers without a browser (rules/one-shot-calls). */

let hub: TestHub;
let bridge: FakeBridge;
beforeEach(() => {
  bridge = startFakeBridge();
});
afterEach(async () => {
  await hub?.close();
  await bridge.stop();
});

const answers = (result: object): FakeWorkerOptions => ({ on_call: () => ({ result }) });
const HTML = { mime: "text/html; charset=utf-8", status: 200, size: 6, text: "<p>hi" };
const PNG = { mime: "image/png", status: 200, size: 3, base64: "AQID" };

async function start(options: FakeWorkerOptions = answers(HTML), of_hub?: TestHubOptions) {
  hub = await startTestHub(of_hub);
  return connect(options);
}
const connect = (options: FakeWorkerOptions): Promise<FakeWorker> =>
  sessionWorkerOf(hub, bridge, { ...options, capabilities: { one_shot: true } as never });
const post = (path: string, body: unknown = { url: TARGET }, init?: RequestInit) =>
  hub.call("POST", path, body, init);
const fails = (reply: Partial<SessionReply>): FakeWorkerOptions => ({
  on_call: () => ({ ok: false, ...reply }),
});
const BODIES: Record<string, object> = { evaluate: { code: "1" } };

test("every call gets a browser of its own, in which nothing is recorded, and gives it back (rules/one-shot-calls#a-call)", async () => {
  const worker = await start();
  for (const kind of ONE_SHOT_KINDS) {
    const answer = await post(`/${kind}`, { url: TARGET, ...BODIES[kind] });
    expect({ kind, status: answer.status, text: answer.text }).toMatchObject({
      status: 200,
      text: "<p>hi",
    });
    const opened = await worker.opening.next();
    expect(opened).toMatchObject({
      url: null,
      record: "off",
      profile: null,
      dialog_policy: "dismiss",
    });
    expect(opened.headless).toBe(kind === "pdf");
    expect(opened.trace ?? opened.capture ?? null).toBeNull();
    const call = await worker.calls.next();
    expect(call).toMatchObject({ action: "one_shot", timeout_ms: 60_000 });
    expect(call.args).toMatchObject({ kind, as_json: false, call: { url: TARGET } });
    expect(call.args.call).not.toHaveProperty("egress");
    const { session_id } = await worker.closing.next();
    expect(session_id).toBe(opened.session_id);
  }
  expect((await hub.call("GET", "/sessions")).body.sessions).toEqual([]);
  expect((await hub.call("GET", "/sessions?status=ended")).body.sessions).toEqual([]);
  expect((await hub.call("GET", "/jobs")).body.jobs).toEqual([]);
});

test("the answer is the thing itself, with where it comes from, and harmless in a browser (rules/one-shot-calls#answers)", async () => {
  await start(answers(PNG));
  const answer = await fetch(`${hub.url}/screenshot`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ url: TARGET }),
  });
  expect(answer.status).toBe(200);
  expect([...new Uint8Array(await answer.arrayBuffer())]).toEqual([1, 2, 3]);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "content-type": "image/png",
    "cache-control": "no-store",
    "content-security-policy": "sandbox",
    "x-content-type-options": "nosniff",
    "x-response-code": "200",
    "x-response-url": "about:blank",
  });
});

test("where the page came to fits into a header, whatever it wrote there (rules/one-shot-calls#answers)", async () => {
  const place = { url: "https://a.test/#\u{1f600} x", title: "", tabs: 1, dialogs: [] };
  await start({ on_call: () => ({ result: HTML, place }) });
  const { status, headers } = await post("/content");
  expect({ status, url: headers.get("x-response-url") }).toEqual({
    status: 200,
    url: "https://a.test/#%F0%9F%98%80%20x",
  });
});

test("a large answer is streamed from its worker, and its browser stays until it was taken (rules/one-shot-calls#answers)", async () => {
  const worker = await start(
    answers({ mime: "application/pdf", status: 200, size: 400_000, blob: "b1" }),
  );
  bridge.blobs.set("b1", "x".repeat(400_000));
  const answer = await post("/pdf");
  expect({ status: answer.status, length: answer.text.length }).toEqual({
    status: 200,
    length: 400_000,
  });
  expect((await worker.closing.next()).reason).toBe("its answer was taken");
  expect(bridge.requests.at(-1)?.bearer).toMatch(/^Bearer /);
});

test("who asks for JSON and nothing else gets JSON; links, scrape and evaluate are JSON always (rules/one-shot-calls#answers)", async () => {
  const worker = await start();
  for (const [accept, as_json] of [
    ["application/json", true],
    ["text/html, application/json", false],
    ["*/*", false],
    ["application/json, */*", false],
  ] as const) {
    await post("/content", undefined, { headers: { accept } });
    expect({ accept, as_json: (await worker.calls.next()).args.as_json }).toEqual({
      accept,
      as_json,
    });
  }
});

test("options reach the page in the words of this API, whichever the client speaks (rules/one-shot-calls#spellings-of-others)", async () => {
  const worker = await start();
  const answer = await post("/content?timeout=5000", {
    url: TARGET,
    gotoOptions: { waitUntil: "networkidle0" },
    waitForSelector: { selector: "#a" },
    cookies: [{ name: "a", value: "b" }],
    viewport: { width: 800, height: 600, deviceScaleFactor: 2 },
  });
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  expect(await worker.opening.next()).toMatchObject({ viewport: { width: 800, height: 600 } });
  const call = await worker.calls.next();
  expect(call.timeout_ms).toBe(5_000);
  expect(call.args.call).toMatchObject({
    wait_until: "networkidle",
    wait_for_selector: { selector: "#a", state: "attached" },
    cookies: [{ name: "a", value: "b" }],
    viewport: { width: 800, height: 600, device_scale_factor: 2 },
    timeout_s: 5,
  });
});

test("a call that cannot be understood takes no lane: 422 names the field, 415, 413 and 400 as everywhere", async () => {
  const worker = await start();
  for (const [path, body, status, said] of [
    ["/content", {}, 422, "url"],
    ["/content", { url: TARGET, html: "x" }, 422, "url"],
    ["/content", { url: "file:///etc/passwd" }, 422, "url"],
    ["/content", { url: TARGET, stealth: true }, 422, "stealth"],
    ["/content?stealth", { url: TARGET }, 422, "stealth"],
    ["/content?timeout=soon", { url: TARGET }, 422, "timeout"],
    ["/content?timeout=1e9", { url: TARGET }, 422, "timeout_s"],
    ["/pdf", { url: TARGET, scale: 9 }, 422, "scale"],
    ["/evaluate", { url: TARGET }, 400, "code"],
    ["/content", "{", 400, "JSON"],
    ["/content", JSON.stringify({ html: "x".repeat(3e6) }), 413, "larger"],
  ] as const) {
    const answer = await post(path, body);
    expect({ path, status: answer.status, text: answer.text }).toMatchObject({ path, status });
    expect(answer.text).toContain(said);
  }
  const typed = await post("/content", "x", { headers: { "content-type": "text/plain" } });
  expect(typed.status).toBe(415);
  expect(worker.opening.all).toEqual([]);
});

test("without a free lane it is 503 with Retry-After and the reason, as for jobs (rules/one-shot-calls#no-lane)", async () => {
  const worker = await start();
  const busy = await hub.call("POST", "/sessions", {});
  const answer = await post("/content");
  expect(answer).toMatchObject({
    status: 503,
    body: { detail: "fleet at capacity", waiting_for: { reason: "lanes_busy" } },
  });
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  await hub.call("DELETE", `/sessions/${busy.body.session_id}`);
  await worker.settle();
  expect((await post("/content")).status).toBe(200);
});

test("a worker that cannot do it is not asked, and that is said (rules/one-shot-calls#no-lane)", async () => {
  hub = await startTestHub();
  const old = await hub.worker({ worker_id: "w12" });
  const answer = await post("/content");
  expect(answer).toMatchObject({ status: 503 });
  expect(answer.body.detail).toContain("worker w12 is of a version that cannot do it");
  expect(old.opening.all).toEqual([]);
});

test("a page that refuses is 422 with the error, one that is late 504, and a browser that ends 502 (rules/one-shot-calls#failed-calls)", async () => {
  const error = { name: "Error", message: "refused to open it" };
  const worker = await start(fails({ kind: "page", error }));
  expect(await post("/content")).toMatchObject({
    status: 422,
    body: { detail: "refused to open it", error },
  });
  await worker.closing.next();
  await worker.close();

  const late = await connect(fails({ kind: "timeout", error }));
  expect((await post("/content")).status).toBe(504);
  await late.closing.next();
  await late.close();

  const crashing = await connect({ on_call: () => null });
  const asked = post("/content");
  const { session_id } = await crashing.calls.next();
  const { lease_token, lane_idx } = await crashing.opening.next();
  crashing.send({ type: "SessionEnded", session_id, lease_token, reason: "the browser ended" });
  crashing.reset(lane_idx);
  expect(await asked).toMatchObject({
    status: 502,
    body: { detail: "the browser ended before it had answered" },
  });
});

test("a worker that answers nonsense is 502, and its words never reach the caller's browser (rules/one-shot-calls#failed-calls)", async () => {
  await start(answers({ mime: "text/javascript", status: 200, size: 1, text: "x" }));
  expect(await post("/content")).toMatchObject({ status: 502 });
});

test("a caller that leaves ends its browser at once (rules/one-shot-calls#end-of-a-call)", async () => {
  const worker = await start({ on_call: () => null });
  const leaving = new AbortController();
  const asked = post("/content", undefined, { signal: leaving.signal }).catch(() => null);
  const { session_id } = await worker.calls.next();
  leaving.abort();
  expect(await worker.closing.next()).toMatchObject({ session_id, reason: "its caller has gone" });
  await asked;
});

test("asked for as a job too it captures the page, keeps that, and is answered in the same browser (rules/one-shot-calls#as-a-job)", async () => {
  const worker = await start();
  const asked = post("/content", { url: TARGET, as_job: true, referer: "https://a.test/" });
  const job = await worker.assigned.next();
  expect(job.options).toMatchObject({ keep_session: true, referer: "https://a.test/" });
  worker.result(job, { http_status: 203 });
  const call = await worker.calls.next();
  expect(call).toMatchObject({ action: "one_shot", session_id: job.session_id });
  expect(call.args).toMatchObject({ is_open: { status: 203 }, call: { url: TARGET } });
  const answer = await asked;
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: "<p>hi" });
  expect(answer.headers.get("flotilla-job")).toBe(job.job_id);
  expect(await worker.closing.next()).toMatchObject({ session_id: job.session_id });
  expect((await hub.call("GET", `/jobs/${job.job_id}`)).body.status).toBe("completed");
});

test("a job that fails is 422 with its id, and what jobs cannot do is refused (rules/one-shot-calls#as-a-job)", async () => {
  const worker = await start();
  const asked = post("/content", { url: TARGET, as_job: true });
  const job = await worker.assigned.next();
  worker.result(job, { status: "failed", error: "no such host" });
  expect(await asked).toMatchObject({
    status: 422,
    body: { detail: "no such host", job_id: job.job_id },
  });
  expect(await worker.closing.next()).toMatchObject({ session_id: job.session_id });
  for (const more of [
    { html: "x" },
    { cookies: [{ name: "a", value: "b" }] },
    { worker_id: "w11" },
  ]) {
    const refused = await post("/content", { url: TARGET, as_job: true, ...more });
    expect({ more, status: refused.status }).toEqual({ more, status: 422 });
  }
});

test("a job that gets no lane, or whose caller leaves, is cancelled (rules/one-shot-calls#as-a-job)", async () => {
  const worker = await start();
  const leaving = new AbortController();
  const body = { url: TARGET, as_job: true };
  const asked = post("/content", body, { signal: leaving.signal }).catch(() => null);
  const job = await worker.assigned.next();
  const full = await post("/content", body);
  expect(full.status).toBe(503);
  expect(full.body).not.toHaveProperty("job_id");
  leaving.abort();
  await asked;
  await hub.signals.next("job finished", { job_id: job.job_id });
  const { jobs } = (await hub.call("GET", "/jobs")).body;
  expect(jobs.map(({ status }: { status: string }) => status)).toEqual(["cancelled", "cancelled"]);
});

test("a submitter may call, a viewer may not, and the token may be in the address (rules/one-shot-calls#who-may-call)", async () => {
  await start(answers(HTML), { env: { SVC_API_TOKEN: "token-of-the-installation" } });
  const admin = { headers: { authorization: "Bearer token-of-the-installation" } };
  const tokenOf = async (role: string): Promise<string> =>
    (await hub.call("POST", "/tokens", { name: role, role }, admin)).body.token;
  await hub.call("POST", "/tokens", { name: "admin", role: "admin" }, admin);
  const [viewer, submitter, operator] = [
    await tokenOf("viewer"),
    await tokenOf("submitter"),
    await tokenOf("operator"),
  ];
  const statusOf = async (path: string) => (await post(path)).status;
  expect(await statusOf("/content")).toBe(401);
  expect(await statusOf(`/content?token=${viewer}`)).toBe(403);
  expect(await statusOf(`/content?token=${submitter}`)).toBe(200);
  // It shares its address with signed links, which are for operators.
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
  expect((await post("/links", undefined, bearer(viewer))).status).toBe(403);
  expect((await post("/links", undefined, bearer(submitter))).status).toBe(200);
  const link = { kind: "asset", id: "no-such-job" };
  expect(await post("/links", link, bearer(submitter))).toMatchObject({
    status: 403,
    body: { detail: "this needs a token of the role operator or above: yours is submitter" },
  });
  expect((await post("/links", link, bearer(operator))).status).toBe(404);
});

test("a signed link is an operator's also where its key was used before (rules/one-shot-calls#who-may-call)", async () => {
  await start(answers(HTML), { env: { SVC_API_TOKEN: "token-of-the-installation" } });
  const admin = { headers: { authorization: "Bearer token-of-the-installation" } };
  const { session_id } = (await hub.call("POST", "/sessions", {}, admin)).body;
  const { token } = (await hub.call("POST", "/tokens", { name: "s", role: "submitter" }, admin))
    .body;
  const made = (bearer: string, key: string) =>
    post(
      "/links",
      { kind: "viewer", id: session_id },
      {
        headers: { authorization: `Bearer ${bearer}`, "idempotency-key": key },
      },
    );
  const first = await made("token-of-the-installation", "key-of-an-operator");
  expect(first.status).toBe(201);
  expect((await made(token, "key-of-an-operator")).status).toBe(403);
  const again = await made("token-of-the-installation", "key-of-an-operator");
  expect(again.body.url).toBe(first.body.url);
  // What is refused keeps nothing, and holds no key.
  expect((await made(token, "key-of-a-submitter")).status).toBe(403);
  expect((await made("token-of-the-installation", "key-of-a-submitter")).status).toBe(201);
});

test("POST /links makes signed links as before (rules/one-shot-calls#links)", async () => {
  await start();
  const { session_id } = (await hub.call("POST", "/sessions", {})).body;
  const made = await post("/links", { kind: "viewer", id: session_id });
  expect(made).toMatchObject({ status: 201, body: { kind: "viewer", id: session_id } });
  expect((await post("/links", {})).status).toBe(422);
  expect((await post("/links", "[")).status).toBe(400);
  const as_text = { headers: { "content-type": "text/plain" } };
  for (const body of [{ url: TARGET }, { kind: "viewer", id: session_id }])
    expect((await post("/links", body, as_text)).status).toBe(415);
});

test("the client reads pages in one call each (rules/clients#pages-in-one-call)", async () => {
  const scraped = { url: TARGET, title: "T", status: 200, links: [{ href: "a", text: "b" }] };
  await start({
    on_call: ({ args }) => {
      const is_json = args.kind === "scrape" || args.kind === "links";
      const text = is_json ? JSON.stringify(scraped) : "<p>hi";
      const mime = is_json ? "application/json" : "text/html; charset=utf-8";
      return {
        result: args.kind === "screenshot" ? PNG : { mime, status: 200, size: text.length, text },
      };
    },
  });
  const { pages } = createClient({ base_url: hub.url });
  expect(await (await pages.screenshot({ url: TARGET })).arrayBuffer()).toHaveProperty(
    "byteLength",
    3,
  );
  expect(await pages.content({ url: TARGET })).toBe("<p>hi");
  expect(await pages.links({ url: TARGET })).toEqual([{ href: "a", text: "b" }]);
  expect(await pages.scrape({ url: TARGET, formats: ["links"] })).toEqual(scraped as never);
});
