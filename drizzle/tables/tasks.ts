import { sql } from "drizzle-orm";
import type { ColumnKit } from "../kit.pg.ts";

/** `tasks.state` as stored. On the wire `pending` is ready and delayed together (rules/pipeline-queue#states-of-a-task). */
export const TASK_STATE = { ready: 0, claimed: 1, failed: 2, delayed: 3 } as const;

/** Tasks that have not ended yet (rules/pipeline-queue#states-of-a-task). Times epoch ms. */
export function defineTaskTables(c: ColumnKit) {
  /**
   * The queue. A task leaves it when it succeeds or is cancelled; its runs stay. `epoch` is the fence: odd while claimed,
   * even otherwise, never reset. `attempt` is consumed at claim. `worker` is the incarnation that holds it.
   */
  const tasks = c.table(
    "tasks",
    {
      task_id: c.key("task_id"),
      workload_id: c.big("workload_id").notNull(),
      state: c.int("state").notNull(),
      priority: c.int("priority").notNull(),
      attempt: c.int("attempt").notNull().default(0),
      max_attempts: c.int("max_attempts").notNull(),
      /** Its bound is the workload's as it is now; `max_attempts` is what that was when the task came. */
      follows_workload: c.bool("follows_workload").notNull().default(false),
      crash_count: c.int("crash_count").notNull().default(0),
      epoch: c.big("epoch").notNull().default(0),
      worker: c.str("worker"),
      worker_id: c.str("worker_id"),
      claimed_at: c.time("claimed_at"),
      lease_until: c.time("lease_until"),
      deadline_at: c.time("deadline_at"),
      run_at: c.time("run_at").notNull(),
      pk: c.str("pk").notNull(),
      extra: c.json<unknown>("extra"),
      last_error: c.str("last_error"),
      /** Of the failure of its last attempt (rules/failures#fingerprints), beside `last_error`. */
      fingerprint: c.str("fingerprint"),
      created_at: c.time("created_at").notNull(),
    },
    (t) => [
      c.uniqueIndex("tasks_pk_idx").on(t.workload_id, t.pk),
      c
        .index("tasks_ready_idx")
        .on(t.workload_id, sql`${t.priority} desc`, t.task_id)
        .where(sql`state = 0`),
      c.index("tasks_lease_idx").on(t.lease_until).where(sql`state = 1`),
      c.index("tasks_due_idx").on(t.run_at).where(sql`state = 3`),
      c.index("tasks_delayed_idx").on(t.workload_id, t.task_id).where(sql`state = 3`),
      c.index("tasks_failed_idx").on(t.workload_id, t.task_id).where(sql`state = 2`),
      // Tasks that never failed pay nothing for it.
      c
        .index("tasks_fingerprint_idx")
        .on(t.fingerprint, t.task_id)
        .where(sql`fingerprint is not null`),
    ],
  );

  return { tasks };
}
