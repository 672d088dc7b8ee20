import { and, eq, inArray, lt, or, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { RunNotesRepo } from "./pipeline-types.ts";

export function runNotesRepo({ q, t: { run_notes } }: Conn): RunNotesRepo {
  return {
    write: async (items, updated_at) => {
      if (items.length === 0) return;
      await q
        .insert(run_notes)
        .values(
          items.map(({ task_id, epoch, notes: { progress, log, log_dropped, seq } }) => ({
            task_id,
            epoch,
            progress: progress?.value ?? null,
            progress_text: progress?.text ?? null,
            lines: log,
            dropped: log_dropped,
            seq,
            updated_at,
          })),
        )
        .onConflictDoUpdate({
          target: [run_notes.task_id, run_notes.epoch],
          set: {
            progress: sql`excluded.progress`,
            progress_text: sql`excluded.progress_text`,
            lines: sql`excluded.lines`,
            dropped: sql`excluded.dropped`,
            seq: sql`excluded.seq`,
            updated_at: sql`excluded.updated_at`,
          },
          setWhere: sql`${run_notes.seq} <= excluded.seq`,
        });
    },
    of: async (refs) => {
      if (refs.length === 0) return [];
      const named = refs.map(({ task_id, epoch }) =>
        and(eq(run_notes.task_id, task_id), eq(run_notes.epoch, epoch)),
      );
      return q
        .select()
        .from(run_notes)
        .where(or(...named));
    },
    prune: async (before, limit) => {
      const old = await q
        .select({ task_id: run_notes.task_id })
        .from(run_notes)
        .where(lt(run_notes.updated_at, before))
        .orderBy(run_notes.updated_at)
        .limit(limit);
      if (old.length === 0) return 0;
      const ids = [...new Set(old.map((row) => row.task_id))];
      const rows = await q
        .delete(run_notes)
        .where(and(inArray(run_notes.task_id, ids), lt(run_notes.updated_at, before)))
        .returning({ task_id: run_notes.task_id });
      return rows.length;
    },
  };
}
