import { sql } from "drizzle-orm";
import type { Conn, Statement } from "../conn.ts";

/** Jobs that one transaction indexes: about 10 ms, for which other calls wait. */
const TOGETHER = 200;

const OLDEST = `select due_id from job_texts_due order by due_id limit ${TOGETHER}`;

const statement = (text: string): Statement => ({ toSQL: () => ({ sql: text, params: [] }) });

const INDEX = statement(
  `insert into job_texts (job_id, words)
   select w.job_id, w.words from job_texts_due as due join job_words as w on w.job_id = due.job_id
   where due.due_id in (${OLDEST}) order by due.due_id
   on conflict (job_id) do update set words = excluded.words`,
);

const FORGET = statement(`delete from job_texts_due where due_id in (${OLDEST})`);

const isAnyDue = async ({ q }: Conn): Promise<boolean> => {
  const due = await q
    .select({ one: sql`1`.as("one") })
    .from(sql`job_texts_due`)
    .limit(1);
  return due.length > 0;
};

/**
 * Indexes the words of all jobs that have ended. On SQLite the end of a job only notes it in `job_texts_due`, because FTS5
 * makes every transaction that it takes part in 0.2 ms longer, with one job or with many. On Postgres a trigger indexes
 * them at once.
 */
export async function indexWords(conn: Conn): Promise<void> {
  if (conn.dialect === "postgres") return;
  while (await isAnyDue(conn)) await conn.atomic([INDEX, FORGET]);
}
