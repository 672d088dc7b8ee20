import { list } from "./postgres-tx.ts";
import type { NewTask } from "./queue-store.ts";

/** The parameter with the labels of each task as JSON; nothing when none has any. */
export const labelList = (tasks: readonly Pick<NewTask, "labels">[]): string[] =>
  tasks.some((t) => t.labels)
    ? [list(tasks.map((t) => (t.labels ? JSON.stringify(t.labels) : null)))]
    : [];
