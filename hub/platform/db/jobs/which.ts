import { and, eq, isNull, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { JobStatus } from "#shared/protocol/schema/job.ts";
import type { Conn } from "../conn.ts";
import { notBefore } from "../not-before.ts";

/** Conditions that select jobs, and the earliest time at which a job can end. */

type Jobs = Conn["t"]["jobs"];

export const waiting = (jobs: Jobs): SQL | undefined =>
  and(eq(jobs.status, "queued"), isNull(jobs.worker_id));

export const heldBy = (
  jobs: Jobs,
  job_id: string | SQLWrapper,
  lease_token: number | SQLWrapper,
): SQL | undefined =>
  and(eq(jobs.job_id, job_id), eq(jobs.status, "running"), eq(jobs.lease_token, lease_token));

/**
 * For lists, which have an order: statuses as literals. A plan that Postgres keeps for all parameters would take any of them
 * to be as many as the others, and go through every job by its age for the few that are queued.
 */
export function inStatus(jobs: Jobs, ...statuses: JobStatus[]): SQL {
  if (statuses.length === 0) return sql`1 = 0`;
  const literals = statuses.map((one) => `'${JobStatus.parse(one)}'`);
  return sql`${jobs.status} in (${sql.raw(literals.join(", "))})`;
}

/** A job's place by age. A row value uses the index on both dialects; `a < x or (a = x and b < y)` does not. */
export const position = (jobs: Jobs): SQL => sql`(${jobs.created_at}, ${jobs.job_id})`;

export const finishedAt = (jobs: Jobs, now: unknown): SQL =>
  notBefore(sql`coalesce(${jobs.started_at}, ${jobs.created_at})`, now);
