import { afterEach, beforeEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { retainJobsOnce } from "#hub/fleet/jobs/retention.ts";
import { sessionTraceKey } from "#hub/fleet/sessions/traces.ts";
import type { HubOpenSession } from "#shared/protocol/link/messages.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

/** What a hub does with Playwright traces, without a browser. */

let hub: TestHub;
beforeEach(async () => {
  hub = await startTestHub();
});
afterEach(() => hub.close());

const lane_novnc_urls = ["http://127.0.0.1:6901/", "http://127.0.0.1:6902/"];
const PLAIN = { max_concurrent: 2, lane_novnc_urls };
const connect = (more: object = { trace: true }): Promise<FakeWorker> =>
  hub.worker({ lanes: 2, capabilities: { ...PLAIN, ...more } as never });

const put = async (worker: FakeWorker, of: HubOpenSession, body: string, more: object = {}) => {
  const { upload_token } = await worker.registered;
  const sha = createHash("sha256").update(body).digest("hex");
  return fetch(`${hub.url}/workers/${worker.worker_id}/sessions/${of.session_id}/trace`, {
    method: "PUT",
    body,
    headers: {
      authorization: `Bearer ${upload_token}`,
      "x-lease-token": String(of.lease_token),
      "x-sha256": sha,
      ...more,
    },
  });
};
const JOB = { mode: "rerun", code: "export default 1;", trace: true };

test("the trace of a session is kept with its record, and each 404 says what there is instead (rules/traces#traces-of-sessions)", async () => {
  const worker = await connect();
  const opened = await hub.call("POST", "/sessions", { trace: true });
  expect(opened).toMatchObject({ status: 201, body: { trace: true } });
  const asked = await worker.opening.next();
  expect(asked.trace).toBeTrue();
  const at = `/sessions/${asked.session_id}/trace.zip`;
  expect(await hub.call("GET", at)).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining("is there once it has ended") },
  });
  expect((await put(worker, asked, "a trace", { authorization: "Bearer no" })).status).toBe(401);
  expect((await put(worker, asked, "a trace", { "x-lease-token": "9999" })).status).toBe(404);
  const wrong = createHash("sha256").update("another").digest("hex");
  expect((await put(worker, asked, "a trace", { "x-sha256": wrong })).status).toBe(422);
  expect((await put(worker, asked, "a trace")).status).toBe(200);
  expect((await hub.call("DELETE", `/sessions/${asked.session_id}`)).status).toBe(204);
  const answer = await fetch(hub.url + at);
  expect(answer.headers.get("content-type")).toBe("application/zip");
  expect(await answer.text()).toBe("a trace");
  expect((await hub.call("GET", "/sessions/none/trace.zip")).status).toBe(404);
  const plain = (await hub.call("POST", "/sessions", {})).body;
  expect(plain.trace).toBeFalse();
  expect((await worker.opening.next()).trace).toBeUndefined();
  await hub.call("DELETE", `/sessions/${plain.session_id}`);
  expect(await hub.call("GET", `/sessions/${plain.session_id}/trace.zip`)).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining("open one with trace: true") },
  });
});

test("a trace goes with its session's record (rules/traces#traces-of-sessions)", async () => {
  await connect();
  const { ctx } = hub;
  const about = {
    kind: "sdk" as const,
    job_id: null,
    worker_id: "w",
    lane_idx: 0,
    opened_by: null,
  };
  const end = { end_reason: "idle", url: "", title: "", actions: 0 };
  const now = ctx.clock.now();
  for (const [session_id, ended_at] of [
    ["old", now - 3 * 86_400_000],
    ["new", now],
  ] as const) {
    const row = { ...about, session_id, headless: true, created_at: 1, url: "", title: "" };
    await ctx.db.sessions.open(row);
    await ctx.db.sessions.end(session_id, { ...end, ended_at });
    await ctx.objects.put(sessionTraceKey(session_id), new Uint8Array(1));
  }
  await retainJobsOnce(ctx);
  expect(await ctx.objects.list("session-traces")).toHaveLength(2);
  expect((await hub.call("PATCH", "/settings", { retention_days: 2 })).status).toBe(200);
  // Another hub may have been told of it, and tells this one.
  await until("one trace", 60_000, async () => {
    await retainJobsOnce(ctx);
    return (await ctx.objects.list("session-traces")).length === 1;
  });
  expect(await ctx.objects.list("session-traces")).toEqual([sessionTraceKey("new")]);
});

test("a worker of an earlier version is given nothing to trace (rules/traces#limits-of-a-trace)", async () => {
  await connect({});
  const words = "of a version that cannot do it";
  const refused = (loc: string[]) => ({
    status: 422,
    body: { detail: [{ loc, msg: expect.stringContaining(words) }] },
  });
  const session = await hub.call("POST", "/sessions", { trace: true });
  expect(session).toMatchObject(refused(["body", "trace"]));
  const job = await hub.call("POST", "/jobs", { url: TARGET, options: JOB });
  expect(job).toMatchObject(refused(["body", "options", "trace"]));
  // And jobs without the option do not name it.
  const able = await connect();
  await hub.call("POST", "/jobs", { url: TARGET, options: JOB });
  expect((await able.assigned.next()).options).toMatchObject({ trace: true });
});

test("trace is 422 for jobs that run no script of their own (rules/traces#traces-of-jobs)", async () => {
  await connect();
  for (const [options, words] of [
    [{ trace: true }, "is only for modes rerun and codegen-loop"],
    [{ ...JOB, attach_to_job: "abc" }, "cannot be used with attach_to_job"],
  ] as const)
    expect(await hub.call("POST", "/jobs", { url: TARGET, options })).toMatchObject({
      status: 422,
      body: {
        detail: [{ loc: ["body", "options", "trace"], msg: expect.stringContaining(words) }],
      },
    });
});
