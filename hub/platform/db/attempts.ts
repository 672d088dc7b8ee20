import { and, asc, desc, eq, getTableColumns, isNotNull, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { AttemptsRepo } from "./fleet-types.ts";
import { notBefore } from "./not-before.ts";
import { rowValues } from "./row-values.ts";

/** Everything of an attempt but its long texts. */
const SUMMARY = [
  "job_id",
  "n",
  "state",
  "engine",
  "exit_code",
  "verdict",
  "timings",
  "tokens",
  "sandbox",
  "proof",
  "started_at",
  "finished_at",
];

export function attemptsRepo({ q, t: { attempts, jobs }, atomic, lockRows }: Conn): AttemptsRepo {
  const columns = getTableColumns(attempts);
  const { job_id: _job, n: _n, ...written } = columns;
  const summary = Object.fromEntries(
    Object.entries(columns).filter(([name]) => SUMMARY.includes(name)),
  ) as Pick<typeof columns, "job_id" | "n" | "state">;
  const one = (job_id: string, n: number) => and(eq(attempts.job_id, job_id), eq(attempts.n, n));
  const leasedBy = (job_id: string, lease_token: number) =>
    and(eq(jobs.job_id, job_id), eq(jobs.status, "running"), eq(jobs.lease_token, lease_token));
  /** Everything but the key. */
  const excluded = Object.fromEntries(
    Object.entries(written).map(([name, { name: column }]) => [
      name,
      sql`excluded.${sql.identifier(column)}`,
    ]),
  );
  return {
    begin: async (row, lease_token) => {
      const leased = leasedBy(row.job_id, lease_token);
      const [held] = await atomic([
        lockRows(q.select({ job_id: jobs.job_id }).from(jobs).where(leased)),
        q.update(jobs).set({ attempts: row.n }).where(leased),
        q
          .insert(attempts)
          .select(sql`select ${rowValues(attempts, row)} from ${jobs} where ${leased}`)
          .onConflictDoUpdate({ target: [attempts.job_id, attempts.n], set: excluded }),
      ]);
      return held !== undefined && held.length > 0;
    },
    save: async ({ job_id, n, ...row }) => {
      const saved = await q
        .update(attempts)
        .set(row)
        .where(one(job_id, n))
        .returning({ n: attempts.n });
      return saved.length > 0;
    },
    endOpen: async (job_id, verdict, now) => {
      await q
        .update(attempts)
        .set({ state: "ended", verdict, finished_at: notBefore(attempts.started_at, now) })
        .where(and(eq(attempts.job_id, job_id), eq(attempts.state, "running")));
    },
    list: async (job_id) =>
      q
        .select(summary)
        .from(attempts)
        .where(eq(attempts.job_id, job_id))
        .orderBy(asc(attempts.n)) as unknown as ReturnType<AttemptsRepo["list"]>,
    get: async (job_id, n) => {
      const [row] = await q.select().from(attempts).where(one(job_id, n));
      return row ?? null;
    },
    scripted: async (job_id) =>
      q
        .select({ n: attempts.n, verdict: attempts.verdict })
        .from(attempts)
        .where(and(eq(attempts.job_id, job_id), isNotNull(attempts.script)))
        .orderBy(desc(attempts.n)),
  };
}
