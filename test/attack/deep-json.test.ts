import { afterAll, beforeAll, expect, test } from "bun:test";
import { harElements } from "#hub/fleet/archive/har-elements.ts";
import { NESTED_DEEPER } from "#shared/kit/json.ts";
import { jsonOf } from "#shared/recording/frames.ts";
import { callsOf, type OpenApi, type SampleCall } from "#test/support/clients/sample-calls.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { attempting } from "#test/support/rigs/attempts.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { BODIES, DEEP_FIELD, DEEP_JSON } from "./lists/deep-json.ts";

/** JSON that is nested without end is refused before anything parses it, wherever JSON comes in. */

const PASSWORD = "attack-suite-password";
/** What one request may take of this process, which is also the one that sends it. Time on the wall says nothing on a busy machine. */
const MAX_CPU_MS = 1_000;

let hub: TestHub;
let control: TestHub;
let worker: FakeWorker;
beforeAll(async () => {
  const env = { SVC_ADMIN_PASSWORD: PASSWORD };
  hub = await startTestHub({ env, alone: true });
  control = await startTestHub({ env, mode: "control", alone: true });
  worker = await hub.worker({ lanes: 4 });
}, 180_000);
afterAll(async () => {
  await hub?.close();
  await control?.close();
});

const deep = attempting(DEEP_JSON);

/** What a call has taken of the processor until it was answered. */
async function cpuOf<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const before = process.cpuUsage();
  const value = await work();
  const { user, system } = process.cpuUsage(before);
  return { value, ms: (user + system) / 1_000 };
}

const documentOf = async (at: TestHub) => (await at.call("GET", "/openapi.json")).body as OpenApi;

/** Refused, with what took too long. A call to health that is sent beside it must be answered. */
async function judge(at: TestHub, call: Pick<SampleCall, "method" | "path">, body: string) {
  const headers = { "x-admin-password": PASSWORD };
  // On a busy machine all routes take longer than a worker may be silent.
  worker.heartbeat();
  const health = at === control ? "/api/v1/health" : "/health";
  const { value, ms } = await cpuOf(() =>
    Promise.all([at.call(call.method, call.path, body, { headers }), at.call("GET", health)]),
  );
  const [answer, beside] = value;
  // WebDriver says it in its own form.
  const said = answer.body?.detail ?? answer.body?.value?.message;
  const told = answer.status === 400 && String(said).includes(NESTED_DEEPER);
  const wrong = [
    ...(told ? [] : [`${answer.status} ${answer.text.slice(0, 120)}`]),
    ...(beside.status === 200 ? [] : [`health ${beside.status}`]),
    ...(ms < MAX_CPU_MS ? [] : [`took ${Math.round(ms)} ms`]),
  ];
  return wrong.map((what) => `${call.method} ${call.path}: ${what}`);
}

for (const [what, body] of Object.entries(BODIES))
  test(`every route of both services that takes JSON refuses ${what}`, async () => {
    const opened = await hub.call("POST", "/sessions", {});
    expect(opened.status).toBe(201);
    const session = `/sessions/${opened.body.session_id}`;
    const wrong: string[] = [];
    let tried = 0;
    for (const at of [hub, control])
      for (const call of callsOf(await documentOf(at))) {
        if (!call.type?.includes("json")) continue;
        tried += 1;
        const path = call.path.replace(/^\/sessions\/[^/]+/, session);
        const found = await judge(at, { ...call, path }, body);
        wrong.push(...found);
        if (found.length === 0) deep.refused(what);
      }
    expect(wrong).toEqual([]);
    // Beside the pages' own login, which is no part of the API.
    expect(await judge(hub, { method: "POST", path: "/ui/login" }, body)).toEqual([]);
    expect(tried).toBeGreaterThan(100);
    await hub.call("DELETE", session);
  }, 240_000);

test("a field that may hold anything is refused as well, in one item and in a batch", async () => {
  const task = `{"pk":"a",${DEEP_FIELD}}`;
  for (const [path, body] of [
    ["/api/v1/workloads/words/tasks", task],
    ["/api/v1/workloads/words/tasks/batch", `{"items":[{"pk":"b"},${task}]}`],
    ["/api/v1/workers/w123/complete", `{"incarnation":"b1946ac92492d234","items":[${task}]}`],
    ["/api/v1/workers/w123/exchange", `{"incarnation":"b1946ac92492d234","done":[${task}]}`],
    ["/jobs", `{"url":"http://site.test/","options":{${DEEP_FIELD}}}`],
  ] as const)
    expect(await judge(hub, { method: "POST", path }, body)).toEqual([]);
});

