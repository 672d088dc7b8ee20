import { and, asc, count, eq, inArray, lte, sql } from "drizzle-orm";
import { TERMINAL } from "#shared/protocol/schema/job.ts";
import { behindRow } from "../behind-row.ts";
import type { Conn } from "../conn.ts";
import type { JobsRepo } from "../fleet-types.ts";

/** Jobs that have ended, for retention, which deletes them. */
export function endedJobs({
  q,
  t: { jobs, watches },
}: Conn): Pick<JobsRepo, "oldestEnded" | "fileBytes" | "endedCount" | "deleteTerminal"> {
  const files = sql`(${jobs.asset_bytes} + ${jobs.document_bytes})`;
  return {
    oldestEnded: async ({ ended_before, with_files = false, after, limit }) => {
      const old =
        ended_before === undefined
          ? undefined
          : // No job ends before it is created, and the index knows when that was.
            and(lte(jobs.created_at, ended_before), lte(jobs.finished_at, ended_before));
      // The next capture of its watch is compared with it (rules/watches#retention).
      const free = sql`not exists (select 1 from ${watches} where ${watches.baseline} = ${jobs.job_id})`;
      const filled = with_files ? sql`${files} > 0` : undefined;
      const behind =
        after && behindRow(jobs.created_at, after.created_at, jobs.job_id, after.job_id);
      // Each status separately, because together they have no order that an index knows.
      const found = await Promise.all(
        TERMINAL.map((status) =>
          q
            .select({
              job_id: jobs.job_id,
              created_at: jobs.created_at,
              file_bytes: sql<unknown>`${files}`,
            })
            .from(jobs)
            .where(and(eq(jobs.status, status), old, filled, free, behind))
            .orderBy(asc(jobs.created_at), asc(jobs.job_id))
            .limit(limit),
        ),
      );
      return found
        .flat()
        .sort((a, b) => a.created_at - b.created_at || (a.job_id < b.job_id ? -1 : 1))
        .slice(0, limit)
        .map((row) => ({ ...row, file_bytes: Number(row.file_bytes) }));
    },
    fileBytes: async () => {
      const [row] = await q.select({ bytes: sql<unknown>`sum(${files})` }).from(jobs);
      return Number(row?.bytes ?? 0);
    },
    endedCount: async () => {
      const ended = inArray(jobs.status, [...TERMINAL]);
      const [row] = await q.select({ jobs: count() }).from(jobs).where(ended);
      return row?.jobs ?? 0;
    },
    deleteTerminal: async (job_id) => {
      const gone = await q
        .delete(jobs)
        .where(and(eq(jobs.job_id, job_id), inArray(jobs.status, [...TERMINAL])))
        .returning({ job_id: jobs.job_id });
      return gone.length > 0;
    },
  };
}
