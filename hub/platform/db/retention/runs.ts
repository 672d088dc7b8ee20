import { and, asc, eq, gt, lte, or } from "drizzle-orm";
import type { Conn } from "../conn.ts";
import { ofWorkload } from "../runs.ts";
import type { RetentionRepo } from "../view-types.ts";
import { among } from "./pieces.ts";

/** Pairs per statement: SQLite takes expressions of 1,000 levels. */
const NAMED = 200;

type Attempt = { run_id: number; task_id: number; epoch: number };

/** Few tasks have any; a kept attempt of the same task keeps its notes. */
async function deleteNotes({ q, t }: Conn, old: readonly Attempt[]): Promise<void> {
  const gone = new Set(old.map(({ task_id, epoch }) => `${task_id}:${epoch}`));
  const { task_id, epoch } = t.run_notes;
  const found = await q
    .select({ task_id, epoch })
    .from(t.run_notes)
    .where(among(task_id, [...new Set(old.map((row) => row.task_id))]));
  const theirs = found.filter((row) => gone.has(`${row.task_id}:${row.epoch}`));
  for (let at = 0; at < theirs.length; at += NAMED) {
    const some = theirs.slice(at, at + NAMED);
    const pairs = some.map((row) => and(eq(task_id, row.task_id), eq(epoch, row.epoch)));
    await q.delete(t.run_notes).where(or(...pairs));
  }
}

async function deleteRuns(conn: Conn, old: readonly Attempt[]): Promise<number> {
  const {
    q,
    t: { runs, run_logs },
  } = conn;
  if (old.length === 0) return 0;
  const ids = old.map((row) => row.run_id);
  await deleteNotes(conn, old);
  const [, deleted] = await conn.atomic([
    q.delete(run_logs).where(among(run_logs.run_id, ids)),
    q.delete(runs).where(among(runs.run_id, ids)).returning({ run_id: runs.run_id }),
  ]);
  return deleted?.length ?? 0;
}

/** Deletes runs that are too old, or more than a workload keeps. */
export function oldRuns(
  conn: Conn,
): Pick<RetentionRepo, "expireRuns" | "firstBeyond" | "trimRuns"> {
  const {
    q,
    t: { runs },
  } = conn;
  const attempt = { run_id: runs.run_id, task_id: runs.task_id, epoch: runs.epoch };
  return {
    expireRuns: async ({ after, finished_before, limit }) => {
      const rows = await q
        .select({ ...attempt, finished_at: runs.finished_at })
        .from(runs)
        .where(gt(runs.run_id, after))
        .orderBy(asc(runs.run_id))
        .limit(limit);
      const old = rows.filter((row) => row.finished_at < finished_before);
      const deleted = await deleteRuns(conn, old);
      return { deleted, last: rows.at(-1)?.run_id ?? after };
    },
    firstBeyond: async (workload_id, keep) => {
      const [row] = await q
        .select({ run_id: runs.run_id })
        .from(runs)
        .where(ofWorkload(conn, workload_id).where)
        .orderBy(...ofWorkload(conn, workload_id).newest)
        .limit(1)
        .offset(keep);
      return row?.run_id ?? null;
    },
    trimRuns: async ({ workload_id, after, upto, limit }) => {
      const rows = await q
        .select(attempt)
        .from(runs)
        .where(
          and(ofWorkload(conn, workload_id).where, gt(runs.run_id, after), lte(runs.run_id, upto)),
        )
        .orderBy(...ofWorkload(conn, workload_id).oldest)
        .limit(limit);
      const deleted = await deleteRuns(conn, rows);
      return { deleted, last: rows.at(-1)?.run_id ?? after };
    },
  };
}
