import type { RunRow } from "#hub/platform/db/rows.ts";
import type { Notes, ToldNotes } from "#shared/protocol/schema/executor.ts";
import type { PipelineContext } from "../context.ts";

/** The notes of a task that has none. */
export const NO_NOTES: Notes = { progress: null, log: [], log_dropped: 0 };

/** A task's notes, as the API shows them. */
export const notesRecord = ({
  progress,
  progress_text,
  lines,
  dropped,
}: NonNullable<RunRow["notes"]>): Notes => ({
  progress: progress === null ? null : { value: progress, text: progress_text ?? "" },
  log: lines,
  log_dropped: dropped,
});

interface Noted {
  task_id: number;
  epoch: number;
  notes?: ToldNotes | undefined;
}

/**
 * Stores the notes of attempts; notes older than the stored ones change nothing. This happens before the
 * report of their end and outside its transaction: tasks without notes cost nothing, and notes without a run are
 * better than a run without its last notes.
 */
export async function keepNotes(
  { db, clock }: Pick<PipelineContext, "db" | "clock">,
  items: readonly Noted[],
): Promise<void> {
  const said = new Map<string, { task_id: number; epoch: number; notes: ToldNotes }>();
  for (const { task_id, epoch, notes } of items)
    if (notes) said.set(`${task_id}:${epoch}`, { task_id, epoch, notes });
  if (said.size > 0) await db.run_notes.write([...said.values()], clock.now());
}

/** The notes of each of these attempts, in order; undefined for those without any. */
export async function notesOf(
  { db }: Pick<PipelineContext, "db">,
  refs: readonly { task_id: number; epoch: number }[],
): Promise<(Notes | undefined)[]> {
  if (refs.length === 0) return [];
  const rows = await db.run_notes.of(refs);
  const byAttempt = new Map(rows.map((row) => [`${row.task_id}:${row.epoch}`, notesRecord(row)]));
  return refs.map(({ task_id, epoch }) => byAttempt.get(`${task_id}:${epoch}`));
}