test("a key, a charset and a content type of another spelling change nothing", async () => {
  const body = BODIES["objects, 100,000 deep"];
  const variants: Record<string, string>[] = [
    { "idempotency-key": "deep-1" },
    { "content-type": "application/json; charset=utf-8" },
    { "content-type": "Application/JSON" },
    { "content-type": "application/vnd.api+json" },
  ];
  for (const init of variants) {
    const { value, ms } = await cpuOf(() => hub.call("POST", "/jobs", body, { headers: init }));
    expect({ init, status: value.status, slow: ms > MAX_CPU_MS }).toMatchObject({
      init,
      slow: false,
    });
    expect([400, 415]).toContain(value.status);
  }
});

test("a login is refused whatever its content type says", async () => {
  for (const at of [hub, control])
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json"])
      for (const body of Object.values(BODIES)) {
        const headers = { "content-type": type };
        const { value, ms } = await cpuOf(() => at.call("POST", "/ui/login", body, { headers }));
        expect({ type, status: value.status, detail: value.body.detail }).toEqual({
          type,
          status: 400,
          detail: `body ${NESTED_DEEPER}`,
        });
        expect(ms).toBeLessThan(MAX_CPU_MS);
      }
});

test("a frame of a recording and an element of a HAR are refused", async () => {
  const body = BODIES["objects, 100,000 deep"];
  expect(jsonOf({ payload: Buffer.from(body) })).toBeNull();
  const har = new Response(`{"log":{"entries":[${body}]}}`).body as ReadableStream<Uint8Array>;
  await expect(Array.fromAsync(harElements(har))).rejects.toThrow("the HAR is not JSON");
});

test("the value of a plugin's state is refused", async () => {
  for (const body of Object.values(BODIES))
    expect(
      await judge(control, { method: "PUT", path: "/api/v1/plugins/words/state/counts" }, body),
    ).toEqual([]);
});

test("frames of a worker's link are refused, before and after it has registered", async () => {
  const frame = `{"type":"registration","capabilities":${BODIES["objects, 100,000 deep"]}}`;
  const { value, ms } = await cpuOf(async () => {
    const socket = new WebSocket(`${hub.url.replace("http", "ws")}/workers/w77/link`);
    socket.onopen = () => socket.send(frame);
    return new Promise<CloseEvent>((resolve) => {
      socket.onclose = resolve;
    });
  });
  expect([value.code, value.reason]).toEqual([1008, `a frame ${NESTED_DEEPER}`]);
  expect(ms).toBeLessThan(MAX_CPU_MS);
  const hostile = await hub.worker({ worker_id: "w78" });
  hostile.socket.send(`{"type":"WorkerHeartbeat","in_flight":${BODIES["800 KB of ["]}`);
  expect(await hostile.closed).toMatchObject({ code: 1008, reason: `a frame ${NESTED_DEEPER}` });
  expect((await hub.call("GET", "/health")).status).toBe(200);
});

test("what a worker says of an asset is refused, in a header and in a batch", async () => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  const job = await worker.assigned.next((one) => one.job_id === job_id);
  const { upload_token } = await worker.registered;
  const deep = `{"kind":${"[".repeat(30_000)}`;
  const at = `${hub.url}/workers/${worker.worker_id}/jobs/${job.job_id}`;
  const headers = {
    Authorization: `Bearer ${upload_token}`,
    "X-Lease-Token": String(job.lease_token),
    "X-Sha256": "0".repeat(64),
  };
  const meta = Buffer.from(deep).toString("base64url");
  const one = await fetch(`${at}/assets/a.png`, {
    method: "PUT",
    body: "x",
    headers: { ...headers, "X-Asset-Meta": meta },
  });
  expect(one.status).toBe(422);
  const head = Buffer.from(deep);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  const batch = await fetch(`${at}/assets`, {
    method: "PUT",
    body: Buffer.concat([length, head]),
    headers,
  });
  expect([batch.status, await batch.text()]).toEqual([
    422,
    expect.stringContaining("its head is not JSON"),
  ]);
});
