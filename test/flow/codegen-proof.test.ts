import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { ScriptOutcome, ScriptRun } from "#hub/fleet/runner/script-run.ts";
import { SESSION_TTL_S } from "#shared/protocol/limits.ts";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import type { FakeWorker, FakeWorkerOptions } from "#test/support/fakes/fake-worker.ts";
import { scriptedCalls, scriptedWorker } from "#test/support/fakes/scripted-worker.ts";
import { createQueue, type Queue } from "#test/support/models/queue.ts";
import { RAN_WELL } from "#test/support/models/script-outcome.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { type LlmServer, startLlmServer } from "#test/support/servers/llm-server.ts";

/**
 * What a hub does with a job that proves its scripts (rules/scripts#proof-in-replay), with pages and a sandbox that the
 * test plays and an engine over real HTTP.
 */

setDefaultTimeout(180_000);

const SCRIPT = 'import { session } from "flotilla";\nawait session.text();\n';
const JUDGED = JSON.stringify({ ok: true, reason: "done", advice: "", class: "success" });
const PLAIN = {
  max_concurrent: 2,
  lane_novnc_urls: ["http://127.0.0.1:6901/", "http://127.0.0.1:6902/"],
};
const ABLE = { ...PLAIN, replay: true, prove_in_replay: true } as never;
const LANE_WAIT_MS = 600_000;
const IDLE_MS = 1_000 * SESSION_TTL_S.idle_default;
/** Within which a worker must say that it is alive. */
const ALIVE_MS = 40_000;
/** For a job that waits for a lane and nothing else. */
const QUEUE_TIMEOUT_MS = 180_000;

let hub: TestHub;
let llm: LlmServer;
let clock: FakeClock;
let runs: Queue<{ run: ScriptRun; end(outcome?: Partial<ScriptOutcome>): void }>;
afterEach(async () => {
  await hub.close();
  await llm.stop();
});

const THREW = { end: "error", exit_code: 1 } as const;

async function start(options: FakeWorkerOptions = {}): Promise<FakeWorker> {
  runs = createQueue();
  llm = await startLlmServer({
    handler: ({ body }) => ({
      kind: "answer",
      text: JSON.stringify(body).includes("You judge") ? JUDGED : `\`\`\`ts\n${SCRIPT}\`\`\``,
    }),
  });
  clock = createFakeClock();
  hub = await startTestHub({
    alone: true,
    clock,
    script_tools: {
      runScript: (_ctx, run) =>
        new Promise((resolve) => {
          const end = (outcome: Partial<ScriptOutcome> = {}) =>
            resolve({ ...RAN_WELL, ...outcome });
          run.signal.addEventListener("abort", () => end({ end: "cancelled" }));
          runs.push({ run, end });
        }),
    },
  });
  const engine = { endpoint: llm.url, model: "local", use_for_codegen: true };
  expect((await hub.call("PUT", "/engines/local", engine)).status).toBeLessThan(300);
  return scriptedWorker(hub, { lanes: 2, capabilities: ABLE, ...options });
}

