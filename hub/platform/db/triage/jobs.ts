import { and, desc, eq, gte, inArray, isNull, lt, sql } from "drizzle-orm";
import type { Conn } from "../conn.ts";
import { inStatus } from "../jobs/which.ts";
import { has } from "../like.ts";
import { firstOfEach } from "./first-of-each.ts";
import type { TriageRepo } from "./triage-repo.ts";

export function failedJobs(
  conn: Conn,
): Pick<TriageRepo, "failedJobs" | "firstJobs" | "jobExamples"> {
  const {
    q,
    t: { jobs },
  } = conn;
  return {
    failedJobs: ({ before, since, limit }, filter) => {
      const { fingerprint, host, worker_id, text } = filter;
      // What no index serves is asked of each failed job of the piece, so every call reads a bounded number of rows.
      const matches = and(
        host === undefined ? undefined : eq(jobs.host, host),
        worker_id === undefined ? undefined : eq(jobs.worker_id, worker_id),
        fingerprint === undefined
          ? undefined
          : fingerprint === null
            ? isNull(jobs.fingerprint)
            : eq(jobs.fingerprint, fingerprint),
        text === undefined ? undefined : has(jobs.error, text),
      );
      const place =
        before.job_id === null
          ? lt(jobs.created_at, before.created_at)
          : sql`(${jobs.created_at}, ${jobs.job_id}) < (${sql.param(before.created_at, jobs.created_at)}, ${before.job_id})`;
      return q
        .select({
          job_id: jobs.job_id,
          created_at: jobs.created_at,
          finished_at: jobs.finished_at,
          fingerprint: jobs.fingerprint,
          host: jobs.host,
          worker_id: jobs.worker_id,
          matches: sql`case when ${matches ?? sql`1 = 1`} then 1 else 0 end`.mapWith(
            (hit) => Number(hit) === 1,
          ),
        })
        .from(jobs)
        .where(and(inStatus(jobs, "failed"), place, gte(jobs.created_at, since)))
        .orderBy(desc(jobs.created_at), desc(jobs.job_id))
        .limit(limit);
    },
    firstJobs: async (fingerprints) => {
      if (fingerprints.length === 0) return new Map();
      const { fingerprint, job_id, created_at } = jobs;
      const first = firstOfEach(conn, fingerprint, job_id, created_at, fingerprints);
      const rows = await q
        .select({
          fingerprint,
          at: sql`coalesce(${jobs.finished_at}, ${created_at})`.mapWith(Number),
        })
        .from(jobs)
        .where(first);
      return new Map(rows.map((row) => [row.fingerprint ?? "", row.at]));
    },
    jobExamples: async (job_ids) =>
      job_ids.length === 0
        ? []
        : q
            .select({
              job_id: jobs.job_id,
              url: jobs.url,
              stage: jobs.stage,
              worker_id: jobs.worker_id,
              error: jobs.error,
              finished_at: jobs.finished_at,
            })
            .from(jobs)
            .where(inArray(jobs.job_id, [...job_ids])),
  };
}
