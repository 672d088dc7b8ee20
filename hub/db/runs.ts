import { and, desc, eq, lt, ne, type SQL } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { RunRow, RunsRepo } from "./types.ts";

const SUCCESS = 0;

export function runsRepo({ q, t: { runs, run_logs, workloads } }: Conn): RunsRepo {
  const select = (where: SQL | undefined, limit: number): Promise<RunRow[]> =>
    q
      .select({ run: runs, slug: workloads.slug, stdout: run_logs.stdout, stderr: run_logs.stderr })
      .from(runs)
      .leftJoin(workloads, eq(workloads.workload_id, runs.workload_id))
      .leftJoin(run_logs, eq(run_logs.run_id, runs.run_id))
      .where(where)
      .orderBy(desc(runs.run_id))
      .limit(limit)
      .then((rows) =>
        rows.map(({ run, slug, stdout, stderr }) => ({
          ...run,
          slug,
          stdout: stdout ?? "",
          stderr: stderr ?? "",
        })),
      );
  return {
    list: ({ workload_id, before, success, pk, limit }) =>
      select(
        and(
          workload_id === undefined ? undefined : eq(runs.workload_id, workload_id),
          before === undefined ? undefined : lt(runs.run_id, before),
          success === undefined
            ? undefined
            : success
              ? eq(runs.outcome, SUCCESS)
              : ne(runs.outcome, SUCCESS),
          pk === undefined ? undefined : eq(runs.pk, pk),
        ),
        limit,
      ),
    get: async (run_id) => (await select(eq(runs.run_id, run_id), 1))[0] ?? null,
  };
}
