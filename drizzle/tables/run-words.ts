import type { LogLine } from "#shared/protocol/schema/executor.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** What attempts print and say. Times epoch ms. */
export function defineRunWordTables(c: ColumnKit) {
  /** What a run printed; most print nothing and have no row. */
  const run_logs = c.table(
    "run_logs",
    {
      run_id: c.big("run_id").notNull(),
      stdout: c.str("stdout").notNull(),
      stderr: c.str("stderr").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.run_id] })],
  );

  /**
   * What an attempt said of itself while it ran: how far it is, and lines of its log. By attempt and not by run, so that the
   * last words of a worker that died are those of the run that its lease's end records. Most attempts say nothing.
   */
  const run_notes = c.table(
    "run_notes",
    {
      task_id: c.big("task_id").notNull(),
      epoch: c.big("epoch").notNull(),
      /** 0 to 1, null when only words came, and those words. */
      progress: c.float("progress"),
      progress_text: c.str("progress_text"),
      /** The last lines, and how many came before them. */
      lines: c.json<LogLine[]>("lines").notNull(),
      dropped: c.int("dropped").notNull(),
      /** Of the worker: what is told late does not undo what is newer. */
      seq: c.int("seq").notNull(),
      updated_at: c.time("updated_at").notNull(),
    },
    (t) => [
      c.primaryKey({ columns: [t.task_id, t.epoch] }),
      c.index("run_notes_updated_idx").on(t.updated_at),
    ],
  );

  return { run_logs, run_notes };
}
