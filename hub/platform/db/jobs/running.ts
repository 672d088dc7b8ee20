import { and, asc, eq, inArray, lte, notInArray, type SQL } from "drizzle-orm";
import { fingerprintOf } from "../../failures/fingerprint.ts";
import type { Conn } from "../conn.ts";
import type { JobsRepo } from "../fleet-types.ts";
import { finishedAt } from "./which.ts";

/** Running jobs: reads for the passes, and those that fail with their worker or hub. */
export function runningJobs({
  q,
  t: { jobs },
}: Conn): Pick<
  JobsRepo,
  "failRunningOf" | "failRunningUnder" | "failAllRunning" | "runningBefore" | "runningAmong"
> {
  const runs = eq(jobs.status, "running");
  /** Few at any time; a subquery makes the planner start here, not at the worker's whole history. */
  const running = q.select({ job_id: jobs.job_id }).from(jobs).where(runs);
  const failRunning = async (error: string, now: number, ...of: SQL[]) =>
    q
      .update(jobs)
      .set({
        status: "failed",
        error,
        fingerprint: fingerprintOf(error),
        finished_at: finishedAt(jobs, now),
      })
      .where(and(runs, ...of))
      .returning();
  return {
    failRunningOf: (worker_id, error, now) =>
      failRunning(error, now, eq(jobs.worker_id, worker_id), inArray(jobs.job_id, running)),
    failRunningUnder: async ({ hub_id, worker_id, tokens }, error, now) => {
      if (tokens.length === 0) return [];
      const under = inArray(jobs.lease_token, tokens);
      const of = [eq(jobs.hub_id, hub_id), eq(jobs.worker_id, worker_id)];
      return failRunning(error, now, ...of, under, inArray(jobs.job_id, running));
    },
    failAllRunning: (error, now, except = []) =>
      failRunning(error, now, ...(except.length > 0 ? [notInArray(jobs.worker_id, except)] : [])),
    runningBefore: async (created_before, limit) =>
      q
        .select()
        .from(jobs)
        .where(and(runs, lte(jobs.created_at, created_before)))
        .orderBy(asc(jobs.created_at), asc(jobs.job_id))
        .limit(limit),
    runningAmong: async (job_ids) => {
      if (job_ids.length === 0) return [];
      return q
        .select({ job_id: jobs.job_id, lease_token: jobs.lease_token })
        .from(jobs)
        .where(and(runs, inArray(jobs.job_id, job_ids)));
    },
  };
}
