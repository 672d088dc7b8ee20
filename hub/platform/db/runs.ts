import { and, asc, desc, eq, getTableColumns, gte, lt, type SQL, sql } from "drizzle-orm";
import { UNKNOWN } from "../failures/fingerprint.ts";
import type { Conn } from "./conn.ts";
import type { RunsRepo } from "./pipeline-types.ts";
import type { RunRow } from "./rows.ts";
import { hasLabel } from "./task-labels.ts";
import { taskStates } from "./task-states.ts";
import { walkBack } from "./triage/walk.ts";

/**
 * Runs of one workload, and their order. On Postgres this is a range with the workload in the order, because it
 * otherwise may walk all runs backwards until it has met enough of this workload's, which is endless for one that was
 * idle while others ran. SQLite seeks to a run_id only below one value: a page half a million runs down took 0.4 s with
 * the range and takes 0.05 s this way.
 */
export const ofWorkload = ({ dialect, t: { runs } }: Conn, workload_id: number) => ({
  where:
    dialect === "sqlite"
      ? eq(runs.workload_id, workload_id)
      : sql`${runs.workload_id} between ${workload_id} and ${workload_id}`,
  newest: [desc(runs.workload_id), desc(runs.run_id)],
  oldest: [asc(runs.workload_id), asc(runs.run_id)],
});

/** Runs with the name of their workload and, unless `brief`, their output and streams. */
export async function selectRuns(
  { q, t: { runs, run_logs, run_notes, workloads } }: Conn,
  where: SQL | undefined,
  order: SQL[],
  limit: number,
  brief = false,
): Promise<RunRow[]> {
  if (brief) {
    const { output: _output, ...columns } = getTableColumns(runs);
    const rows = await q
      .select({ run: columns, slug: workloads.slug })
      .from(runs)
      .leftJoin(workloads, eq(workloads.workload_id, runs.workload_id))
      .where(where)
      .orderBy(...order)
      .limit(limit);
    const nothing = { output: null, stdout: "", stderr: "", notes: null };
    return rows.map(({ run, slug }) => ({ ...run, slug, ...nothing }));
  }
  const { seq: _seq, updated_at: _updated_at, ...notes } = getTableColumns(run_notes);
  const rows = await q
    .select({
      run: runs,
      slug: workloads.slug,
      stdout: run_logs.stdout,
      stderr: run_logs.stderr,
      notes,
    })
    .from(runs)
    .leftJoin(workloads, eq(workloads.workload_id, runs.workload_id))
    .leftJoin(run_logs, eq(run_logs.run_id, runs.run_id))
    .leftJoin(run_notes, and(eq(run_notes.task_id, runs.task_id), eq(run_notes.epoch, runs.epoch)))
    .where(where)
    .orderBy(...order)
    .limit(limit);
  return rows.map(({ run, slug, stdout, stderr, notes: said }) => ({
    ...run,
    slug,
    stdout: stdout ?? "",
    stderr: stderr ?? "",
    notes: said,
  }));
}

const given = <T>(value: T | undefined, condition: (value: T) => SQL): SQL | undefined =>
  value === undefined ? undefined : condition(value);

export function runsRepo(conn: Conn): RunsRepo {
  const { runs, tasks } = conn.t;
  const newest = [desc(runs.run_id)];
  return {
    list: ({ workload_id, from, limit, brief, ...filter }) => {
      const of = workload_id === undefined ? null : ofWorkload(conn, workload_id);
      // Within bounds of run_id the workload is one value, so SQLite seeks to the bounds as well.
      const bounded = from !== undefined;
      const alike =
        bounded || of !== null || filter.fingerprint === undefined || filter.fingerprint === UNKNOWN
          ? null
          : walkBack(conn, runs.fingerprint, filter.fingerprint, runs.run_id, filter.before);
      return selectRuns(
        conn,
        and(
          bounded ? given(workload_id, (id) => eq(runs.workload_id, id)) : of?.where,
          alike?.where,
          given(filter.before, (id) => lt(runs.run_id, id)),
          given(from, (id) => gte(runs.run_id, id)),
          given(filter.success, (is) =>
            is ? sql`${runs.outcome} = 0` : sql`${runs.outcome} <> 0`,
          ),
          given(filter.pk, (pk) => eq(runs.pk, pk)),
          given(filter.outcome, (code) => eq(runs.outcome, code)),
          given(filter.worker_id, (id) => eq(runs.worker_id, id)),
          given(filter.fingerprint, (one) =>
            one === UNKNOWN
              ? sql`outcome not in (0, 5) and ${runs.fingerprint} is null`
              : eq(runs.fingerprint, one),
          ),
          ...(filter.label ?? []).map((label) => hasLabel(conn, runs.task_id, label)),
          given(filter.since, (at) => gte(runs.finished_at, at)),
          given(filter.until, (at) => lt(runs.finished_at, at)),
        ),
        (bounded ? null : (of?.newest ?? alike?.order)) ?? newest,
        limit,
        brief,
      );
    },
    get: async (run_id) => (await selectRuns(conn, eq(runs.run_id, run_id), newest, 1))[0] ?? null,
    at: async (run_id) =>
      (
        await conn.q
          .select({ run_id: runs.run_id, finished_at: runs.finished_at })
          .from(runs)
          .where(gte(runs.run_id, run_id))
          .orderBy(asc(runs.run_id))
          .limit(1)
      )[0] ?? null,
    newest: async () =>
      (
        await conn.q.select({ run_id: runs.run_id }).from(runs).orderBy(desc(runs.run_id)).limit(1)
      )[0]?.run_id ?? null,
    ofTask: (task_id, limit) =>
      selectRuns(conn, eq(runs.task_id, task_id), [desc(runs.epoch)], limit, true),
    taskStates: taskStates(conn),
    task: async (workload_id, pk) =>
      (
        await conn.q
          .select()
          .from(tasks)
          .where(and(eq(tasks.workload_id, workload_id), eq(tasks.pk, pk)))
      )[0] ?? null,
  };
}
