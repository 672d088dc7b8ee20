import { and, eq, isNull, type SQL, type SQLWrapper, sql } from "drizzle-orm";
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

/** A job's place by age. A row value uses the index on both dialects; `a < x or (a = x and b < y)` does not. */
export const position = (jobs: Jobs): SQL => sql`(${jobs.created_at}, ${jobs.job_id})`;

export const finishedAt = (jobs: Jobs, now: unknown): SQL =>
  notBefore(sql`coalesce(${jobs.started_at}, ${jobs.created_at})`, now);
