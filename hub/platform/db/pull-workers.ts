import { and, asc, eq, inArray, or, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import { first } from "./first.ts";
import type { PullWorkersRepo } from "./pipeline-types.ts";
import type { PullWorkerRow } from "./rows.ts";

/** Incarnation of a worker whose process has said goodbye. */
const GONE = "";

export function pullWorkersRepo({ q, t: { pull_workers } }: Conn): PullWorkersRepo {
  return {
    // One statement decides: another process of the same name that is not known to be dead keeps the row, and the newcomer
    // gets null.
    register: async (row, { replaces, dead }) => {
      const { incarnation, last_heartbeat_at: heard } = pull_workers;
      const { worker_id: _id, filter: _filter, ...set } = row;
      return first<PullWorkerRow>(
        await q
          .insert(pull_workers)
          .values(row)
          .onConflictDoUpdate({
            target: pull_workers.worker_id,
            set,
            setWhere: or(
              inArray(incarnation, [row.incarnation, replaces ?? GONE, GONE]),
              dead
                ? and(eq(incarnation, dead.incarnation), eq(heard, dead.last_heartbeat_at))
                : undefined,
            ),
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
    leave: async (worker_id, incarnation) =>
      (
        await q
          .update(pull_workers)
          .set({ incarnation: GONE, draining: true, in_flight: 0 })
          .where(
            sql`${pull_workers.worker_id} = ${worker_id} and ${pull_workers.incarnation} = ${incarnation}`,
          )
          .returning({ worker_id: pull_workers.worker_id })
      ).length === 1,
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
