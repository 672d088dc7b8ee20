import type { AttemptRow } from "#hub/platform/db/rows.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import type { Verdict } from "#shared/protocol/schema/attempt.ts";
import { runText } from "#shared/protocol/schema/run-event.ts";
import { newAttempt } from "../jobs/rerun-source.ts";
import type { ScriptOutcome } from "../runner/script-run.ts";
import { type AttemptDoor, openAttemptDoor } from "./door.ts";
import { gatherEvidence, networkMark, type Shot } from "./evidence.ts";
import { record, type ScriptedJob, say, stoppedClass } from "./job.ts";
import { storeAnswer, storeResult } from "./job-output.ts";
import { byRules, chatVerdict } from "./verdict.ts";

/** The outcome of an attempt, and what is known about it besides its row. */
export interface Ended {
  attempt: AttemptRow;
  verdict: Verdict;
  door: AttemptDoor;
}

/** Judges a script that has run, by the page that `job` shows. */
export type JudgeScript = (
  job: ScriptedJob,
  attempt: AttemptRow,
  outcome: ScriptOutcome,
  shot: Shot | null,
) => Promise<Verdict>;

/** What decides an attempt: a script on it, how it ran, and what became of it. */
export interface AttemptPlan {
  /** Puts the script on the attempt. @returns why there is none to run, or null. */
  plan(attempt: AttemptRow): Promise<Verdict | null>;
  /** @returns why the script may not run on the job's page, or null. Absent: it may. */
  prove?: ((attempt: AttemptRow) => Promise<Verdict | null>) | undefined;
  judge: JudgeScript;
}

/** The job's lease is another's, or it has ended. */
class NotOurs extends Error {}

/**
 * One attempt from its first to its last stored word: plan, sandbox, evidence, verdict. Whatever goes wrong becomes the
 * attempt's verdict.
 */
export async function runAttempt(
  job: ScriptedJob,
  n: number,
  engine: string | null,
  { plan, prove, judge }: AttemptPlan,
): Promise<Ended> {
  const { ctx, signal } = job;
  const attempt = newAttempt(job.row, n, ctx.clock.now(), { engine });
  const door = openAttemptDoor(job);
  const ended = (verdict: Verdict): Ended => ({ attempt, verdict, door });
  if (!(await ctx.db.attempts.begin(attempt, job.held.lease.token)))
    return ended(byRules(stoppedClass(signal), "the job has ended"));
  let verdict: Verdict;
  try {
    verdict =
      (await plan(attempt)) ??
      (await prove?.(attempt)) ??
      (await runPlanned(job, attempt, door, judge));
  } catch (err) {
    verdict = verdictOfError(job, err);
  }
  if (signal.aborted && !verdict.ok)
    verdict = byRules(stoppedClass(signal), errorMessage(signal.reason));
  attempt.verdict = verdict;
  attempt.state = "ended";
  // Never before its start, even if the wall clock was set back meanwhile.
  attempt.finished_at = Math.max(attempt.started_at, ctx.clock.now());
  await ctx.db.attempts.save(attempt);
  record(job, {
    type: "step",
    of: "script",
    text: `attempt ${n}: ${verdict.class}`,
    reason: runText(verdict.reason),
    outcome: verdict.ok ? "done" : "failed",
  });
  await say(job, verdict.ok ? "info" : "warn", "judge", `attempt ${n}: ${verdict.reason}`, {
    attempt: n,
    class: verdict.class,
    by: verdict.by,
  });
  return ended(verdict);
}

function verdictOfError({ ctx, row, signal }: ScriptedJob, err: unknown): Verdict {
  if (signal.aborted || err instanceof NotOurs)
    return byRules(stoppedClass(signal), errorMessage(signal.reason ?? err));
  const said = chatVerdict(err);
  if (said) return said;
  if (!(err instanceof AppError))
    ctx.log.error({ job_id: row.job_id, err }, "an attempt failed unexpectedly");
  return byRules("lane_lost", `the attempt broke off: ${errorMessage(err)}`);
}

async function runPlanned(
  job: ScriptedJob,
  attempt: AttemptRow,
  door: AttemptDoor,
  judge: JudgeScript,
): Promise<Verdict> {
  const verdict = await runJudged(job, attempt, door, judge);
  if (verdict.ok && attempt.result !== null) {
    await storeResult(job, attempt.result.value);
    await storeAnswer(job, attempt.result.value);
  }
  return verdict;
}

/** Runs the attempt's script on the page that `job` shows, and has it judged; what came of it is on the attempt. */
export async function runJudged(
  job: ScriptedJob,
  attempt: AttemptRow,
  door: AttemptDoor,
  judge: JudgeScript,
): Promise<Verdict> {
  const { ctx, row, signal } = job;
  signal.throwIfAborted();
  const { attempt_timeout_s } = row.options;
  // A long script may be read, and reused for another job, while it runs. Under the lease: an attempt that the job's
  // end has closed is not opened again.
  if (!(await ctx.db.attempts.begin(attempt, job.held.lease.token)))
    throw new NotOurs("the job has ended");
  const since = await networkMark(job);
  await say(job, "info", "run", `attempt ${attempt.n}: running the script`, {
    attempt: attempt.n,
    timeout_s: attempt_timeout_s,
  });
  const outcome = await ctx.script_tools.runScript(ctx, {
    job_id: row.job_id,
    attempt: attempt.n,
    code: attempt.script ?? "",
    job: { url: row.url, goal: row.options.goal },
    timeout_ms: attempt_timeout_s * 1_000,
    signal,
    door,
  });
  putOutcome(attempt, outcome);
  signal.throwIfAborted();
  const { run_ms, actions, sandbox, end, exit_code } = outcome;
  if (sandbox === "process")
    await say(job, "warn", "run", "the script ran without a sandbox (SVC_SANDBOX=process)");
  await say(job, "info", "run", `the script ended (${end}) after ${run_ms} ms`, {
    end,
    exit_code,
    run_ms,
    actions,
    first_action_ms: outcome.first_action_ms,
    sandbox,
    ...(outcome.error && { error: outcome.error.message, line: outcome.error.line }),
  });
  const shot = await gatherEvidence(job, attempt, since);
  return judge(job, attempt, outcome, shot);
}

function putOutcome(attempt: AttemptRow, outcome: ScriptOutcome): void {
  const { stdout, stderr, error, exit_code, sandbox, first_action_ms, run_ms } = outcome;
  const result = outcome.result === null ? null : { value: outcome.result };
  Object.assign(attempt, { stdout, stderr, error, exit_code, sandbox, result });
  attempt.timings.first_action_ms = first_action_ms === null ? null : Math.round(first_action_ms);
  attempt.timings.run_ms = Math.round(run_ms);
}
