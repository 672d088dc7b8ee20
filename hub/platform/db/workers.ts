import { asc, eq, inArray } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { WorkersRepo } from "./fleet-types.ts";

export function workersRepo({ q, t: { workers } }: Conn): WorkersRepo {
  return {
    seen: async (row) => {
      const { worker_id, ...fresh } = row;
      const [stored] = await q
        .insert(workers)
        .values({ ...row, status: "active", first_seen_at: row.last_seen_at })
        .onConflictDoUpdate({ target: workers.worker_id, set: fresh })
        .returning();
      if (!stored) throw new Error(`worker ${worker_id} was neither inserted nor updated`);
      return stored;
    },
    touch: async (worker_ids, now) => {
      if (worker_ids.length === 0) return;
      await q
        .update(workers)
        .set({ last_seen_at: now })
        .where(inArray(workers.worker_id, worker_ids));
    },
    setStatus: async (worker_id, status) => {
      const [row] = await q
        .update(workers)
        .set({ status })
        .where(eq(workers.worker_id, worker_id))
        .returning();
      return row ?? null;
    },
    get: async (worker_id) => {
      const [row] = await q.select().from(workers).where(eq(workers.worker_id, worker_id));
      return row ?? null;
    },
    list: async () => q.select().from(workers).orderBy(asc(workers.worker_id)),
    delete: async (worker_id) => {
      const gone = await q
        .delete(workers)
        .where(eq(workers.worker_id, worker_id))
        .returning({ worker_id: workers.worker_id });
      return gone.length > 0;
    },
  };
}
