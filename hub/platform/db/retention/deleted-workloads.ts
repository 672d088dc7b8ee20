import { and, asc, eq, gt, lte, sql } from "drizzle-orm";
import type { Conn } from "../conn.ts";
import type { RetentionRepo } from "../view-types.ts";
import { among } from "./pieces.ts";

const gone = (workload_id: number) =>
  sql`not exists (select 1 from workloads w where w.workload_id = ${workload_id})`;

/** Rows that a deleted workload leaves behind. */
export function deletedWorkloads({
  q,
  t,
  atomic,
}: Conn): Pick<RetentionRepo, "deletedWorkloads" | "purgeTasks" | "purgeKeys" | "purgeRest"> {
  const { tasks, once_keys, workloads, workload_stats, workload_versions, schedules } = t;
  return {
    // Every workload that ever had a task has counters; they are deleted last, so an interrupted purge is found again.
    deletedWorkloads: async () => {
      const left = (table: typeof workload_stats | typeof schedules | typeof workload_versions) =>
        q
          .select({ workload_id: table.workload_id })
          .from(table)
          .leftJoin(workloads, eq(workloads.workload_id, table.workload_id))
          .where(sql`${workloads.workload_id} is null`);
      const rows = [
        ...(await left(workload_stats)),
        ...(await left(schedules)),
        ...(await left(workload_versions)),
      ];
      return [...new Set(rows.map((row) => row.workload_id))];
    },
    purgeTasks: async (workload_id, after, limit) => {
      const rows = await q
        .select({ task_id: tasks.task_id, pk: tasks.pk })
        .from(tasks)
        .where(and(eq(tasks.workload_id, workload_id), gt(tasks.pk, after)))
        .orderBy(asc(tasks.pk))
        .limit(limit);
      if (rows.length === 0) return null;
      const ids = rows.map((row) => row.task_id);
      await q.delete(tasks).where(and(among(tasks.task_id, ids), gone(workload_id)));
      return rows.at(-1)?.pk ?? null;
    },
    purgeKeys: async (workload_id, after, limit) => {
      const of = and(eq(once_keys.workload_id, workload_id), gt(once_keys.pk, after));
      const rows = await q
        .select({ pk: once_keys.pk })
        .from(once_keys)
        .where(of)
        .orderBy(asc(once_keys.pk))
        .limit(limit);
      const last = rows.at(-1)?.pk ?? null;
      if (last !== null)
        await q.delete(once_keys).where(and(of, lte(once_keys.pk, last), gone(workload_id)));
      return last;
    },
    purgeRest: async (workload_id) => {
      const of = (
        table:
          | typeof workload_stats
          | typeof schedules
          | typeof workload_versions
          | typeof t.rate_claims
          | typeof t.supervised,
      ) => q.delete(table).where(and(eq(table.workload_id, workload_id), gone(workload_id)));
      await atomic([
        of(t.rate_claims),
        of(t.supervised),
        of(workload_versions),
        of(schedules),
        of(workload_stats),
      ]);
    },
  };
}
