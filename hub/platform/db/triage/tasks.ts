import { and, eq, inArray, isNull, ne, type SQL, sql } from "drizzle-orm";
import { TASK_STATE } from "#drizzle/tables/tasks.ts";
import type { Conn } from "../conn.ts";
import { has } from "../like.ts";
import type { TaskFilter, TaskPlace, TriageRepo } from "./triage-repo.ts";
import { walk } from "./walk.ts";

type Tasks = Conn["t"]["tasks"];

/**
 * Its last attempt failed there and then: the run of the epoch before, which giving it back ended. With `exists` Postgres
 * may read all runs at once.
 */
function lastFailure({ runs, tasks }: Conn["t"], filter: TaskFilter): SQL | undefined {
  const { worker_id, since, until } = filter;
  if (worker_id === undefined && since === undefined && until === undefined) return undefined;
  return sql`(select 1 from ${runs} where ${and(
    sql`${runs.task_id} = ${tasks}.task_id and ${runs.epoch} = ${tasks}.epoch - 1`,
    worker_id === undefined ? undefined : eq(runs.worker_id, worker_id),
    since === undefined ? undefined : sql`${runs.finished_at} >= ${since}`,
    until === undefined ? undefined : sql`${runs.finished_at} < ${until}`,
  )} limit 1) is not null`;
}

/** What no index serves: it is asked of each task that the walk meets. */
function matches({ t }: Conn, filter: TaskFilter): SQL {
  const { tasks } = t;
  const { workload_id, states, fingerprint, text, except } = filter;
  const all = and(
    inArray(tasks.state, [...states]),
    workload_id === null ? undefined : eq(tasks.workload_id, workload_id),
    except === undefined ? undefined : ne(tasks.workload_id, except),
    fingerprint === undefined
      ? undefined
      : fingerprint === null
        ? isNull(tasks.fingerprint)
        : eq(tasks.fingerprint, fingerprint),
    text === undefined
      ? undefined
      : sql`(${has(tasks.pk, text)} or ${has(tasks.last_error, text)})`,
    lastFailure(t, filter),
  );
  return sql`case when ${all} then 1 else 0 end`;
}

/**
 * The way to the tasks: by their fingerprint, by failed ones of a workload, or all of a workload by their keys. Each step
 * reads a bounded number of rows, whether they match or not.
 */
function way(conn: Conn, tasks: Tasks, filter: TaskFilter, after: TaskPlace | null) {
  const { workload_id, fingerprint, states } = filter;
  if (fingerprint)
    return walk(conn, tasks.fingerprint, fingerprint, tasks.task_id, after?.task_id ?? null);
  const id = workload_id ?? 0;
  if (states.length === 1 && states[0] === TASK_STATE.failed) {
    const { where, order } = walk(
      conn,
      tasks.workload_id,
      id,
      tasks.task_id,
      after?.task_id ?? null,
    );
    return { where: sql`${where} and state = 2`, order };
  }
  return walk(conn, tasks.workload_id, id, tasks.pk, after?.pk ?? null);
}

export function foundTasks(conn: Conn): Pick<TriageRepo, "findTasks" | "countTasks"> {
  const {
    q,
    t: { tasks },
  } = conn;
  const { task_id, epoch, workload_id, pk, state } = tasks;
  const pieceOf = (filter: TaskFilter, after: TaskPlace | null, limit: number) => {
    const { where, order } = way(conn, tasks, filter, after);
    const hit = sql<number>`${matches(conn, filter)}`.mapWith(Number).as("hit");
    return q
      .select({ task_id, epoch, workload_id, pk, state, hit })
      .from(tasks)
      .where(where)
      .orderBy(...order)
      .limit(limit);
  };
  return {
    findTasks: async (filter, after, limit) => {
      const rows = await pieceOf(filter, after, limit);
      const last = rows.length < limit ? undefined : rows.at(-1);
      return {
        found: rows.flatMap(({ hit, ...task }) => (hit === 1 ? [task] : [])),
        last: last === undefined ? null : { task_id: last.task_id, pk: last.pk },
      };
    },
    countTasks: async (filter, after, limit) => {
      const piece = pieceOf(filter, after, limit).as("piece");
      const [row] = await q
        .select({
          seen: sql`count(*)`.mapWith(Number),
          n: sql`coalesce(sum(${piece.hit}), 0)`.mapWith(Number),
          task_id: sql`max(${piece.task_id})`.mapWith(Number),
          pk: sql<string | null>`max(${piece.pk})`,
        })
        .from(piece);
      const whole = row !== undefined && row.seen === limit && row.pk !== null;
      return { n: row?.n ?? 0, last: whole ? { task_id: row.task_id, pk: row.pk ?? "" } : null };
    },
  };
}
