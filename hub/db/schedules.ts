import { and, eq, ne } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { SchedulesRepo } from "./view-types.ts";

export function schedulesRepo({ q, t: { schedules } }: Conn): SchedulesRepo {
  return {
    list: () => q.select().from(schedules),
    begin: async (row) => {
      await q
        .insert(schedules)
        .values(row)
        .onConflictDoUpdate({
          target: schedules.workload_id,
          set: { spec: row.spec, next_at: row.next_at },
          setWhere: ne(schedules.spec, row.spec),
        });
    },
    advance: async ({ workload_id, spec, next_at }, to) => {
      const moved = await q
        .update(schedules)
        .set({ next_at: to })
        .where(
          and(
            eq(schedules.workload_id, workload_id),
            eq(schedules.spec, spec),
            eq(schedules.next_at, next_at),
          ),
        )
        .returning({ workload_id: schedules.workload_id });
      return moved.length > 0;
    },
  };
}
