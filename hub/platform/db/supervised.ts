import { and, desc, eq, gt, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import { first } from "./first.ts";
import { laterThan } from "./not-before.ts";
import type { SupervisedRepo } from "./pipeline-types.ts";
import type { SupervisedRow } from "./rows.ts";

/** How many characters of an error are read. */
const MAX_ERROR = 500;

export function supervisedRepo(conn: Conn): SupervisedRepo {
  const { q, t } = conn;
  const { supervised: s, workloads, runs } = t;
  const at = (workload_id: number, seq: number) =>
    and(eq(s.workload_id, workload_id), eq(s.seq, seq));
  /** The workload while the supervisor may touch it. */
  const allowed = (workload_id: number) =>
    and(eq(workloads.workload_id, workload_id), eq(workloads.supervisor_enabled, true));
  return {
    open: async (workload_id) => {
      await q.insert(s).values({ workload_id, last_run_id: 0, reset: true }).onConflictDoNothing();
      const row = first(await q.select().from(s).where(eq(s.workload_id, workload_id)));
      if (!row) throw new Error(`supervised ${workload_id} is gone`);
      return row;
    },
    get: async (workload_id) =>
      first(await q.select().from(s).where(eq(s.workload_id, workload_id))),
    troubled: async () =>
      (
        await q
          .select({ row: s })
          .from(s)
          .innerJoin(workloads, eq(workloads.workload_id, s.workload_id))
          .where(sql`${s.problem} is not null or ${s.paused_at} is not null`)
      ).map(({ row }) => row),
    change: async ({ workload_id, seq }, set) =>
      first<SupervisedRow>(
        await q
          .update(s)
          .set({ ...set, seq: seq + 1 })
          .where(
            and(
              at(workload_id, seq),
              sql`exists (select 1 from ${workloads} where ${allowed(workload_id)})`,
            ),
          )
          .returning(),
      ),
    pause: async ({ workload_id, seq }, set, now) => {
      const running = and(allowed(workload_id), eq(workloads.enabled, true));
      const [, , off] = await conn.atomic([
        conn.lockRows(q.select({ id: workloads.workload_id }).from(workloads).where(running)),
        q
          .update(s)
          .set({ ...set, paused_at: now, seq: seq + 1 })
          .where(
            and(at(workload_id, seq), sql`exists (select 1 from ${workloads} where ${running})`),
          ),
        q
          .update(workloads)
          .set({ enabled: false, updated_at: laterThan(workloads.updated_at, now) })
          .where(
            and(
              running,
              sql`exists (select 1 from ${s} where ${at(workload_id, seq + 1)} and ${s.paused_at} = ${now})`,
            ),
          )
          .returning({ workload_id: workloads.workload_id }),
      ]);
      return (off?.length ?? 0) > 0;
    },
    outcomes: (workload_id, after, limit) =>
      q
        .select({
          run_id: runs.run_id,
          outcome: runs.outcome,
          error: sql<string | null>`substr(${runs.error}, 1, ${MAX_ERROR})`,
          finished_at: runs.finished_at,
        })
        .from(runs)
        .where(and(eq(runs.workload_id, workload_id), gt(runs.run_id, after)))
        .orderBy(desc(runs.run_id))
        .limit(limit),
  };
}
