import type { AttemptSummaryRow, JobRow } from "#hub/platform/db/rows.ts";
import { isoTime, isoTimeOrNull } from "#shared/kit/clock.ts";
import { notFound } from "#shared/kit/errors.ts";
import type { Attempt, AttemptSummary } from "#shared/protocol/schema/attempt.ts";
import type { FleetContext } from "../context.ts";
import { getRow } from "./read-jobs.ts";

const times = (row: AttemptSummaryRow) => ({
  started_at: isoTime(row.started_at),
  finished_at: isoTimeOrNull(row.finished_at),
});

/** Where the run took place of which the attempt tells (rules/scripts#proof-in-replay). */
function ranIn(
  { options }: JobRow,
  { proof, timings }: AttemptSummaryRow,
): AttemptSummary["ran_in"] {
  if (timings.run_ms === null) return null;
  return options.replay || (proof !== null && proof.ok !== true) ? "replay" : "site";
}

/** The attempts of a job that has begun to run; a queued one has only the script it will run. */
export async function listAttempts(
  ctx: Pick<FleetContext, "db">,
  job_id: string,
): Promise<AttemptSummary[]> {
  const job = await getRow(ctx, job_id);
  if (job.status === "queued") return [];
  const rows = await ctx.db.attempts.list(job_id);
  return rows.map((row) => ({ ...row, ...times(row), ran_in: ranIn(job, row) }));
}

/** @throws AppError not_found. */
export async function getAttempt(
  ctx: Pick<FleetContext, "db">,
  job_id: string,
  n: string,
): Promise<Attempt> {
  const job = await getRow(ctx, job_id);
  const number = /^[1-9][0-9]{0,3}$/.test(n) && job.status !== "queued" ? Number(n) : null;
  const row = number === null ? null : await ctx.db.attempts.get(job_id, number);
  if (!row) throw notFound("attempt");
  const result = row.result?.value ?? null;
  return { ...row, ...times(row), ran_in: ranIn(job, row), result };
}
