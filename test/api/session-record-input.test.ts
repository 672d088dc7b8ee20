import { afterEach, beforeEach, expect, test } from "bun:test";
import type { RecordedInput } from "#shared/protocol/schema/recorded-input.ts";
import { type FakeBridge, startFakeBridge } from "#test/support/fakes/fake-bridge.ts";
import type { FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import type { TestHub } from "#test/support/rigs/hub.ts";
import { openSessionOf, startSessionHub } from "#test/support/rigs/session-hub.ts";

/** How the hub passes on what is asked of a recording, and what it takes for an answer (rules/recorded-input#record-and-read). */

let hub: TestHub;
let bridge: FakeBridge;
beforeEach(() => {
  bridge = startFakeBridge();
});
afterEach(async () => {
  await hub?.close();
  await bridge.stop();
});

const start = async (options?: FakeWorkerOptions) => {
  const started = await startSessionHub(bridge, options);
  ({ hub } = started);
  return started.worker;
};

const RECORDED: RecordedInput = {
  on: true,
  revision: 3,
  steps: [
    { kind: "navigate", id: 1, tab: 0, page: "http://x.test/", url: "http://x.test/?a=1" },
    {
      kind: "click",
      id: 2,
      tab: 0,
      page: "http://x.test/",
      role: "button",
      name: "Go",
      selectors: [{ by: "role", selector: 'role=button[name="Go"]', matches: 1 }],
      frame: [],
      click_count: 1,
    },
  ],
  full: false,
  ended: null,
};

test("a recording is begun, read and ended by calls of the worker", async () => {
  const worker = await start({ on_call: () => ({ result: RECORDED }) });
  const { session_id: sid } = await openSessionOf(hub);
  const path = `/sessions/${sid}/record-input`;
  const begun = await hub.call("POST", path, { on: true });
  expect([begun.status, begun.body]).toEqual([200, RECORDED]);
  expect(await worker.calls.next()).toMatchObject({ action: "record_input", args: { on: true } });
  const read = await hub.call("GET", `${path}?revision=3&wait_s=2`);
  expect([read.status, read.body]).toEqual([200, RECORDED]);
  expect(await worker.calls.next()).toMatchObject({
    action: "recorded_input",
    args: { revision: 3, wait_ms: 2_000 },
    timeout_ms: 7_000,
  });
  await hub.call("POST", path, { on: false });
  expect(await worker.calls.next()).toMatchObject({ action: "record_input", args: { on: false } });
});

test("reading the steps is no activity of the session; beginning is", async () => {
  await start({ on_call: () => ({ result: RECORDED }) });
  const { session_id: sid } = await openSessionOf(hub);
  const session = hub.ctx.sessions.get(sid);
  const before = session?.actions;
  await hub.call("GET", `/sessions/${sid}/record-input`);
  expect(session?.actions).toBe(before);
  await hub.call("POST", `/sessions/${sid}/record-input`, { on: true });
  expect(session?.actions).toBe((before ?? 0) + 1);
});

test("what breaks a rule is 422, an ended session 404, and an answer that makes no sense 502", async () => {
  await start({
    on_call: () => ({
      result: { ...RECORDED, steps: [{ kind: "dance", id: 1, tab: 0, page: "" }] },
    }),
  });
  const { session_id: sid } = await openSessionOf(hub);
  const path = `/sessions/${sid}/record-input`;
  for (const body of [{ on: "yes" }, { on: true, more: 1 }])
    expect((await hub.call("POST", path, body)).status).toBe(422);
  for (const query of ["wait_s=21", "wait_s=-1", "revision=-2"])
    expect((await hub.call("GET", `${path}?${query}`)).status).toBe(422);
  expect((await hub.call("GET", path)).status).toBe(502);
  expect((await hub.call("GET", "/sessions/none/record-input")).status).toBe(404);
});

test("the record of a session says who is at its viewer (rules/viewer#who-is-watching)", async () => {
  await start();
  const { session_id: sid } = await openSessionOf(hub);
  const watchers = async () => (await hub.call("GET", `/sessions/${sid}/state`)).body.watchers;
  expect(await watchers()).toEqual([]);
  const ines = hub.ctx.sessions
    .get(sid)
    ?.watchers.join({ kind: "viewer", name: "ines", mode: "control" });
  ines?.acted();
  expect(await watchers()).toMatchObject([
    { kind: "viewer", name: "ines", mode: "control", drives: true },
  ]);
  ines?.leave();
  expect(await watchers()).toEqual([]);
});
