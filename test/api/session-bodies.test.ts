import { afterEach, beforeEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createClient } from "flotilla";
import { retainRecordings } from "#hub/fleet/recordings/keep.ts";
import type { HubOpenSession } from "#shared/protocol/link/messages.ts";
import { encodeJsonFrame, FRAME } from "#shared/recording/frames.ts";
import { MOST_BODIES_BYTES, MOST_BODY_BYTES } from "#shared/recording/requests.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** What a hub does with the bodies of a session, without a browser (rules/recordings#bodies-of-a-session). */

let hub: TestHub;
beforeEach(async () => {
  hub = await startTestHub();
});
afterEach(() => hub.close());

const lane_novnc_urls = ["http://127.0.0.1:6901/"];
const connect = (more: object = { session_bodies: true }): Promise<FakeWorker> =>
  hub.worker({
    lanes: 1,
    capabilities: { max_concurrent: 1, lane_novnc_urls, ...more } as never,
  });
const sha256 = (body: string) => createHash("sha256").update(body).digest("hex");

const put = async (worker: FakeWorker, of: HubOpenSession, body: string, more: object = {}) => {
  const { upload_token } = await worker.registered;
  const at = `/workers/${worker.worker_id}/sessions/${of.session_id}/bodies?mime=text%2Fhtml`;
  return fetch(hub.url + at, {
    method: "PUT",
    body,
    headers: {
      authorization: `Bearer ${upload_token}`,
      "x-lease-token": String(of.lease_token),
      "x-sha256": sha256(body),
      ...more,
    },
  });
};

const START = encodeJsonFrame(FRAME.event, 0, {
  type: "start",
  at: "2026-11-20T10:00:00.000Z",
  of: "session",
  id: "x",
  mode: "events",
  screen: "headful",
});
/** What a worker notes of a request, and that nothing follows. */
const NOTED = (body: string) =>
  new Uint8Array(
    Buffer.concat([
      encodeJsonFrame(FRAME.request, 3, {
        n: 1,
        at_ms: 2,
        har: {
          startedDateTime: "2026-11-20T10:00:00.000Z",
          time: 1,
          request: { method: "GET", url: "http://a.test/", httpVersion: "", headers: [] },
          response: {
            status: 200,
            statusText: "OK",
            httpVersion: "",
            headers: [],
            redirectURL: "",
            bodySize: 1,
            content: { size: 1, mimeType: "text/html", _body: sha256(body) },
          },
          timings: { blocked: 0, dns: 0, connect: 0, ssl: 0, send: 0, wait: 0, receive: 0 },
        },
      }),
      encodeJsonFrame(FRAME.end, 5, { why: "ended" }),
    ]),
  );
/** As its worker sends them: where hubs are several, the one that has the worker keeps them. */
const append = async (worker: FakeWorker, of: HubOpenSession, offset: number, body: Uint8Array) => {
  const { upload_token } = await worker.registered;
  const at = `/workers/${worker.worker_id}/sessions/${of.session_id}/recording?offset=${offset}`;
  const headers = {
    authorization: `Bearer ${upload_token}`,
    "content-type": "application/octet-stream",
    "x-lease-token": String(of.lease_token),
  };
  const answer = await fetch(hub.url + at, { method: "PUT", body, headers });
  expect(await answer.json()).toEqual({ length: offset + body.length });
};

