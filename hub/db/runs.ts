import { and, asc, desc, eq, lt, type SQL, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { RunRow, RunsRepo } from "./types.ts";

/**
 * Runs of one workload, and their order. Written as a range with the workload in the order, because Postgres otherwise may
 * walk all runs backwards until it has met enough of this workload's: endless for one that rested while others ran.
 */
export const ofWorkload = ({ t: { runs } }: Conn, workload_id: number) => ({
  where: sql`${runs.workload_id} between ${workload_id} and ${workload_id}`,
  newest: [desc(runs.workload_id), desc(runs.run_id)],
  oldest: [asc(runs.workload_id), asc(runs.run_id)],
});

/** Runs with the name of their workload and what they printed. */
export async function selectRuns(
  { q, t: { runs, run_logs, workloads } }: Conn,
  where: SQL | undefined,
  order: SQL[],
  limit: number,
): Promise<RunRow[]> {
  const rows = await q
    .select({ run: runs, slug: workloads.slug, stdout: run_logs.stdout, stderr: run_logs.stderr })
    .from(runs)
    .leftJoin(workloads, eq(workloads.workload_id, runs.workload_id))
    .leftJoin(run_logs, eq(run_logs.run_id, runs.run_id))
    .where(where)
    .orderBy(...order)
    .limit(limit);
  return rows.map(({ run, slug, stdout, stderr }) => ({
    ...run,
    slug,
    stdout: stdout ?? "",
    stderr: stderr ?? "",
  }));
}

export function runsRepo(conn: Conn): RunsRepo {
  const { runs } = conn.t;
  const newest = [desc(runs.run_id)];
  return {
    list: ({ workload_id, before, success, pk, limit }) => {
      const of = workload_id === undefined ? null : ofWorkload(conn, workload_id);
      return selectRuns(
        conn,
        and(
          of?.where,
          before === undefined ? undefined : lt(runs.run_id, before),
          success === undefined
            ? undefined
            : success
              ? sql`${runs.outcome} = 0`
              : sql`${runs.outcome} <> 0`,
          pk === undefined ? undefined : eq(runs.pk, pk),
        ),
        of?.newest ?? newest,
        limit,
      );
    },
    get: async (run_id) => (await selectRuns(conn, eq(runs.run_id, run_id), newest, 1))[0] ?? null,
  };
}
