import { and, eq, isNull, sql } from "drizzle-orm";
import type { Conn, Statement } from "./conn.ts";
import type { JobsRepo } from "./fleet-types.ts";
import { rowValues } from "./row-values.ts";

/** A job and what is stored with it or not at all (rules/http#idempotency-keys). */
export function insertWith({ q, t, atomic, lockRows }: Conn): JobsRepo["insertWith"] {
  const { jobs, attempts, idempotency_keys: keys } = t;
  return async (row, { key, attempt }) => {
    const open = key && and(eq(keys.key, key.key), eq(keys.owner, key.owner), isNull(keys.answer));
    const allowed = open ? sql`where exists (select 1 from ${keys} where ${open})` : sql``;
    const statements: Statement[] = [
      q
        .insert(jobs)
        .select(sql`select ${rowValues(jobs, row)} ${allowed}`)
        .returning({ job_id: jobs.job_id }),
    ];
    if (attempt)
      statements.push(
        q
          .insert(attempts)
          .select(
            sql`select ${rowValues(attempts, attempt)} from ${jobs} where ${eq(jobs.job_id, row.job_id)}`,
          ),
      );
    if (open) {
      // Of two calls that both believe the key is theirs the second one waits here, and then finds it answered.
      statements.unshift(lockRows(q.select({ key: keys.key }).from(keys).where(open)));
      statements.push(q.update(keys).set({ answer: key.answer }).where(open));
    }
    const results = await atomic(statements);
    return (results[open ? 1 : 0] ?? []).length > 0;
  };
}
