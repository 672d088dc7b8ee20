import type { JobRow } from "#hub/platform/db/rows.ts";
import { invalid, notFound } from "#shared/kit/errors.ts";
import type { Job, JobListQuery } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { jobRecord } from "./record.ts";
import { queueFacts, waitingFor } from "./waiting-for.ts";

/** @throws AppError not_found, also for what cannot be a job id. */
export async function getRow(ctx: FleetContext, job_id: string): Promise<JobRow> {
  const row = /^[0-9A-Za-z_-]{1,64}$/.test(job_id) ? await ctx.db.jobs.get(job_id) : null;
  if (!row) throw notFound("job");
  return row;
}

export async function recordOf(ctx: FleetContext, row: JobRow): Promise<Job> {
  if (row.status !== "queued") return jobRecord(row);
  const [position, facts] = await Promise.all([
    ctx.db.jobs.queuePosition(row.job_id),
    queueFacts(ctx),
  ]);
  // Without a place it has just been claimed, or has ended.
  return jobRecord(row, position, position !== null && facts ? waitingFor(row, facts) : null);
}

export const getJob = async (ctx: FleetContext, job_id: string): Promise<Job> =>
  recordOf(ctx, await getRow(ctx, job_id));

const cursorOf = (row: JobRow): string =>
  Buffer.from(`${row.created_at}.${row.job_id}`).toString("base64url");

function parseCursor(cursor: string): { created_at: number; job_id: string } {
  const text = Buffer.from(cursor, "base64url").toString();
  const [, at, job_id] = /^([0-9]{1,15})\.([0-9A-Za-z_-]{1,64})$/.exec(text) ?? [];
  if (at === undefined || job_id === undefined)
    throw invalid(["query", "cursor"], "is not a cursor of this list");
  return { created_at: Number(at), job_id };
}

/** GET /jobs: newest first, one page. */
export async function listJobs(
  ctx: FleetContext,
  { cursor, ...filter }: JobListQuery,
): Promise<{ jobs: Job[]; next_cursor: string | null }> {
  const before = cursor === undefined ? null : parseCursor(cursor);
  const rows = await ctx.db.jobs.list({ ...filter, limit: filter.limit + 1 }, before);
  const page = rows.slice(0, filter.limit);
  const last = page.at(-1);
  return {
    jobs: await Promise.all(page.map((row) => recordOf(ctx, row))),
    next_cursor: rows.length > page.length && last ? cursorOf(last) : null,
  };
}
