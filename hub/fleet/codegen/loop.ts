import type { AttemptRow } from "#hub/platform/db/rows.ts";
import type { RunEnd } from "#shared/protocol/link/messages.ts";
import type { ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import { loopEngines, noEngines } from "../registries/engines.ts";
import { type JudgeScript, runAttempt } from "./attempt.ts";
import type { ScriptedJob } from "./job.ts";
import { judgeAttempt } from "./judge.ts";
import { offerFindings } from "./offer.ts";
import { planScript } from "./plan.ts";
import { type ProofInReplay, proveInReplay } from "./proof.ts";
import { resetPage } from "./reset-page.ts";
import { byRules, endVerdict, failureOf, isWorthAnother } from "./verdict.ts";

const COMPLETED: RunEnd = { status: "completed", error: null, stage: null };
const failed = (error: string, stage: string | null = null): RunEnd => ({
  status: "failed",
  error: error.slice(0, 4_096),
  stage,
});

/**
 * Mode codegen-loop (rules/scripts#the-loop): scripts are planned, run and judged until one reaches the goal,
 * `max_codegen_attempts` are used up, or an attempt ends in a way that no other script would change.
 */
export async function runLoop(job: ScriptedJob): Promise<RunEnd> {
  const { row } = job;
  // The engines existed when the job was submitted, but may have been deleted since.
  const engines = await loopEngines(job.ctx, row.options.codegen_engine).catch(noEngines);
  if (typeof engines === "string") return failed(engines, "plan");
  const proof = row.options.prove_in_replay ? proveInReplay(job) : null;
  try {
    return await tryScripts(job, engines, proof);
  } finally {
    await proof?.close();
  }
}

async function tryScripts(
  job: ScriptedJob,
  { planner, judge: by }: { planner: ResolvedEngine; judge: ResolvedEngine },
  proof: ProofInReplay | null,
): Promise<RunEnd> {
  const { max_codegen_attempts: most, attempt_timeout_s } = job.row.options;
  const judge: JudgeScript = async (where, attempt, outcome, shot) =>
    endVerdict(outcome, attempt_timeout_s) ??
    (await judgeAttempt(where, by, attempt, outcome, shot));
  const earlier: AttemptRow[] = [];
  for (let n = 1; n <= most; n += 1) {
    const proving = proof?.isDue(n) ? proof : null;
    if (n > 1 && !proving) await resetPage(job);
    const { attempt, verdict, door } = await runAttempt(job, n, planner.slug, {
      plan: async (attempt) => {
        const where = proving ? await proving.open() : job;
        return "class" in where ? where : planScript(where, planner, attempt, earlier);
      },
      prove: proving ? (attempt) => proving.prove(attempt, judge) : undefined,
      judge,
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
    judge: async (_job, _attempt, outcome) =>
      endVerdict(outcome, row.options.attempt_timeout_s) ??
      (outcome.end === "ok"
        ? byRules("success", "the script ran to its end")
        : byRules("script_error", failureOf(outcome))),
  });
  return verdict.ok ? COMPLETED : failed(verdict.reason, verdict.class);
}

/** Why no attempt succeeded, in one sentence that names them all. */
function whyNot(attempts: readonly AttemptRow[], most: number): string {
  const classes = attempts.map(({ verdict }) => verdict?.class ?? "unknown");
  const last = attempts.at(-1)?.verdict?.reason ?? "no attempt was made";
  const count = `${attempts.length} of ${most} ${most === 1 ? "attempt" : "attempts"}`;
  return `the goal was not reached in ${count} (${classes.join(", ")}): ${last}`;
}
