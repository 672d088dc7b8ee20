import { and, desc, eq, lt, type SQL, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { RunRow, RunsRepo } from "./types.ts";

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
    list: ({ workload_id, before, success, pk, limit }) =>
      selectRuns(
        conn,
        and(
          workload_id === undefined ? undefined : eq(runs.workload_id, workload_id),
          before === undefined ? undefined : lt(runs.run_id, before),
          success === undefined
            ? undefined
            : success
              ? sql`${runs.outcome} = 0`
              : sql`${runs.outcome} <> 0`,
          pk === undefined ? undefined : eq(runs.pk, pk),
        ),
        newest,
        limit,
      ),
    get: async (run_id) => (await selectRuns(conn, eq(runs.run_id, run_id), newest, 1))[0] ?? null,
  };
}
