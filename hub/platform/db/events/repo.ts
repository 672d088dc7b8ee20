import { and, asc, desc, eq, gt } from "drizzle-orm";
import { createTurns } from "#shared/kit/turns.ts";
import type { Conn } from "../conn.ts";
import type { EventsRepo } from "../fleet-types.ts";
import type { EventRow } from "../rows.ts";
import { insertEvents, insertFirst } from "./insert.ts";

/** Five values a row; both dialects take 32,000 in one statement. */
const MAX_BATCH = 1_000;
/** Every conflict means that another hub's append went through; from the second try on, appends queue for the row. */
const TRIES = 20;

type NewEvent = Pick<EventRow, "ts" | "type" | "data">;

/** Appends at most `MAX_BATCH` events, and numbers them. */
function appendBatch(conn: Conn) {
  const { q, t, atomic, lockRows, isConflict } = conn;
  const insert = insertEvents(conn);
  const first = insertFirst(conn);
  const ofJob = (job_id: string) =>
    q.select({ job_id: t.jobs.job_id }).from(t.jobs).where(eq(t.jobs.job_id, job_id));
  return async (job_id: string, events: NewEvent[]): Promise<EventRow[]> => {
    const rows = events.map((event) => ({ ...event, job_id, ts: Math.round(event.ts) }));
    for (let tries = 1; ; tries += 1) {
      try {
        const inserted =
          tries === 1
            ? await first(rows, job_id)
            : ((await atomic([lockRows(ofJob(job_id)), insert(rows, job_id)]))[1] ?? []);
        const seqs = inserted.map((row) => Number(row.seq)).sort((a, b) => a - b);
        return rows.map((row, i) => ({ ...row, seq: seqs[i] ?? 0 }));
      } catch (err) {
        // The foreign key refuses events of a job that was deleted meanwhile: nobody is left to read them.
        if ((await ofJob(job_id)).length === 0) return [];
        if (!isConflict(err) || tries === TRIES) throw err;
      }
    }
  };
}

export function eventsRepo(conn: Conn): EventsRepo {
  const {
    q,
    t: { job_events },
  } = conn;
  const append = appendBatch(conn);
  // With a pool of connections, a later append could overtake.
  const inTurn = createTurns<string>();
  return {
    append: (job_id, events) =>
      inTurn(job_id, async () => {
        const stored: EventRow[] = [];
        for (let at = 0; at < events.length; at += MAX_BATCH)
          stored.push(...(await append(job_id, events.slice(at, at + MAX_BATCH))));
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