async function submit(more: object = {}): Promise<string> {
  const options = { mode: "codegen-loop", goal: "find it", prove_in_replay: true, ...more };
  const { status, text, body } = await hub.call("POST", "/jobs", { url: TARGET, options });
  expect({ status, text }).toMatchObject({ status: 200 });
  return body.job_id;
}
const outcome = async (job_id: string) => {
  await hub.signals.next("job finished", { job_id });
  return {
    job: (await hub.call("GET", `/jobs/${job_id}`)).body,
    attempts: (await hub.call("GET", `/jobs/${job_id}/attempts`)).body.attempts,
  };
};
test("the second script is run in a session that replays the job's capture, and goes to the job's page when it is proved", async () => {
  const replay = { job_id: "any", answered: 3, missed_count: 0, missed: [] };
  const worker = await start({
    on_call: (call) => {
      const { place, ...reply } = scriptedCalls(call);
      return place ? { ...reply, place: { ...place, replay } } : reply;
    },
  });
  const cookies = [{ name: "a", value: "1", domain: "site.test" }];
  await hub.call("PUT", "/hosts/site.test/cookies", { cookies });
  const job_id = await submit({ headless: true });
  const given = await worker.messages.next(({ type }) => type === "HubAssignJob");
  expect(given).toMatchObject({ job_id, options: { prove_in_replay: true } });
  const { session_id: own } = given as HubAssignJob;
  (await runs.next()).end(THREW);

  expect(await worker.calls.next(({ action }) => action === "run_capture")).toMatchObject({
    session_id: own,
  });
  const opened = await worker.opening.next();
  expect(opened).toMatchObject({ replay: job_id, url: null, headless: true, profile: null });
  const isReset = ({ action }: { action: string }) => action === "run_reset";
  const shown = await worker.calls.next(isReset);
  expect(shown).toMatchObject({
    session_id: opened.session_id,
    args: { url: TARGET, fresh: true, cookies: [{ name: "a" }] },
  });

  const proof = await runs.next();
  const act = async ({ run }: typeof proof) => {
    await run.door.act("text", {}, run.signal);
    return (await worker.calls.next(({ action }) => action === "text")).session_id;
  };
  expect(await act(proof)).toBe(opened.session_id);
  // What it saves is the job's, which alone knows its names.
  await proof.run.door.save("a.txt", null, new TextEncoder().encode("one"));
  expect(await worker.calls.next(({ action }) => action === "take_name")).toMatchObject({
    session_id: own,
  });
  const running = (await hub.call("GET", `/jobs/${job_id}/attempts/2`)).body;
  expect(running).toMatchObject({ state: "running", proof: { ok: null, job_id } });
  proof.end({ result: "the past", stdout: "in replay" });

  expect(await worker.closing.next()).toMatchObject({ session_id: opened.session_id });
  expect(await worker.calls.next(isReset)).toMatchObject({ session_id: own });
  const on_site = await runs.next();
  expect(on_site.run.code).toBe(proof.run.code);
  expect(await act(on_site)).toBe(own);
  const between = (await hub.call("GET", `/jobs/${job_id}/attempts/2`)).body;
  expect(between).toMatchObject({ ran_in: null, stdout: "", result: null, screenshot: null });
  expect((await hub.call("GET", `/jobs/${job_id}/assets/result.json`)).status).toBe(404);
  on_site.end({ result: "now" });

  const { job, attempts } = await outcome(job_id);
  expect(job).toMatchObject({ status: "completed", attempts: 2, answer: "now" });
  expect(attempts).toMatchObject([
    { ran_in: "site", proof: null },
    {
      ran_in: "site",
      proof: { ok: true, session_id: opened.session_id, run_ms: 2, answered: 3, missed_count: 0 },
    },
  ]);
  expect((await hub.call("GET", `/jobs/${job_id}/log.txt`)).text).toContain(
    "attempt 2: proved in replay: done",
  );
});

test("a replay whose engine or script takes its time is not ended for being idle", async () => {
  const worker = await start();
  const job_id = await submit();
  (await runs.next()).end(THREW);
  const proof = await runs.next();
  const { session_id } = await worker.opening.next();
  for (let waited = 0; waited < 2 * IDLE_MS; waited += ALIVE_MS) {
    await worker.settle();
    await clock.advance(ALIVE_MS);
  }
  const { sessions } = (await hub.call("GET", "/sessions")).body;
  expect(sessions.map((one: { session_id: string }) => one.session_id)).toContain(session_id);
  proof.end({ end: "limit" });
  expect((await outcome(job_id)).job).toMatchObject({ status: "failed", stage: "sandbox" });
});

test("what ends a job anywhere ends it in replay: the site sees no other script", async () => {
  const worker = await start();
  const job_id = await submit();
  (await runs.next()).end(THREW);
  (await runs.next()).end({ end: "timeout", exit_code: null });
  const { job, attempts } = await outcome(job_id);
  expect(job).toMatchObject({ status: "failed", stage: "timeout", attempts: 2 });
  expect(job.error).toContain("not proved in replay: the script did not end within 180 s");
  expect(attempts[1]).toMatchObject({ ran_in: "replay", proof: { ok: false } });
  expect((await worker.closing.next()).session_id).toBe(attempts[1].proof.session_id);
});

