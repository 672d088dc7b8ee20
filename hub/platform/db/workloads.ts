import { and, asc, eq, inArray, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import { first } from "./first.ts";
import { laterThan } from "./not-before.ts";
import type { WorkloadsRepo } from "./pipeline-types.ts";
import type { WorkloadRow } from "./rows.ts";

export function workloadsRepo({ q, t }: Conn): WorkloadsRepo {
  const { workloads } = t;
  return {
    insert: async (row) =>
      first(await q.insert(workloads).values(row).onConflictDoNothing().returning()),
    get: async (slug) => first(await q.select().from(workloads).where(eq(workloads.slug, slug))),
    list: () => q.select().from(workloads).orderBy(asc(workloads.slug)),
    update: async (slug, { updated_at, ...set }, versions) => {
      const risen =
        updated_at === undefined ? {} : { updated_at: laterThan(workloads.updated_at, updated_at) };
      const expected = versions && inArray(workloads.updated_at, [...versions]);
      return first<WorkloadRow>(
        await q
          .update(workloads)
          .set({ ...set, ...risen })
          .where(and(eq(workloads.slug, slug), expected))
          .returning(),
      );
    },
    // One statement decides; a later claim finds no workload. It uses the counters, because finding a claimed task
    // among a million ready ones takes as long as reading them all.
    delete: async (workload_id, force) => {
      const { workload_stats } = t;
      const claimed = sql`coalesce((select sum(${workload_stats.claimed}) from ${workload_stats} where ${workload_stats.workload_id} = ${workload_id}), 0)`;
      const deleted = await q
        .delete(workloads)
        .where(
          force
            ? eq(workloads.workload_id, workload_id)
            : sql`${workloads.workload_id} = ${workload_id} and ${claimed} <= 0`,
        )
        .returning({ workload_id: workloads.workload_id });
      return deleted.length > 0;
    },
  };
}
