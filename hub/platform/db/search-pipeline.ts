import { and, asc, desc, eq, gte, inArray, type SQL, sql } from "drizzle-orm";
import { cleanText } from "#drizzle/clean.ts";
import type { LabelFilter } from "#shared/protocol/label-text.ts";
import { amongFound } from "./among-found.ts";
import type { Conn } from "./conn.ts";
import { searchWords } from "./jobs/words-of-jobs.ts";
import { hasWords, startsWith } from "./search-conditions.ts";
import type { FoundRun, FoundTask, SearchRepo } from "./search-types.ts";

/** Rows that one search reads at most where no index knows what it looks for: the newest. */
const MOST_RUNS = 20_000;
const MOST_ERRORS = 2_000;
/** Of each end of an error: the message of a traceback is at its end, that of others at its beginning. */
const ERROR_ENDS = 400;
/** Keys in the order of the index that are judged in each workload, or among the failed runs. */
const MOST_KEYS = 50;
const MOST_WORKLOADS = 500;

const isLabel = ({ t: { task_labels: l } }: Conn, { key, value }: LabelFilter) =>
  and(eq(l.key, key), value === null || value === "" ? undefined : eq(l.value, value));

/** The newest tasks with a label, whether they are in the queue or have only runs. */
const labelled = async (
  conn: Conn,
  label: LabelFilter | null,
  limit: number,
): Promise<number[]> => {
  const l = conn.t.task_labels;
  if (label === null) return [];
  const rows = await conn.q
    .select({ task_id: l.task_id })
    .from(l)
    .where(isLabel(conn, label))
    .orderBy(desc(l.task_id))
    .limit(limit);
  return rows.map(({ task_id }) => task_id);
};

export const foundTasks = (conn: Conn): SearchRepo["tasks"] => {
  const {
    q,
    t: { tasks, workloads },
  } = conn;
  const fields = {
    slug: workloads.slug,
    pk: tasks.pk,
    state: tasks.state,
    created_at: tasks.created_at,
    last_error: tasks.last_error,
  };
  const found = (where: SQL | undefined, limit: number): Promise<FoundTask[]> =>
    q
      .select(fields)
      .from(tasks)
      .innerJoin(workloads, eq(workloads.workload_id, tasks.workload_id))
      .where(where)
      .orderBy(desc(tasks.task_id))
      .limit(limit);
  return async (text, label, limit) => {
    const labelled_ids = await labelled(conn, label, limit);
    const named =
      labelled_ids.length > 0 ? await found(inArray(tasks.task_id, labelled_ids), limit) : [];
    const key = cleanText(text);
    const ids = (
      await q.select({ id: workloads.workload_id }).from(workloads).limit(MOST_WORKLOADS)
    ).map(({ id }) => id);
    // What begins with the key comes first after it in the index of each workload, in any collation.
    const within = sql.join(
      ids.map(
        (id) =>
          sql`select task_id from (select task_id, pk from ${tasks} where workload_id = ${id} and pk >= ${key} order by workload_id, pk limit ${MOST_KEYS}) as t${sql.raw(String(id))} where ${startsWith(sql`pk`, key)}`,
      ),
      sql` union all `,
    );
    const keyed = ids.length > 0 ? await found(amongFound(conn, tasks.task_id, within), limit) : [];
    return [...named, ...keyed];
  };
};

const endsOf = ({ dialect, t: { runs } }: Conn): SQL =>
  dialect === "sqlite"
    ? sql`(substr(${runs.error}, 1, ${ERROR_ENDS}) || ' ' || substr(${runs.error}, -${sql.raw(String(ERROR_ENDS))}))`
    : sql`(left(${runs.error}, ${ERROR_ENDS}) || ' ' || right(${runs.error}, ${ERROR_ENDS}))`;

export const foundRuns = (conn: Conn): SearchRepo["runs"] => {
  const {
    q,
    t: { runs, workloads },
  } = conn;
  const fields = {
    run_id: runs.run_id,
    slug: workloads.slug,
    pk: runs.pk,
    outcome: runs.outcome,
    finished_at: runs.finished_at,
    error: runs.error,
  };
  const found = (where: SQL | undefined, limit: number): Promise<FoundRun[]> =>
    q
      .select(fields)
      .from(runs)
      .leftJoin(workloads, eq(workloads.workload_id, runs.workload_id))
      .where(where)
      .orderBy(desc(runs.run_id))
      .limit(limit);
  const newestId = async () =>
    (await q.select({ id: runs.run_id }).from(runs).orderBy(desc(runs.run_id)).limit(1))[0]?.id ??
    0;
  return async (text, label, limit) => {
    const key = cleanText(text);
    const words = searchWords(text);
    const number = /^\d{1,15}$/.test(text) ? Number(text) : null;
    const labelled_ids = await labelled(conn, label, limit);
    const floor = (await newestId()) - MOST_RUNS;
    const failed = sql`${runs.outcome} <> 0`;
    const byKey = await q
      .select({ run_id: runs.run_id, pk: runs.pk })
      .from(runs)
      .where(and(failed, gte(runs.pk, key)))
      .orderBy(asc(runs.pk))
      .limit(MOST_KEYS);
    const ids = byKey.filter(({ pk }) => pk.startsWith(key)).map(({ run_id }) => run_id);
    const newestFailed = sql`select run_id from ${runs} where ${failed} order by finished_at desc limit ${MOST_ERRORS}`;
    return [
      ...(number === null ? [] : await found(eq(runs.run_id, number), 1)),
      ...(ids.length === 0 ? [] : await found(inArray(runs.run_id, ids), limit)),
      ...(labelled_ids.length === 0 ? [] : await found(inArray(runs.task_id, labelled_ids), limit)),
      ...(await found(
        and(sql`${runs.run_id} > ${floor}`, startsWith(sql`${runs.pk}`, key)),
        limit,
      )),
      ...(words.length === 0
        ? []
        : await found(
            and(amongFound(conn, runs.run_id, newestFailed), hasWords(endsOf(conn), words)),
            limit,
          )),
    ];
  };
};
