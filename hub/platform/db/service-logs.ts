import { and, asc, desc, eq, gt, gte, inArray, lt, lte, or, type SQL, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { LogFilter, ServiceLogsRepo } from "./platform-types.ts";

/** Seven values a row; both dialects take 32,000 in one statement. */
const MAX_ROWS = 1_000;

/** `%` and `_` of the text stand for themselves. */
const containing = (text: string) => `%${text.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;

export function serviceLogsRepo({ q, t: { service_logs: logs } }: Conn): ServiceLogsRepo {
  const matching = ({
    host,
    service,
    min_level,
    q: text,
    since,
    until,
    after,
    before,
  }: LogFilter) => {
    const like = (column: SQL) =>
      sql`lower(${column}) like ${containing(text ?? "")} escape ${"\\"}`;
    return and(
      host === undefined ? undefined : eq(logs.host, host),
      service === undefined ? undefined : eq(logs.service, service),
      min_level === undefined ? undefined : gte(logs.level, min_level),
      since === undefined ? undefined : gte(logs.ts, since),
      until === undefined ? undefined : lt(logs.ts, until),
      after === undefined ? undefined : gt(logs.log_id, after),
      text === undefined
        ? undefined
        : or(like(sql`${logs.message}`), like(sql`cast(${logs.fields} as text)`)),
      // The first condition lets the index of `ts` find the beginning of the page.
      before === undefined
        ? undefined
        : and(lte(logs.ts, before.ts), or(lt(logs.ts, before.ts), lt(logs.log_id, before.log_id))),
    );
  };
  // By a list of ids, because Postgres joins a subquery by reading the whole table.
  const deleteOldest = async (where: SQL, order: SQL, limit: number): Promise<number> => {
    const chosen = await q
      .select({ log_id: logs.log_id })
      .from(logs)
      .where(where)
      .orderBy(order)
      .limit(limit);
    if (chosen.length === 0) return 0;
    const ids = chosen.map(({ log_id }) => log_id);
    const gone = await q
      .delete(logs)
      .where(inArray(logs.log_id, ids))
      .returning({ log_id: logs.log_id });
    return gone.length;
  };
  return {
    append: async (rows) => {
      for (let at = 0; at < rows.length; at += MAX_ROWS)
        await q.insert(logs).values(rows.slice(at, at + MAX_ROWS));
    },
    list: (filter) =>
      q
        .select()
        .from(logs)
        .where(matching(filter))
        .orderBy(desc(logs.ts), desc(logs.log_id))
        .limit(filter.limit),
    deleteBefore: (ts, limit) => deleteOldest(lt(logs.ts, ts), asc(logs.ts), limit),
    // The ids count up, so the newest `keep` rows are among the last `keep` ids; counting them would read them all.
    deleteBeyond: async (keep, limit) => {
      const [newest] = await q
        .select({ log_id: logs.log_id })
        .from(logs)
        .orderBy(desc(logs.log_id))
        .limit(1);
      if (!newest) return 0;
      return deleteOldest(lte(logs.log_id, newest.log_id - keep), asc(logs.log_id), limit);
    },
  };
}
