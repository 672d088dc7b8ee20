import type { AttemptRow, JobRow } from "#hub/platform/db/rows.ts";
import { invalid } from "#shared/kit/errors.ts";
import type { JobOptions } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";

const FIELD = ["body", "options", "rerun_from"];

/**
 * The script that `rerun_from` names (rules/scripts#rerun): for a job, that of its last successful attempt, else its
 * last script; for an attempt, its own. Null when the options name none.
 * @throws AppError invalid when there is no such job, attempt or script.
 */
export async function rerunSource(
  ctx: Pick<FleetContext, "db">,
  { mode, rerun_from }: JobOptions,
): Promise<string | null> {
  if (mode !== "rerun" || rerun_from === null) return null;
  const [job_id = "", , number] = rerun_from.split("/");
  if (!(await ctx.db.jobs.get(job_id))) throw invalid(FIELD, "there is no such job");
  const scripts = await ctx.db.attempts.scripted(job_id);
  const found =
    number === undefined
      ? (scripts.find(({ verdict }) => verdict?.ok) ?? scripts[0])
      : scripts.find(({ n }) => n === Number(number));
  const attempt = found ? await ctx.db.attempts.get(job_id, found.n) : null;
  if (!attempt?.script)
    throw invalid(
      FIELD,
      number === undefined
        ? `no attempt of job ${job_id} has a script`
        : `job ${job_id} has no attempt ${number} with a script`,
    );
  return attempt.script;
}

/** An attempt that begins now. `n` counts from 1 within the job. */
export const newAttempt = (
  { job_id }: Pick<JobRow, "job_id">,
  n: number,
  started_at: number,
  more: Partial<AttemptRow> = {},
): AttemptRow => ({
  job_id,
  n,
  state: "running",
  engine: null,
  prompt: null,
  reply: null,
  script: null,
  stdout: "",
  stderr: "",
  result: null,
  error: null,
  exit_code: null,
  verdict: null,
  timings: { plan_ms: null, check_ms: null, first_action_ms: null, run_ms: null, judge_ms: null },
  tokens: null,
  sandbox: null,
  screenshot: null,
  evidence: { url: null, title: null, network: [] },
  proof: null,
  started_at,
  finished_at: null,
  ...more,
});
