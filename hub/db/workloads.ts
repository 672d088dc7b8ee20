import { asc, eq, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { WorkloadRow, WorkloadsRepo } from "./types.ts";

const first = <T>(rows: T[]): T | null => rows[0] ?? null;

export function workloadsRepo(conn: Conn): WorkloadsRepo {
  const { q, t } = conn;
  const { workloads } = t;
  return {
    insert: async (row) =>
      first(await q.insert(workloads).values(row).onConflictDoNothing().returning()),
    get: async (slug) => first(await q.select().from(workloads).where(eq(workloads.slug, slug))),
    list: () => q.select().from(workloads).orderBy(asc(workloads.slug)),
    update: async (slug, set) =>
      first<WorkloadRow>(
        await q.update(workloads).set(set).where(eq(workloads.slug, slug)).returning(),
      ),
    /** The check and the deletes are one transaction; a claim that comes between finds no workload to claim for. */
    delete: async (workload_id, force) => {
      const claimed = sql`exists (select 1 from ${t.tasks} where ${t.tasks.workload_id} = ${workload_id} and ${t.tasks.state} = 1)`;
      const gone = sql`not exists (select 1 from ${workloads} where ${workloads.workload_id} = ${workload_id})`;
      const of = (
        table:
          | typeof t.tasks
          | typeof t.workload_stats
          | typeof t.rate_windows
          | typeof t.supervised,
      ) => q.delete(table).where(sql`${table.workload_id} = ${workload_id} and ${gone}`);
      const [deleted] = await conn.atomic([
        q
          .delete(workloads)
          .where(
            force
              ? eq(workloads.workload_id, workload_id)
              : sql`${workloads.workload_id} = ${workload_id} and not ${claimed}`,
          )
          .returning({ workload_id: workloads.workload_id }),
        of(t.tasks),
        of(t.workload_stats),
        of(t.rate_windows),
        of(t.supervised),
      ]);
      return (deleted?.length ?? 0) > 0;
    },
  };
}
