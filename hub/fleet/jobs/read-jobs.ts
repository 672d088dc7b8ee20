import type { JobFilter } from "#hub/platform/db/fleet-types.ts";
import type { JobRow } from "#hub/platform/db/rows.ts";
import { namedCursor, readNamedCursor } from "#hub/platform/http/time-cursor.ts";
import { pageOfRows } from "#hub/platform/page-of-rows.ts";
import { notFound } from "#shared/kit/errors.ts";
import {
  type Job,
  type JobCount,
  type JobCountQuery,
  type JobListQuery,
  MAX_COUNTED,
} from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import type { JobReadContext } from "./job-contexts.ts";
import { jobRecord } from "./record.ts";
import { queueFacts, waitingFor } from "./waiting-for.ts";

/** @throws AppError not_found, also for what cannot be a job id. */
export async function getRow(ctx: Pick<FleetContext, "db">, job_id: string): Promise<JobRow> {
  const row = /^[0-9A-Za-z_-]{1,64}$/.test(job_id) ? await ctx.db.jobs.get(job_id) : null;
  if (!row) throw notFound("job");
  return row;
}

export async function recordOf(ctx: JobReadContext, row: JobRow): Promise<Job> {
  if (row.status !== "queued") return jobRecord(row);
  const [position, facts] = await Promise.all([
    ctx.db.jobs.queuePosition(row.job_id),
    queueFacts(ctx),
  ]);
  // Without a place it has just been claimed, or has ended.
  return jobRecord(row, position, position !== null && facts ? waitingFor(row, facts) : null);
}

export const getJob = async (ctx: JobReadContext, job_id: string): Promise<Job> =>
  recordOf(ctx, await getRow(ctx, job_id));

/** GET /jobs: newest first, one page. */
export async function listJobs(
  ctx: JobReadContext,
  { cursor, ...filter }: JobListQuery,
): Promise<{ jobs: Job[]; next_cursor: string | null }> {
  const place = cursor === undefined ? null : readNamedCursor(cursor);
  const before = place && { created_at: place.at, job_id: place.id };
  const { page, next_cursor } = await pageOfRows(
    filter.limit,
    (limit) => ctx.db.jobs.list({ ...filter, limit }, before),
    ({ created_at, job_id }) => namedCursor({ at: created_at, id: job_id }),
  );
  return { jobs: await Promise.all(page.map((row) => recordOf(ctx, row))), next_cursor };
}

/** Every job that fits, newest first, in pages of `limit`; each is read when the one before was dealt with. */
export async function* pagesOfJobs(
  { db }: Pick<FleetContext, "db">,
  filter: JobFilter,
  limit: number,
): AsyncGenerator<JobRow[]> {
  for (let last: JobRow | undefined; ; ) {
    const before = last ? { created_at: last.created_at, job_id: last.job_id } : null;
    const page: JobRow[] = await db.jobs.list({ ...filter, limit }, before);
    yield page;
    last = page.at(-1);
    if (page.length < limit || last === undefined) return;
  }
}

/** GET /jobs/count: counted as far as a tab shows it. */
export async function countJobs(
  ctx: Pick<FleetContext, "db">,
  filter: JobCountQuery,
): Promise<JobCount> {
  const found = await ctx.db.jobs.count({ ...filter, limit: MAX_COUNTED + 1 });
  return { count: Math.min(found, MAX_COUNTED), more: found > MAX_COUNTED };
}
