import { and, asc, type Column, eq, gt, inArray, type SQL, sql } from "drizzle-orm";
import type { LabelFilter } from "#shared/protocol/label-text.ts";
import type { Labels } from "#shared/protocol/schema/labels.ts";
import type { Conn } from "./conn.ts";
import type { TaskLabelsRepo } from "./pipeline-types.ts";
import { among } from "./retention/pieces.ts";

/** Bound values of one statement. */
const PIECE = 1_000;

const is = ({ t: { task_labels: l } }: Conn, { key, value }: LabelFilter): SQL | undefined =>
  and(eq(l.key, key), value === null ? undefined : eq(l.value, value));

/** Whether the task has the label. */
export const hasLabel = (conn: Conn, task_id: Column, label: LabelFilter): SQL => {
  const l = conn.t.task_labels;
  return sql`exists (select 1 from ${l} where ${and(eq(l.task_id, task_id), is(conn, label))})`;
};

const labelsOf = ({ q, t: { task_labels: l } }: Conn): TaskLabelsRepo["of"] => {
  return async (task_ids) => {
    const found = new Map<number, Labels>();
    const ids = [...new Set(task_ids)];
    for (let at = 0; at < ids.length; at += PIECE) {
      const rows = await q
        .select()
        .from(l)
        .where(inArray(l.task_id, ids.slice(at, at + PIECE)))
        .orderBy(asc(l.task_id), asc(l.key));
      for (const { task_id, key, value } of rows)
        found.set(
          task_id,
          Object.fromEntries([...Object.entries(found.get(task_id) ?? {}), [key, value]]),
        );
    }
    return found;
  };
};

const labelledTasks = (conn: Conn): TaskLabelsRepo["tasks"] => {
  const {
    q,
    t: { tasks, task_labels: l },
  } = conn;
  return async ({ workload_id, label: [first, ...others], states, after, offset, limit }) => {
    if (!first) return [];
    const rows = await q
      .select({ task: tasks })
      .from(l)
      .innerJoin(tasks, eq(tasks.task_id, l.task_id))
      .where(
        and(
          is(conn, first),
          gt(l.task_id, after),
          eq(tasks.workload_id, workload_id),
          inArray(tasks.state, [...states]),
          ...others.map((label) => hasLabel(conn, tasks.task_id, label)),
        ),
      )
      .orderBy(asc(l.task_id))
      .limit(limit)
      .offset(offset);
    return rows.map(({ task }) => task);
  };
};

const pruneLabels = ({ q, t: { tasks, runs, task_labels: l } }: Conn): TaskLabelsRepo["prune"] => {
  return async (after, limit) => {
    const rows = await q
      .selectDistinct({ task_id: l.task_id })
      .from(l)
      .where(gt(l.task_id, after))
      .orderBy(asc(l.task_id))
      .limit(limit);
    const last = rows.at(-1)?.task_id ?? null;
    if (last === null) return { deleted: 0, last };
    const ids = rows.map(({ task_id }) => task_id);
    const gone = await q
      .delete(l)
      .where(
        and(
          among(l.task_id, ids),
          sql`not exists (select 1 from ${tasks} where ${eq(tasks.task_id, l.task_id)})`,
          sql`not exists (select 1 from ${runs} where ${eq(runs.task_id, l.task_id)})`,
        ),
      )
      .returning({ task_id: l.task_id });
    return { deleted: gone.length, last };
  };
};

export const taskLabelsRepo = (conn: Conn): TaskLabelsRepo => ({
  of: labelsOf(conn),
  tasks: labelledTasks(conn),
  prune: pruneLabels(conn),
});
