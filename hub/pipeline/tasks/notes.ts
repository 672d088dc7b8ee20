import type { RunRow } from "#hub/platform/db/rows.ts";
import type { Notes, ToldNotes } from "#shared/protocol/schema/executor.ts";
import type { PipelineContext } from "../context.ts";

/** The notes of a task that said nothing. */
export const NO_NOTES: Notes = { progress: null, log: [], log_dropped: 0 };

/** What a task said about itself, as the API shows it. */
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
 * Stores what attempts said about themselves; notes older than those stored change nothing. This happens before the
 * report of their end and outside its transaction: tasks that say nothing pay nothing, and notes without a run are
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

/** What each of these attempts said, in order; undefined for those that said nothing. */
export async function notesOf(
  { db }: Pick<PipelineContext, "db">,
  refs: readonly { task_id: number; epoch: number }[],
): Promise<(Notes | undefined)[]> {
  if (refs.length === 0) return [];
  const rows = await db.run_notes.of(refs);
  const byAttempt = new Map(rows.map((row) => [`${row.task_id}:${row.epoch}`, notesRecord(row)]));
  return refs.map(({ task_id, epoch }) => byAttempt.get(`${task_id}:${epoch}`));
}