test("jobs that prove their scripts never hold every lane: the next one begins when one has ended, however long that takes", async () => {
  const worker = await start();
  const first = await submit();
  const run = await runs.next();
  const second = await submit();
  await clock.advance(QUEUE_TIMEOUT_MS / 2);
  for (let waited = 0; waited < 2 * QUEUE_TIMEOUT_MS; waited += ALIVE_MS) {
    await worker.settle();
    await clock.advance(ALIVE_MS);
  }
  const waiting = (await hub.call("GET", `/jobs/${second}`)).body;
  expect(waiting).toMatchObject({ status: "queued", waiting_for: { reason: "lanes_busy" } });
  expect(waiting.waiting_for.detail).toContain("prove_in_replay");

  run.end(THREW);
  (await runs.next()).end();
  (await runs.next()).end();
  expect((await outcome(first)).job).toMatchObject({ status: "completed", attempts: 2 });
  const next = await runs.next();
  expect(next.run.job_id).toBe(second);
  next.end();
  expect((await outcome(second)).job).toMatchObject({ status: "completed", attempts: 1 });
});

test("a replay has its job's place in the queue: whoever came later is served after it", async () => {
  const worker = await start();
  const job_id = await submit();
  const first = await runs.next();
  const opened = (await hub.call("POST", "/sessions", { idle_ttl_s: 3_600 })).body;
  await worker.opening.next();
  const late = await hub.call(
    "POST",
    "/jobs",
    { url: TARGET },
    {
      headers: { prefer: "respond-async" },
    },
  );
  first.end(THREW);
  while (hub.ctx.lanes_wanted.size === 0) await new Promise((r) => setImmediate(r));
  expect((await hub.call("DELETE", `/sessions/${opened.session_id}`)).status).toBe(204);
  expect(await worker.opening.next()).toMatchObject({ replay: job_id });
  expect((await hub.call("GET", `/jobs/${late.body.job_id}`)).body.status).toBe("queued");
  const log = (await hub.call("GET", `/jobs/${job_id}/log.txt`)).text;
  expect(log).toContain("no lane is free for the replay: waiting for one, for up to 10 minutes");
  (await runs.next()).end();
  (await runs.next()).end();
  expect((await outcome(job_id)).job.status).toBe("completed");
});

test("without a lane for the replay the job waits ten minutes, and then fails with what it needs", async () => {
  const worker = await start();
  const job_id = await submit();
  const first = await runs.next();
  expect((await hub.call("POST", "/sessions", { idle_ttl_s: 3_600 })).status).toBe(201);
  first.end(THREW);
  while (hub.ctx.lanes_wanted.size === 0) await new Promise((r) => setImmediate(r));
  for (let waited = 0; waited < LANE_WAIT_MS; waited += ALIVE_MS) {
    await worker.settle();
    await clock.advance(ALIVE_MS);
  }
  const { job, attempts } = await outcome(job_id);
  expect(job).toMatchObject({ status: "failed", stage: "capacity" });
  expect(job.error).toContain("no lane became free within 10 minutes for the replay");
  expect(attempts[1]).toMatchObject({ ran_in: null, proof: null, verdict: { class: "capacity" } });
});

test("a replay that somebody ends, and a job that is cancelled in one, leave nothing open", async () => {
  const worker = await start();
  const ended = await submit();
  (await runs.next()).end(THREW);
  const { session_id } = await worker.opening.next();
  const { run } = await runs.next();
  expect((await hub.call("DELETE", `/sessions/${session_id}`)).status).toBe(204);
  expect(run.signal.aborted).toBe(true);
  expect((await outcome(ended)).job).toMatchObject({ status: "failed", stage: "lane_lost" });

  const cancelled = await submit();
  (await runs.next()).end(THREW);
  const again = await worker.opening.next();
  const later = await runs.next();
  await hub.call("POST", `/jobs/${cancelled}/cancel`);
  expect(later.run.signal.aborted).toBe(true);
  await worker.closing.next(({ session_id: sid }) => sid === again.session_id);
  const { attempts } = await outcome(cancelled);
  expect(attempts[1].verdict.class).toBe("cancelled");
});
