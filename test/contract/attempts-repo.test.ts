import { describe, expect, test } from "bun:test";
import type { AttemptRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { eachDialect, jobRow } from "#test/support/servers/db.ts";

const attempt = (job_id: string, n: number, more: Partial<AttemptRow> = {}): AttemptRow => ({
  job_id,
  n,
  state: "running",
  engine: "local",
  prompt: "prompt",
  reply: "reply",
  script: "log(1)",
  stdout: "",
  stderr: "",
  result: null,
  error: null,
  exit_code: null,
  verdict: null,
  timings: { plan_ms: 1, check_ms: null, first_action_ms: null, run_ms: null, judge_ms: null },
  tokens: { prompt_tokens: 1, completion_tokens: 2 },
  sandbox: null,
  screenshot: null,
  evidence: { url: null, title: null, network: [] },
  proof: null,
  started_at: 1,
  finished_at: null,
  ...more,
});

const verdict = (cls: "success" | "cancelled" | "script_error") => ({
  class: cls,
  ok: cls === "success",
  reason: cls,
  advice: null,
  by: "rules" as const,
  engine: null,
});

/** A running job under the lease 7. */
async function runningJob(db: Db): Promise<string> {
  const row = jobRow({ mode: "codegen-loop" });
  await db.jobs.insert(row);
  const { job_id } = row;
  await db.jobs.claim({
    job_id,
    worker_id: "w1",
    lane_idx: 0,
    session_id: "s",
    novnc_url: "/v",
    lease_token: 7,
    hub_id: "hub-1",
    now: 1,
  });
  return job_id;
}

eachDialect((open) => {
  describe("attempts (everything stored per attempt: rules/scripts#attempts)", () => {
    test("begin stores the attempt and counts it on the job, under the job's lease alone", async () => {
      const db = await open();
      const id = await runningJob(db);
      expect(await db.attempts.begin(attempt(id, 1), 8)).toBe(false);
      expect(await db.attempts.list(id)).toEqual([]);
      expect(await db.attempts.begin(attempt(id, 1), 7)).toBe(true);
      expect(await db.attempts.begin(attempt(id, 2), 7)).toBe(true);
      expect((await db.jobs.get(id))?.attempts).toBe(2);
      expect((await db.attempts.list(id)).map((a) => a.n)).toEqual([1, 2]);
      await db.jobs.finish(id, 7, { status: "completed", error: null, now: 2 });
      expect(await db.attempts.begin(attempt(id, 3), 7)).toBe(false);
      expect((await db.jobs.get(id))?.attempts).toBe(2);
    });

    test("begin takes the place of the attempt a rerun waited with", async () => {
      const db = await open();
      const row = jobRow({ mode: "rerun" });
      const waits = attempt(row.job_id, 1, { script: "one" });
      expect(await db.jobs.insertWith(row, { key: null, attempt: waits })).toBe(true);
      expect(await db.attempts.get(row.job_id, 1)).toEqual(waits);
      await db.jobs.claim({
        job_id: row.job_id,
        worker_id: "w1",
        lane_idx: 0,
        session_id: "s",
        novnc_url: "/v",
        lease_token: 7,
        hub_id: "hub-1",
        now: 1,
      });
      await db.attempts.begin(attempt(row.job_id, 1, { script: "one", started_at: 5 }), 7);
      expect(await db.attempts.get(row.job_id, 1)).toEqual(
        attempt(row.job_id, 1, { script: "one", started_at: 5 }),
      );
    });

    test("save keeps every field as it was given, texts with NUL aside", async () => {
      const db = await open();
      const id = await runningJob(db);
      await db.attempts.begin(attempt(id, 1), 7);
      const whole = attempt(id, 1, {
        state: "ended",
        stdout: "line\n€",
        stderr: "warn",
        result: { value: [1, { a: null }] },
        error: { name: "Error", message: "no", line: 3, stack: "at 3" },
        exit_code: 1,
        verdict: verdict("script_error"),
        sandbox: "bubblewrap",
        screenshot: "attempt-1.png",
        evidence: {
          url: "http://a/",
          title: "A",
          network: [{ method: "GET", url: "/", status: null }],
        },
        proof: {
          job_id: id,
          session_id: "s1",
          ok: true,
          reason: "fine",
          run_ms: 4,
          answered: 2,
          missed_count: 1,
        },
        finished_at: 9,
      });
      expect(await db.attempts.save(whole)).toBe(true);
      expect(await db.attempts.get(id, 1)).toEqual(whole);
      expect(await db.attempts.save({ ...whole, stdout: "a\u0000b" })).toBe(true);
      const [summary] = await db.attempts.list(id);
      expect(summary).toMatchObject({ n: 1, exit_code: 1, verdict: { class: "script_error" } });
      expect(summary).toMatchObject({ proof: whole.proof });
      expect(summary).not.toHaveProperty("stdout");
    });

    test("a result of null is distinguished from none", async () => {
      const db = await open();
      const id = await runningJob(db);
      await db.attempts.begin(attempt(id, 1), 7);
      await db.attempts.save(attempt(id, 1, { result: { value: null } }));
      expect((await db.attempts.get(id, 1))?.result).toEqual({ value: null });
    });

    test("endOpen ends what is open and leaves what has ended", async () => {
      const db = await open();
      const id = await runningJob(db);
      await db.attempts.begin(attempt(id, 1), 7);
      await db.attempts.save(attempt(id, 1, { state: "ended", verdict: verdict("script_error") }));
      await db.attempts.begin(attempt(id, 2), 7);
      await db.attempts.endOpen(id, verdict("cancelled"), 5);
      const rows = await db.attempts.list(id);
      expect(rows.map((a) => [a.state, a.verdict?.class, a.finished_at])).toEqual([
        ["ended", "script_error", null],
        ["ended", "cancelled", 5],
      ]);
    });

    test("scripted lists those that have a script, the last one first", async () => {
      const db = await open();
      const id = await runningJob(db);
      await db.attempts.begin(attempt(id, 1, { verdict: verdict("success") }), 7);
      await db.attempts.begin(attempt(id, 2, { script: null }), 7);
      await db.attempts.begin(attempt(id, 3), 7);
      expect((await db.attempts.scripted(id)).map((a) => [a.n, a.verdict?.ok])).toEqual([
        [3, undefined],
        [1, true],
      ]);
    });

    test("a deleted job takes its attempts with it, and a late save finds nothing", async () => {
      const db = await open();
      const id = await runningJob(db);
      await db.attempts.begin(attempt(id, 1), 7);
      await db.jobs.finish(id, 7, { status: "cancelled", error: null, now: 2 });
      await db.jobs.deleteTerminal(id);
      expect(await db.attempts.list(id)).toEqual([]);
      expect(await db.attempts.save(attempt(id, 1))).toBe(false);
    });
  });
});
