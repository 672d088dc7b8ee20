import { and, eq, lte, ne } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { ScheduleRow, SchedulesRepo } from "./view-types.ts";

export function schedulesRepo({ q, t: { schedules } }: Conn): SchedulesRepo {
  const tickOf = ({ workload_id, spec, next_at }: ScheduleRow) =>
    and(
      eq(schedules.workload_id, workload_id),
      eq(schedules.spec, spec),
      eq(schedules.next_at, next_at),
    );
  return {
    list: () => q.select().from(schedules),
    begin: async (row) => {
      await q
        .insert(schedules)
        .values(row)
        .onConflictDoUpdate({
          target: schedules.workload_id,
          set: { spec: row.spec, next_at: row.next_at, taken_until: 0 },
          setWhere: ne(schedules.spec, row.spec),
        });
    },
    take: async (row, now, until) => {
      const taken = await q
        .update(schedules)
        .set({ taken_until: until })
        .where(and(tickOf(row), lte(schedules.taken_until, now)))
        .returning({ workload_id: schedules.workload_id });
      return taken.length > 0;
    },
    advance: async (row, to) => {
      await q.update(schedules).set({ next_at: to, taken_until: 0 }).where(tickOf(row));
    },
    leave: async (row) => {
      await q.update(schedules).set({ taken_until: 0 }).where(tickOf(row));
    },
  };
}
