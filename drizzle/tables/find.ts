import type { ColumnKit } from "../kit.pg.ts";
import type { JobIds } from "./jobs.ts";

/** What jobs, tasks and runs are found by (rules/search#what-is-searched). */
export function defineFindTables(c: ColumnKit, jobs: JobIds) {
  /** A row for each label, so that lists of a label have an index; jobs without labels have none. */
  const job_labels = c.table(
    "job_labels",
    {
      job_id: c
        .str("job_id")
        .notNull()
        .references(() => jobs.job_id, { onDelete: "cascade" }),
      key: c.str("key").notNull(),
      value: c.str("value").notNull(),
      /** Of the job: the order of lists. */
      created_at: c.time("created_at").notNull(),
    },
    (t) => [
      c.primaryKey({ columns: [t.job_id, t.key] }),
      c.index("job_labels_value_idx").on(t.key, t.value, t.created_at, t.job_id),
      c.index("job_labels_key_idx").on(t.key, t.created_at, t.job_id),
    ],
  );

  /**
   * The searched words of a job that has ended. A trigger writes the row, because many statements end a job; the index of
   * its words is a GIN index, or FTS5's table `job_texts_index` with `job_texts_due` before it: see the migrations.
   */
  const job_texts = c.table(
    "job_texts",
    {
      text_id: c.key("text_id"),
      job_id: c
        .str("job_id")
        .notNull()
        .references(() => jobs.job_id, { onDelete: "cascade" }),
      words: c.str("words").notNull(),
    },
    (t) => [c.uniqueIndex("job_texts_job_idx").on(t.job_id)],
  );

  /**
   * By the task's id, which its runs have too: a task that ends leaves its labels where they are, and one without labels
   * costs nothing at any time.
   */
  const task_labels = c.table(
    "task_labels",
    {
      task_id: c.big("task_id").notNull(),
      key: c.str("key").notNull(),
      value: c.str("value").notNull(),
    },
    (t) => [
      c.primaryKey({ columns: [t.task_id, t.key] }),
      c.index("task_labels_value_idx").on(t.key, t.value, t.task_id),
    ],
  );

  return { job_labels, job_texts, task_labels };
}
