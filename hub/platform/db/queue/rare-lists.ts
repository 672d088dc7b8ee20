import { list } from "./postgres-tx.ts";
import type { NewTask } from "./queue-store.ts";

/** Of each task its labels as JSON, and whether its key is taken once; nothing when no task has either. */
export const rareLists = (tasks: readonly Pick<NewTask, "labels" | "once">[]): string[] =>
  tasks.some((t) => t.labels || t.once)
    ? [
        list(tasks.map((t) => (t.labels ? JSON.stringify(t.labels) : null))),
        list(tasks.map((t) => t.once === true)),
      ]
    : [];
