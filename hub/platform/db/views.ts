import { and, desc, eq, gt, isNotNull, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import { selectRuns } from "./runs.ts";
import type { ViewsRepo } from "./view-types.ts";

/**
 * Reads for the dashboard and the flow graph. None counts a table: each is a bounded number of index probes per workload
 * or per claimed task (test/contract/pipeline-plans.test.ts).
 */
export const viewsRepo = (conn: Conn): ViewsRepo => ({
  ...viewsOfTasks(conn),
  ...viewsOfRuns(conn),
});

const count = sql`count(*)`.mapWith(Number);

function viewsOfTasks({
  q,
  t: { tasks, workloads },
}: Conn): Pick<ViewsRepo, "claimed" | "leases" | "oldestReady"> {
  // In a query of one table, Drizzle leaves the table out of a column's name; here every name has its table.
  const oldest = sql`(select min(created_at) from tasks where task_id in (
    (select task_id from tasks r where r.workload_id = workloads.workload_id and r.state = 0
      order by r.priority desc, r.task_id limit 1),
    (select task_id from tasks r where r.workload_id = workloads.workload_id and r.state = 0
      and r.priority = (select p.priority from tasks p where p.workload_id = workloads.workload_id and p.state = 0
        order by p.priority asc, p.task_id desc limit 1)
      order by r.task_id limit 1)))`;
  return {
    // `lease_until > 0` holds for every claimed task; it leads to the index of leases.
    claimed: () =>
      q
        .select({ workload_id: tasks.workload_id, worker_id: tasks.worker_id, n: count })
        .from(tasks)
        .where(sql`state = 1 and lease_until > 0`)
        .groupBy(tasks.workload_id, tasks.worker_id),
    leases: (worker_id, limit) =>
      q
        .select({
          task_id: tasks.task_id,
          workload_id: tasks.workload_id,
          pk: tasks.pk,
          epoch: tasks.epoch,
          attempt: tasks.attempt,
          claimed_at: tasks.claimed_at,
          lease_until: tasks.lease_until,
        })
        .from(tasks)
        .where(and(sql`state = 1 and lease_until > 0`, eq(tasks.worker_id, worker_id)))
        .orderBy(tasks.lease_until, tasks.task_id)
        .limit(limit),
    // Within a priority the smallest id is the oldest; of several priorities, the highest and the lowest are checked.
    oldestReady: async () => {
      const rows = await q
        .select({ workload_id: workloads.workload_id, created_at: sql<unknown>`${oldest}` })
        .from(workloads);
      return rows.flatMap(({ workload_id, created_at }) =>
        created_at === null ? [] : [{ workload_id, created_at: Number(created_at) }],
      );
    },
  };
}

function viewsOfRuns(conn: Conn): Pick<ViewsRepo, "failures" | "lastRuns" | "recentPairs"> {
  const {
    q,
    t: { workloads, runs },
  } = conn;
  return {
    failures: (finished_after, limit) =>
      selectRuns(
        conn,
        sql`runs.outcome <> 0 and ${gt(runs.finished_at, finished_after)}`,
        [desc(runs.finished_at), desc(runs.run_id)],
        limit,
        true,
      ),
    lastRuns: async (n) => {
      // As text, because a join with "the last n of each" cannot be written for both databases.
      const last = sql<
        string | null
      >`(select string_agg(cast(l.outcome as text), ',' order by l.run_id)
        from (select r.outcome, r.run_id from runs r
          where r.workload_id between workloads.workload_id and workloads.workload_id
          order by r.workload_id desc, r.run_id desc limit ${n}) l)`;
      const rows = await q.select({ workload_id: workloads.workload_id, last }).from(workloads);
      return rows.flatMap(({ workload_id, last: text }) =>
        text === null
          ? []
          : text.split(",").map((outcome) => ({ workload_id, outcome: Number(outcome) })),
      );
    },
    recentPairs: async (n, finished_after) => {
      const recent = q
        .select({
          workload_id: runs.workload_id,
          worker_id: runs.worker_id,
          finished_at: runs.finished_at,
        })
        .from(runs)
        .orderBy(desc(runs.run_id))
        .limit(n)
        .as("recent");
      const rows = await q
        .select({
          workload_id: recent.workload_id,
          worker_id: recent.worker_id,
          n: count,
          oldest: sql`min(${recent.finished_at})`.mapWith(Number),
        })
        .from(recent)
        .where(and(isNotNull(recent.worker_id), gt(recent.finished_at, finished_after)))
        .groupBy(recent.workload_id, recent.worker_id);
      return rows.map((row) => ({ ...row, worker_id: row.worker_id ?? "" }));
    },
  };
}
