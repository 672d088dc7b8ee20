import type { AttemptRow } from "#hub/platform/db/rows.ts";
import type { RunEnd } from "#shared/protocol/link/messages.ts";
import { runExtras } from "../jobs/extras.ts";
import { loopEngines, noEngines } from "../registries/engines.ts";
import { hostForJob } from "../registries/hosts.ts";
import { runAttempt } from "./attempt.ts";
import { callPage, type ScriptedJob, say } from "./job.ts";
import { judgeAttempt } from "./judge.ts";
import { offerFindings } from "./offer.ts";
import { planScript } from "./plan.ts";
import { byRules, endVerdict, failureOf, isWorthAnother } from "./verdict.ts";

const COMPLETED: RunEnd = { status: "completed", error: null, stage: null };
const failed = (error: string, stage: string | null = null): RunEnd => ({
  status: "failed",
  error: error.slice(0, 4_096),
  stage,
});

/** Opening the page again: as long as a job's own first navigation may take by default. */
const RESET_MS = 60_000;

/**
 * Mode codegen-loop (rules/scripts#the-loop): scripts are planned, run and judged until one reaches the goal,
 * `max_codegen_attempts` are used up, or an attempt ends in a way that no other script would change.
 */
export async function runLoop(job: ScriptedJob): Promise<RunEnd> {
  const { row } = job;
  const { max_codegen_attempts: most, attempt_timeout_s } = row.options;
  // The engines existed when the job was submitted, but may have been deleted since.
  const engines = await loopEngines(job.ctx, row.options.codegen_engine).catch(noEngines);
  if (typeof engines === "string") return failed(engines, "plan");
  const { planner, judge } = engines;
  const earlier: AttemptRow[] = [];
  for (let n = 1; n <= most; n += 1) {
    if (n > 1) await resetPage(job);
    const { attempt, verdict, door } = await runAttempt(job, n, planner.slug, {
      plan: (attempt) => planScript(job, planner, attempt, earlier),
      judge: async (attempt, outcome, shot) =>
        endVerdict(outcome, attempt_timeout_s) ??
        (await judgeAttempt(job, judge, attempt, outcome, shot)),
    });
    if (verdict.ok) {
      await offerFindings(job, attempt, door.trace);
      return COMPLETED;
    }
    earlier.push(attempt);
    if (!isWorthAnother(verdict.class)) break;
  }
  return failed(whyNot(earlier, most), earlier.at(-1)?.verdict?.class ?? null);
}

/** Mode rerun (rules/scripts#rerun): one attempt with an existing script, no engine, no judge. */
export async function runOnce(job: ScriptedJob): Promise<RunEnd> {
  const { ctx, row } = job;
  const script = row.options.code ?? (await ctx.db.attempts.get(row.job_id, 1))?.script ?? null;
  const { verdict } = await runAttempt(job, 1, null, {
    plan: async (attempt) => {
      attempt.script = script;
      return script === null ? byRules("bad_script", "the script to rerun was not stored") : null;
    },
    judge: async (_attempt, outcome) =>
      endVerdict(outcome, row.options.attempt_timeout_s) ??
      (outcome.end === "ok"
        ? byRules("success", "the script ran to its end")
        : byRules("script_error", failureOf(outcome))),
  });
  return verdict.ok ? COMPLETED : failed(verdict.reason, verdict.class);
}

/** The next attempt begins where the first one did (rules/scripts#page-for-each-attempt), in the same browser. */
async function resetPage(job: ScriptedJob): Promise<void> {
  const { ctx, row } = job;
  const { use_profile, attach_to_job, clone_chrome_profile } = row.options;
  const { cookies, profile } = await runExtras(ctx, row, await hostForJob(ctx, row.host));
  const own = [use_profile, attach_to_job, clone_chrome_profile].every((name) => name === null);
  const fresh = own && profile === null;
  await say(job, "info", "plan", "opening the page again for the next attempt", { fresh });
  await callPage(job, "run_reset", { url: row.url, fresh, cookies }, RESET_MS);
  job.page.mute = false;
}

/** Why no attempt succeeded, in one sentence that names them all. */
function whyNot(attempts: readonly AttemptRow[], most: number): string {
  const classes = attempts.map(({ verdict }) => verdict?.class ?? "unknown");
  const last = attempts.at(-1)?.verdict?.reason ?? "no attempt was made";
  const count = `${attempts.length} of ${most} ${most === 1 ? "attempt" : "attempts"}`;
  return `the goal was not reached in ${count} (${classes.join(", ")}): ${last}`;
}
