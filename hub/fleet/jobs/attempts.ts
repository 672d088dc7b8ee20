import type { AttemptSummaryRow } from "#hub/platform/db/rows.ts";
import { isoTime, isoTimeOrNull } from "#shared/kit/clock.ts";
import { notFound } from "#shared/kit/errors.ts";
import type { Attempt, AttemptSummary } from "#shared/protocol/schema/attempt.ts";
import type { FleetContext } from "../context.ts";
import { getRow } from "./read.ts";

const times = (row: AttemptSummaryRow) => ({
  started_at: isoTime(row.started_at),
  finished_at: isoTimeOrNull(row.finished_at),
});

/** The attempts of a job that has begun to run; a queued one has only the script it will run. */
export async function listAttempts(
  ctx: Pick<FleetContext, "db">,
  job_id: string,
): Promise<AttemptSummary[]> {
  const job = await getRow(ctx, job_id);
  if (job.status === "queued") return [];
  const rows = await ctx.db.attempts.list(job_id);
  return rows.map((row) => ({ ...row, ...times(row) }));
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
  return { ...row, ...times(row), result: row.result?.value ?? null };
}
