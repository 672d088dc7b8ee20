import { and, desc, eq, lt, lte } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import { first } from "./first.ts";
import type { WorkloadVersionsRepo } from "./pipeline-types.ts";

export function workloadVersionsRepo({ q, t }: Conn): WorkloadVersionsRepo {
  const { workload_versions: v } = t;
  const brief = {
    workload_id: v.workload_id,
    version: v.version,
    executor_type: v.executor_type,
    sha256: v.sha256,
    bytes: v.bytes,
    note: v.note,
    created_by: v.created_by,
    restored_from: v.restored_from,
    created_at: v.created_at,
  };
  return {
    list: (workload_id, { before, limit }) =>
      q
        .select(brief)
        .from(v)
        .where(
          and(eq(v.workload_id, workload_id), before === null ? undefined : lt(v.version, before)),
        )
        .orderBy(desc(v.version))
        .limit(limit),
    get: async (workload_id, version) =>
      first(
        await q
          .select()
          .from(v)
          .where(and(eq(v.workload_id, workload_id), eq(v.version, version))),
      ),
    prune: async (workload_id, up_to) => {
      await q.delete(v).where(and(eq(v.workload_id, workload_id), lte(v.version, up_to)));
    },
  };
}
