import { and, eq, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import { first } from "./first.ts";
import type { WorkerRestartsRepo } from "./pipeline-types.ts";
import type { WorkerRestartRow } from "./rows.ts";

const HOUR_MS = 3_600_000;

export function workerRestartsRepo({ q, t: { worker_restarts: r } }: Conn): WorkerRestartsRepo {
  return {
    // One statement decides which process restarts the worker, and counts the restart against the hour.
    begin: async (worker_id, { now, busy_until, limit, idle_since }) => {
      const over = sql`${r.window_at} <= ${now - HOUR_MS}`;
      const allowed = [
        sql`(${r.busy_until} is null or ${r.busy_until} <= ${now})`,
        ...(limit === null ? [] : [sql`(${over} or ${r.used} < ${limit})`]),
        ...(idle_since === null ? [] : [sql`${r.last_at} <= ${idle_since}`]),
      ];
      return first<WorkerRestartRow>(
        await q
          .insert(r)
          .values({ worker_id, window_at: now, used: 1, busy_until, last_at: now })
          .onConflictDoUpdate({
            target: r.worker_id,
            set: {
              window_at: sql`case when ${over} then ${now} else ${r.window_at} end`,
              used: sql`case when ${over} then 1 else ${r.used} + 1 end`,
              busy_until,
              last_at: now,
              exit_code: null,
              error: null,
            },
            setWhere: and(...allowed),
          })
          .returning(),
      );
    },
    end: async (worker_id, busy_until, { exit_code, error }) => {
      await q
        .update(r)
        .set({ busy_until: null, exit_code, error })
        .where(and(eq(r.worker_id, worker_id), eq(r.busy_until, busy_until)));
    },
    get: async (worker_id) => first(await q.select().from(r).where(eq(r.worker_id, worker_id))),
  };
}
