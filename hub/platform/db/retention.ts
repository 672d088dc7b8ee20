import {
  and,
  asc,
  between,
  type Column,
  eq,
  gt,
  inArray,
  lte,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import type { Conn } from "./conn.ts";
import { ofWorkload } from "./runs.ts";
import type { RetentionRepo } from "./view-types.ts";

const HOUR_MS = 3_600_000;
/** Pairs of one statement: SQLite takes expressions of 1,000 levels. */
const NAMED = 200;

/** Named one by one and by their range: without statistics a thousand names alone look like a reason to read the table. */
const among = (column: Column, ids: number[]): SQL | undefined =>
  and(inArray(column, ids), between(column, Math.min(...ids), Math.max(...ids)));

/**
 * Deletes in small pieces. Ids are read first and then named one by one: a subquery in their place may be planned as a
 * scan of the whole table while that has no statistics. Each piece begins after the one before, past its dead rows.
 */
export function retentionRepo(conn: Conn): RetentionRepo {
  const { q, t, atomic } = conn;
  const { runs, run_logs, run_notes, tasks, workloads, workload_stats, schedules } = t;
  const attempt = { run_id: runs.run_id, task_id: runs.task_id, epoch: runs.epoch };
  type Attempt = { run_id: number; task_id: number; epoch: number };
  const deleteRuns = async (old: readonly Attempt[]): Promise<number> => {
    if (old.length === 0) return 0;
    const ids = old.map((row) => row.run_id);
    await deleteNotes(old);
    const [, deleted] = await atomic([
      q.delete(run_logs).where(among(run_logs.run_id, ids)),
      q.delete(runs).where(among(runs.run_id, ids)).returning({ run_id: runs.run_id }),
    ]);
    return deleted?.length ?? 0;
  };
  /** Few tasks have any; an attempt of the same task that is kept keeps its own. */
  const deleteNotes = async (old: readonly Attempt[]): Promise<void> => {
    const gone = new Set(old.map(({ task_id, epoch }) => `${task_id}:${epoch}`));
    const { task_id, epoch } = run_notes;
    const found = await q
      .select({ task_id, epoch })
      .from(run_notes)
      .where(among(task_id, [...new Set(old.map((row) => row.task_id))]));
    const theirs = found.filter((row) => gone.has(`${row.task_id}:${row.epoch}`));
    for (let at = 0; at < theirs.length; at += NAMED) {
      const some = theirs.slice(at, at + NAMED);
      const pairs = some.map((row) => and(eq(task_id, row.task_id), eq(epoch, row.epoch)));
      await q.delete(run_notes).where(or(...pairs));
    }
  };
  const gone = (workload_id: number) =>
    sql`not exists (select 1 from workloads w where w.workload_id = ${workload_id})`;
  const pruneTable = async (
    table: typeof t.rate_minutes | typeof t.gpu_minutes,
    before: number,
  ) => {
    const [oldest] = await q
      .select({ minute: table.minute })
      .from(table)
      .orderBy(asc(table.minute))
      .limit(1);
    if (!oldest || oldest.minute >= before) return 0;
    const rows = await q
      .delete(table)
      .where(sql`${table.minute} < ${Math.min(before, oldest.minute + HOUR_MS)}`)
      .returning({ minute: table.minute });
    return rows.length;
  };

  return {
    expireRuns: async ({ after, finished_before, limit }) => {
      const rows = await q
        .select({ ...attempt, finished_at: runs.finished_at })
        .from(runs)
        .where(gt(runs.run_id, after))
        .orderBy(asc(runs.run_id))
        .limit(limit);
      const old = rows.filter((row) => row.finished_at < finished_before);
      const deleted = await deleteRuns(old);
      return { deleted, last: rows.at(-1)?.run_id ?? after };
    },
    firstBeyond: async (workload_id, keep) => {
      const [row] = await q
        .select({ run_id: runs.run_id })
        .from(runs)
        .where(ofWorkload(conn, workload_id).where)
        .orderBy(...ofWorkload(conn, workload_id).newest)
        .limit(1)
        .offset(keep);
      return row?.run_id ?? null;
    },
    trimRuns: async ({ workload_id, after, upto, limit }) => {
      const rows = await q
        .select(attempt)
        .from(runs)
        .where(
          and(ofWorkload(conn, workload_id).where, gt(runs.run_id, after), lte(runs.run_id, upto)),
        )
        .orderBy(...ofWorkload(conn, workload_id).oldest)
        .limit(limit);
      const deleted = await deleteRuns(rows);
      return { deleted, last: rows.at(-1)?.run_id ?? after };
    },
    pruneMinutes: async (before) =>
      (await pruneTable(t.rate_minutes, before)) + (await pruneTable(t.gpu_minutes, before)),
    // Every workload that ever had a task has counters; they go last, so that an interrupted purge is found again.
    deletedWorkloads: async () => {
      const left = (table: typeof workload_stats | typeof schedules) =>
        q
          .select({ workload_id: table.workload_id })
          .from(table)
          .leftJoin(workloads, eq(workloads.workload_id, table.workload_id))
          .where(sql`${workloads.workload_id} is null`);
      const rows = [...(await left(workload_stats)), ...(await left(schedules))];
      return [...new Set(rows.map((row) => row.workload_id))];
    },
    purgeTasks: async (workload_id, after, limit) => {
      const rows = await q
        .select({ task_id: tasks.task_id, pk: tasks.pk })
        .from(tasks)
        .where(and(eq(tasks.workload_id, workload_id), gt(tasks.pk, after)))
        .orderBy(asc(tasks.pk))
        .limit(limit);
      if (rows.length === 0) return null;
      const ids = rows.map((row) => row.task_id);
      await q.delete(tasks).where(and(among(tasks.task_id, ids), gone(workload_id)));
      return rows.at(-1)?.pk ?? null;
    },
    purgeRest: async (workload_id) => {
      const of = (
        table:
          | typeof workload_stats
          | typeof schedules
          | typeof t.rate_claims
          | typeof t.supervised,
      ) => q.delete(table).where(and(eq(table.workload_id, workload_id), gone(workload_id)));
      await atomic([of(t.rate_claims), of(t.supervised), of(schedules), of(workload_stats)]);
    },
  };
}