test("a body is kept beside the recording that names it, is safe to open, and goes with it", async () => {
  const worker = await connect();
  const opened = await hub.call("POST", "/sessions", { capture: true });
  expect(opened).toMatchObject({ status: 201, body: { capture: true } });
  const of = await worker.opening.next();
  expect(of.capture).toBeTrue();
  const body = "<p>kept";
  expect((await put(worker, of, body)).status).toBe(404);
  await append(worker, of, 0, START);
  expect((await put(worker, of, body, { authorization: "Bearer no" })).status).toBe(401);
  expect((await put(worker, of, body, { "x-lease-token": "9999" })).status).toBe(404);
  expect((await put(worker, of, body, { "x-sha256": sha256("another") })).status).toBe(422);
  expect((await put(worker, of, body)).status).toBe(200);
  expect((await put(worker, of, body)).status).toBe(200);
  const run_id = `s-${of.session_id}`;
  expect(await hub.ctx.db.recordings.get(run_id)).toMatchObject({ body_bytes: body.length });
  await append(worker, of, START.length, NOTED("what was lost on its way"));
  await hub.call("DELETE", `/sessions/${of.session_id}`);

  const at = `/sessions/${of.session_id}/bodies/${sha256(body)}`;
  const answer = await fetch(hub.url + at);
  expect(await answer.text()).toBe(body);
  expect(answer.headers.get("content-type")).toContain("text/html");
  expect(answer.headers.get("content-security-policy")).toBe("sandbox");
  expect(answer.headers.get("content-disposition")).toContain("attachment");
  const { sessions } = createClient({ base_url: hub.url });
  expect(await (await sessions.body(of.session_id, sha256(body))).text()).toBe(body);
  const part = await fetch(hub.url + at, { headers: { range: "bytes=3-" } });
  expect([part.status, await part.text()]).toEqual([206, "kept"]);
  const har = (await hub.call("GET", `/sessions/${of.session_id}/har.json`)).body;
  const { content } = har.log.entries[0].response;
  expect(content._body).toBeUndefined();
  expect(content._body_missing).toBe("it did not reach the hub");
  const [past] = (await hub.call("GET", "/sessions?status=ended")).body.sessions;
  const sealed = START.length + NOTED("x").length;
  expect(past.recording).toEqual({ state: "whole", mode: "events", bytes: sealed + body.length });

  expect((await hub.call("PATCH", "/settings", { recording_max_bytes: 1 })).status).toBe(200);
  // Where hubs are several, each learns of a setting within a second (rules/settings#change-settings).
  await until("the recording to be deleted", 60_000, async () => {
    await retainRecordings(hub.ctx);
    return (await hub.ctx.objects.list(`recordings/${run_id}`)).length === 0;
  });
  expect((await fetch(hub.url + at)).status).toBe(404);
});

test("a session has room for so many bytes of bodies, and a refused body takes none of it", async () => {
  const worker = await connect();
  await hub.call("POST", "/sessions", { capture: true });
  const of = await worker.opening.next();
  await append(worker, of, 0, START);
  const run_id = `s-${of.session_id}`;
  await hub.ctx.db.recordings.reserveBody(run_id, MOST_BODIES_BYTES - 5, MOST_BODIES_BYTES);
  expect((await put(worker, of, "too long")).status).toBe(413);
  expect((await put(worker, of, "wrong", { "x-sha256": sha256("no") })).status).toBe(422);
  expect((await put(worker, of, "right")).status).toBe(200);
  expect((await put(worker, of, "x")).status).toBe(413);
  await hub.ctx.db.recordings.reserveBody(run_id, -MOST_BODIES_BYTES, MOST_BODIES_BYTES);
  expect((await put(worker, of, "x".repeat(MOST_BODY_BYTES + 1))).status).toBe(413);
});

test("a worker of an earlier version gets no session whose bodies are to be kept, and a session without a recording is refused", async () => {
  await connect({});
  const refused = await hub.call("POST", "/sessions", { capture: true });
  expect(refused).toMatchObject({
    status: 422,
    body: {
      detail: [
        { loc: ["body", "capture"], msg: expect.stringContaining("of a version that cannot") },
      ],
    },
  });
  expect(await hub.call("POST", "/sessions", { capture: true, record: "off" })).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body", "capture"] }] },
  });
});

test("where the fleet records nothing, a session that keeps bodies is recorded as events", async () => {
  const worker = await connect();
  await hub.call("PATCH", "/settings", { record: "off" });
  await hub.call("POST", "/sessions", { capture: true });
  expect((await worker.opening.next()).record).toBe("events");
});
