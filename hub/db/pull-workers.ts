import { asc, eq, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { PullWorkerRow, PullWorkersRepo } from "./types.ts";

const first = <T>(rows: T[]): T | null => rows[0] ?? null;

export function pullWorkersRepo({ q, t: { pull_workers } }: Conn): PullWorkersRepo {
  return {
    // One statement decides: another live process of the same name keeps the row, and the newcomer gets null.
    register: async (row, dead_before) => {
      const { worker_id: _id, filter: _filter, ...set } = row;
      return first<PullWorkerRow>(
        await q
          .insert(pull_workers)
          .values(row)
          .onConflictDoUpdate({
            target: pull_workers.worker_id,
            set,
            setWhere: sql`${pull_workers.incarnation} = ${row.incarnation} or ${pull_workers.host} = ${row.host} or ${pull_workers.last_heartbeat_at} < ${dead_before}`,
          })
          .returning(),
      );
    },
    beat: async (worker_id, incarnation, set) =>
      first<PullWorkerRow>(
        await q
          .update(pull_workers)
          .set(set)
          .where(
            sql`${pull_workers.worker_id} = ${worker_id} and ${pull_workers.incarnation} = ${incarnation}`,
          )
          .returning(),
      ),
    setFilter: async (worker_id, filter) =>
      first<PullWorkerRow>(
        await q
          .update(pull_workers)
          .set({ filter })
          .where(eq(pull_workers.worker_id, worker_id))
          .returning(),
      ),
    forget: async ({ plain_before, filtered_before }) => {
      const { filter, last_heartbeat_at: heard } = pull_workers;
      const rows = await q
        .delete(pull_workers)
        .where(
          sql`${heard} < ${filtered_before} or (${filter} is null and ${heard} < ${plain_before})`,
        )
        .returning({ worker_id: pull_workers.worker_id });
      return rows.map((row) => row.worker_id);
    },
    get: async (worker_id) =>
      first(await q.select().from(pull_workers).where(eq(pull_workers.worker_id, worker_id))),
    list: () => q.select().from(pull_workers).orderBy(asc(pull_workers.worker_id)),
  };
}
