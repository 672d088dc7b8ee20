import { and, eq, isNull, type SQL, sql } from "drizzle-orm";
import type { Conn, Statement } from "../conn.ts";
import type { JobsRepo } from "../fleet-types.ts";
import { rowValues } from "../row-values.ts";
import { insertLabels } from "./labels.ts";

/**
 * A job with the rows that are stored together with it, or not at all (rules/http#idempotency-keys,
 * rules/watches#one-capture-for-each-time); its labels, so that no list lacks it.
 */
export function insertWith(conn: Conn): JobsRepo["insertWith"] {
  const { q, t, atomic, lockRows } = conn;
  const { jobs, attempts, idempotency_keys: keys, watches } = t;
  return async (row, { key, attempt, watch, retry_of = null }) => {
    const open = key && and(eq(keys.key, key.key), eq(keys.owner, key.owner), isNull(keys.answer));
    const due =
      watch &&
      and(
        eq(watches.watch_id, watch.watch_id),
        isNull(watches.capturing),
        watch.due_at === null ? undefined : eq(watches.next_at, watch.due_at),
      );
    const free = retry_of === null ? null : and(eq(jobs.job_id, retry_of), isNull(jobs.retried_as));
    const conditions: SQL[] = [];
    if (open) conditions.push(sql`exists (select 1 from ${keys} where ${open})`);
    if (due) conditions.push(sql`exists (select 1 from ${watches} where ${due})`);
    if (free) conditions.push(sql`exists (select 1 from ${jobs} where ${free})`);
    const allowed = conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``;
    const statements: Statement[] = [];
    // When two calls believe that it is theirs, the second waits here and then finds it taken.
    if (open) statements.push(lockRows(q.select({ key: keys.key }).from(keys).where(open)));
    if (due)
      statements.push(lockRows(q.select({ watch_id: watches.watch_id }).from(watches).where(due)));
    if (free) statements.push(lockRows(q.select({ job_id: jobs.job_id }).from(jobs).where(free)));
    const inserted = statements.length;
    statements.push(
      q
        .insert(jobs)
        .select(sql`select ${rowValues(jobs, row)} ${allowed}`)
        .returning({ job_id: jobs.job_id }),
    );
    statements.push(...insertLabels(conn, row));
    if (attempt)
      statements.push(
        q
          .insert(attempts)
          .select(
            sql`select ${rowValues(attempts, attempt)} from ${jobs} where ${eq(jobs.job_id, row.job_id)}`,
          ),
      );
    if (open) statements.push(q.update(keys).set({ answer: key.answer }).where(open));
    if (due) {
      const moved = watch.due_at === null ? {} : { next_at: watch.next_at };
      statements.push(
        q
          .update(watches)
          .set({ ...moved, capturing: row.job_id, taken_until: 0 })
          .where(due),
      );
    }
    if (free) {
      const made = sql`exists (select 1 from ${jobs} made where made.job_id = ${row.job_id})`;
      statements.push(q.update(jobs).set({ retried_as: row.job_id }).where(and(free, made)));
    }
    const results = await atomic(statements);
    return (results[inserted] ?? []).length > 0;
  };
}
