import { and, asc, eq, gt, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { EventRow, EventsRepo } from "./types.ts";

/** Five values a row; both dialects take 32,000 in one statement. */
const MAX_BATCH = 1_000;

export function eventsRepo({ q, t: { job_events, jobs }, atomic, lockRows }: Conn): EventsRepo {
  const appendBatch = async (
    job_id: string,
    events: Pick<EventRow, "ts" | "type" | "data">[],
  ): Promise<EventRow[]> => {
    const last = q
      .select({ last: sql`coalesce(max(${job_events.seq}), 0)` })
      .from(job_events)
      .where(eq(job_events.job_id, job_id));
    const rows = events.map((event) => ({ ...event, job_id, ts: Math.round(event.ts) }));
    const [, inserted = []] = await atomic([
      // Appends to one job wait here for each other, so `last` sees what the others wrote.
      lockRows(q.select({ job_id: jobs.job_id }).from(jobs).where(eq(jobs.job_id, job_id))),
      q
        .insert(job_events)
        .values(rows.map((row, i) => ({ ...row, seq: sql`${last} + ${sql.raw(String(i + 1))}` })))
        .returning({ seq: job_events.seq }),
    ]);
    const seqs = inserted.map((row) => Number(row.seq)).sort((a, b) => a - b);
    return rows.map((row, i) => ({ ...row, seq: seqs[i] ?? 0 }));
  };

  const jobExists = async (job_id: string): Promise<boolean> => {
    const rows = await q.select({ job_id: jobs.job_id }).from(jobs).where(eq(jobs.job_id, job_id));
    return rows.length > 0;
  };

  return {
    append: async (job_id, events) => {
      const stored: EventRow[] = [];
      try {
        for (let at = 0; at < events.length; at += MAX_BATCH)
          stored.push(...(await appendBatch(job_id, events.slice(at, at + MAX_BATCH))));
      } catch (err) {
        // The foreign key refuses events of a job that was deleted meanwhile; there is nobody to tell them to.
        if (await jobExists(job_id)) throw err;
      }
      return stored;
    },
    list: async (job_id, since, limit) =>
      q
        .select()
        .from(job_events)
        .where(and(eq(job_events.job_id, job_id), gt(job_events.seq, since)))
        .orderBy(asc(job_events.seq))
        .limit(limit),
  };
}
