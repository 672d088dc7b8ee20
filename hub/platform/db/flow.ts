import { and, asc, between, desc, eq, inArray, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { FlowRepo } from "./view-types.ts";

const END_OF_TIME = Number.MAX_SAFE_INTEGER;

export function flowRepo({ q, t: { rate_minutes, flow_positions } }: Conn): FlowRepo {
  const { minute, workload_id, metric, n } = rate_minutes;
  return {
    rates: (filter) =>
      q
        .select({ minute, workload_id, metric, n: sql`sum(${n})`.mapWith(Number) })
        .from(rate_minutes)
        .where(
          and(
            // Both ends are given: with only one, and without statistics, the planner expects a third of the table and
            // reads all of it.
            between(minute, filter.since, END_OF_TIME),
            filter.workload_id === undefined ? undefined : eq(workload_id, filter.workload_id),
            filter.metric === undefined ? undefined : eq(metric, filter.metric),
          ),
        )
        .groupBy(minute, workload_id, metric)
        .orderBy(asc(minute)),
    count: async (point) => {
      await q
        .insert(rate_minutes)
        .values(point)
        .onConflictDoUpdate({
          target: [minute, workload_id, metric, rate_minutes.node],
          set: { n: sql`${n} + ${point.n}` },
        });
    },
    positions: () => q.select().from(flow_positions),
    savePositions: async (rows, max) => {
      if (rows.length === 0) return;
      await q
        .insert(flow_positions)
        .values(rows)
        .onConflictDoUpdate({
          target: flow_positions.node_id,
          set: { x: sql`excluded.x`, y: sql`excluded.y`, updated_at: sql`excluded.updated_at` },
        });
      const oldest = q
        .select({ node_id: flow_positions.node_id })
        .from(flow_positions)
        .orderBy(desc(flow_positions.updated_at), asc(flow_positions.node_id))
        .limit(100_000)
        .offset(max);
      await q.delete(flow_positions).where(inArray(flow_positions.node_id, oldest));
    },
    forgetPositions: async () => {
      await q.delete(flow_positions);
    },
  };
}
