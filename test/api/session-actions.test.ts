import { afterEach, beforeEach, expect, test } from "bun:test";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import type { Dialog } from "#shared/protocol/schema/dialog.ts";
import { issueAt } from "#test/support/clients/api.ts";
import { type FakeBridge, startFakeBridge } from "#test/support/fakes/fake-bridge.ts";
import type { FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";
import { openSessionOf, startSessionHub } from "#test/support/rigs/session-hub.ts";

/** How the hub judges an action, passes it on and answers (rules/session-actions#the-actions). */

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
const act = (sid: string, action: string, body?: unknown, init?: RequestInit) =>
  hub.call("POST", `/sessions/${sid}/${action}`, body, init);

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
    pick: { x: 1, y: 2 },
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
