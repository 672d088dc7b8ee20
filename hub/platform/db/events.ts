import { and, asc, desc, eq, gt, type Placeholder, sql } from "drizzle-orm";
import { cleanJson } from "#drizzle/clean.ts";
import { createTurns } from "#shared/kit/turns.ts";
import { createBatcher } from "./batch.ts";
import type { Conn, RawRow } from "./conn.ts";
import type { EventsRepo } from "./fleet-types.ts";
import { givenRows } from "./jobs-batch.ts";
import { once } from "./once.ts";
import { isOfOneRow } from "./postgres-errors.ts";
import type { EventRow } from "./rows.ts";

/** Five values a row; both dialects take 32,000 in one statement. */
const MAX_BATCH = 1_000;
/** Every conflict means that another hub's append went through, and from the second try on they queue for the row. */
const TRIES = 20;

type NewEvent = Pick<EventRow, "ts" | "type" | "data">;

/** Appends up to this length use a statement that was built at start. */
const PREPARED_ROWS = 8;
const EVENT_COLUMNS = ["ts", "type", "data"] as const;

/** A row of holes, `ts0`, `type0`, …; Drizzle takes one wherever a value of any type may stand. */
const placeholderRow = (row: number) =>
  Object.fromEntries([
    ["job_id", sql.placeholder("job_id")],
    ...EVENT_COLUMNS.map((name) => [name, sql.placeholder(`${name}${row}`)]),
  ]) as Omit<EventRow, "seq">;

/** Columns of the rows that several jobs' appends are given as: `n` counts from 1 within each. */
const appended = ({ job_id, seq, ts, type, data }: Conn["t"]["job_events"]) => ({
  ...{ job_id, n: seq, ts, type, data },
});

export function eventsRepo({ q, t, dialect, atomic, lockRows, isConflict }: Conn): EventsRepo {
  const { job_events, jobs } = t;
  // A pool of connections would let a later append overtake.
  const inTurn = createTurns<string>();
  const ofJob = (job_id: string) =>
    q.select({ job_id: jobs.job_id }).from(jobs).where(eq(jobs.job_id, job_id));

  /** One statement, one round trip. Two hubs may compute the same numbers; the primary key lets one of them in. */
  const insert = (rows: Omit<EventRow, "seq">[], job_id: string | Placeholder) => {
    const last = q
      .select({ last: sql`coalesce(max(${job_events.seq}), 0)` })
      .from(job_events)
      .where(eq(job_events.job_id, job_id));
    return q
      .insert(job_events)
      .values(rows.map((row, i) => ({ ...row, seq: sql`${last} + ${sql.raw(String(i + 1))}` })))
      .returning({ seq: job_events.seq });
  };
  // Most appends hold a line or two; building their statement takes longer than running it.
  const prepared = Array.from({ length: PREPARED_ROWS }, (_, i) =>
    once(() =>
      insert(
        Array.from({ length: i + 1 }, (_, row) => placeholderRow(row)),
        sql.placeholder("job_id"),
      ).prepare(`append_${i + 1}_events`),
    ),
  );
  const insertFirst = (rows: Omit<EventRow, "seq">[], job_id: string): Promise<RawRow[]> => {
    const known = prepared[rows.length - 1];
    if (!known) return insert(rows, job_id);
    const values: Record<string, unknown> = { job_id };
    for (const [row, event] of rows.entries())
      for (const name of EVENT_COLUMNS) values[`${name}${row}`] = event[name];
    return known().execute(values);
  };
  const insertMany = once(() => {
    const { job_id, seq } = job_events;
    const last = sql`(select coalesce(max(o.seq), 0) from ${job_events} o where o.job_id = v.job_id)`;
    return q
      .insert(job_events)
      .select(
        sql`select v.job_id, ${last} + v.n, v.ts, v.type, v.data from ${givenRows(appended(job_events))}` as never,
      )
      .returning({ job_id, seq })
      .prepare("append_events");
  });
  /** Postgres: the appends of one turn of the event loop in one statement, whose commit costs more than its rows. */
  const batched = () =>
    createBatcher<Omit<EventRow, "seq">[], RawRow[]>({
      key: ([row]) => row?.job_id ?? "",
      splits: isOfOneRow,
      one: (rows) => insertFirst(rows, rows[0]?.job_id ?? ""),
      many: async (appends) => {
        const rows = appends.flatMap((of) => of.map((row, i) => ({ ...row, n: i + 1 })));
        const stored = Map.groupBy(
          await insertMany().execute({ rows: cleanJson(rows) }),
          (row) => row.job_id,
        );
        return appends.map(([row]) => stored.get(row?.job_id ?? "") ?? []);
      },
    });
  const append = dialect === "postgres" ? batched() : null;
  const insertSoon = (rows: Omit<EventRow, "seq">[], job_id: string): Promise<RawRow[]> =>
    append && rows.length <= PREPARED_ROWS ? append(rows) : insertFirst(rows, job_id);
  const appendBatch = async (job_id: string, events: NewEvent[]): Promise<EventRow[]> => {
    const rows = events.map((event) => ({ ...event, job_id, ts: Math.round(event.ts) }));
    for (let tries = 1; ; tries += 1) {
      try {
        const inserted: RawRow[] =
          tries === 1
            ? await insertSoon(rows, job_id)
            : ((await atomic([lockRows(ofJob(job_id)), insert(rows, job_id)]))[1] ?? []);
        const seqs = inserted.map((row) => Number(row.seq)).sort((a, b) => a - b);
        return rows.map((row, i) => ({ ...row, seq: seqs[i] ?? 0 }));
      } catch (err) {
        // The foreign key refuses events of a job that was deleted meanwhile: there is nobody left to read them.
        if ((await ofJob(job_id)).length === 0) return [];
        if (!isConflict(err) || tries === TRIES) throw err;
      }
    }
  };

  return {
    append: (job_id, events) =>
      inTurn(job_id, async () => {
        const stored: EventRow[] = [];
        for (let at = 0; at < events.length; at += MAX_BATCH)
          stored.push(...(await appendBatch(job_id, events.slice(at, at + MAX_BATCH))));
        return stored;
      }),
    list: async (job_id, since, limit) =>
      q
        .select()
        .from(job_events)
        .where(and(eq(job_events.job_id, job_id), gt(job_events.seq, since)))
        .orderBy(asc(job_events.seq))
        .limit(limit),
    last: async (job_id, limit) =>
      q
        .select()
        .from(job_events)
        .where(eq(job_events.job_id, job_id))
        .orderBy(desc(job_events.seq))
        .limit(limit),
  };
}
