import { eq, type Placeholder, sql } from "drizzle-orm";
import { cleanJson } from "#drizzle/clean.ts";
import { once } from "#shared/kit/once.ts";
import { createBatcher } from "../batch.ts";
import type { Conn, RawRow } from "../conn.ts";
import { givenRows } from "../given-rows.ts";
import { isOfOneRow } from "../postgres-errors.ts";
import type { EventRow } from "../rows.ts";

/** An event before the database gives it its seq. */
type Unnumbered = Omit<EventRow, "seq">;

/** Appends up to this length use a statement that was built at start. */
const PREPARED_ROWS = 8;
const EVENT_COLUMNS = ["ts", "type", "data"] as const;

/** One statement, one round trip. Two hubs may compute the same numbers; the primary key accepts those of one. */
export function insertEvents({ q, t: { job_events } }: Conn) {
  return (rows: Unnumbered[], job_id: string | Placeholder) => {
    const last = q
      .select({ last: sql`coalesce(max(${job_events.seq}), 0)` })
      .from(job_events)
      .where(eq(job_events.job_id, job_id));
    return q
      .insert(job_events)
      .values(rows.map((row, i) => ({ ...row, seq: sql`${last} + ${sql.raw(String(i + 1))}` })))
      .returning({ seq: job_events.seq });
  };
}

/** A row of holes, `ts0`, `type0`, …; Drizzle takes one wherever a value of any type may stand. */
const placeholderRow = (row: number) =>
  Object.fromEntries([
    ["job_id", sql.placeholder("job_id")],
    ...EVENT_COLUMNS.map((name) => [name, sql.placeholder(`${name}${row}`)]),
  ]) as Unnumbered;

/** Most appends hold a line or two; building their statement takes longer than running it. */
function insertPrepared(conn: Conn): (rows: Unnumbered[], job_id: string) => Promise<RawRow[]> {
  const insert = insertEvents(conn);
  const prepared = Array.from({ length: PREPARED_ROWS }, (_, i) =>
    once(() =>
      insert(
        Array.from({ length: i + 1 }, (_, row) => placeholderRow(row)),
        sql.placeholder("job_id"),
      ).prepare(`append_${i + 1}_events`),
    ),
  );
  return async (rows, job_id) => {
    const known = prepared[rows.length - 1];
    if (!known) return insert(rows, job_id);
    const values: Record<string, unknown> = { job_id };
    for (const [row, event] of rows.entries())
      for (const name of EVENT_COLUMNS) values[`${name}${row}`] = event[name];
    return known().execute(values);
  };
}

/** The events of several jobs: `n` counts from 1 within each. */
function insertMany({ q, t: { job_events } }: Conn) {
  const { job_id, seq, ts, type, data } = job_events;
  return once(() => {
    const given = givenRows({ job_id, n: seq, ts, type, data });
    const last = sql`(select coalesce(max(o.seq), 0) from ${job_events} o where o.job_id = v.job_id)`;
    return q
      .insert(job_events)
      .select(sql`select v.job_id, ${last} + v.n, v.ts, v.type, v.data from ${given}` as never)
      .returning({ job_id, seq })
      .prepare("append_events");
  });
}

/**
 * The first try to append events of a job. On Postgres, the appends of one turn of the event loop are one statement,
 * because a commit costs more than its rows.
 */
export function insertFirst(conn: Conn): (rows: Unnumbered[], job_id: string) => Promise<RawRow[]> {
  const insert = insertPrepared(conn);
  if (conn.dialect !== "postgres") return insert;
  const many = insertMany(conn);
  const together = createBatcher<Unnumbered[], RawRow[]>({
    key: ([row]) => row?.job_id ?? "",
    splits: isOfOneRow,
    one: (rows) => insert(rows, rows[0]?.job_id ?? ""),
    many: async (appends) => {
      const rows = appends.flatMap((of) => of.map((row, i) => ({ ...row, n: i + 1 })));
      const stored = Map.groupBy(
        await many().execute({ rows: cleanJson(rows) }),
        (row) => row.job_id,
      );
      return appends.map(([row]) => stored.get(row?.job_id ?? "") ?? []);
    },
  });
  return (rows, job_id) => (rows.length <= PREPARED_ROWS ? together(rows) : insert(rows, job_id));
}
