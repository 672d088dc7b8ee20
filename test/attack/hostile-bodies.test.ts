import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { callsOf, type OpenApi, type SampleCall } from "#test/support/clients/sample-calls.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { attempting } from "#test/support/rigs/attempts.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { HOSTILE_BODIES, IN_BODIES, SIMPLE_TYPES } from "./lists/hostile-bodies.ts";

/** Bodies on every operation that takes JSON: refused for what they are, by an answer that is the caller's fault. */

setDefaultTimeout(300_000);

const PASSWORD = "attack-suite-password";

let hub: TestHub;
let worker: FakeWorker;
let calls: SampleCall[];
beforeAll(async () => {
  hub = await startTestHub({
    alone: true,
    env: { SVC_SUBMIT_WAIT_S: "0", SVC_ADMIN_PASSWORD: PASSWORD },
  });
  worker = await hub.worker({ lanes: 2, on_call: () => ({ ok: true, kind: null, result: null }) });
  const { session_id } = (await hub.call("POST", "/sessions", {})).body;
  const document = (await hub.call("GET", "/openapi.json")).body as OpenApi;
  calls = callsOf(document)
    .filter(({ type }) => type?.includes("json"))
    .map((call) => ({
      ...call,
      path: call.path.replace(/^\/sessions\/[^/]+/, `/sessions/${session_id}`),
    }));
}, 180_000);
afterAll(() => hub?.close());

const tried = attempting(IN_BODIES);

async function answerTo(call: SampleCall, name: string) {
  const { type, body } = HOSTILE_BODIES[name] ?? { type: null, body: () => new Uint8Array() };
  // A view has no type of its own, so that none is sent where none is said.
  return fetch(hub.url + call.path, {
    method: call.method,
    headers: { "x-admin-password": PASSWORD, ...(type !== null && { "content-type": type }) },
    body: body(),
    signal: AbortSignal.timeout(120_000),
  });
}

test.each(Object.keys(HOSTILE_BODIES))(
  "no route does what it is asked for, or fails: %s",
  async (name) => {
    expect(calls.length).toBeGreaterThan(80);
    const wrong: string[] = [];
    for (const call of calls) {
      worker.heartbeat();
      const answer = await answerTo(call, name);
      const { status } = answer;
      await answer.body?.cancel();
      const done = status < 400 && SIMPLE_TYPES.includes(name);
      if (status >= 500 && ![502, 503, 504].includes(status))
        wrong.push(`${call.method} ${call.path}: ${status}`);
      else if (done) wrong.push(`${call.method} ${call.path}: ${status} for another type`);
      else tried.refused(name);
    }
    expect(wrong).toEqual([]);
    expect(hub.log.filter(({ level }) => level === "error")).toEqual([]);
    expect((await hub.call("GET", "/health")).status).toBe(200);
  },
);

test("nothing of a body has become a member of every object, and every attempt was made", () => {
  expect(({} as { admin?: unknown }).admin).toBeUndefined();
  expect(tried.left()).toEqual([]);
});
