import type { TaskIn } from "#shared/protocol/schema/queue.ts";

/** Tasks of one submission: a batch has at most so many (rules/pipeline-tasks#submit-a-batch). */
const MAX_TASKS = 10_000;

export interface Defaults {
  /** JSON text of what every task carries. */
  extra: string;
  priority: string;
  /** Of a `datetime-local` field. */
  run_at: string;
}

function jsonOf(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (err) {
    throw new Error(`${what} is not JSON: ${(err as Error).message}`);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A list of tasks, one task, or a task in each line. */
function tasksOf(text: string): TaskIn[] {
  if (text.startsWith("[")) return jsonOf(text, "the list") as TaskIn[];
  return text
    .split("\n")
    .map((line, i) => ({ line: line.trim(), at: i + 1 }))
    .filter(({ line }) => line !== "")
    .map(({ line, at }) =>
      line.startsWith("{") ? (jsonOf(line, `line ${at}`) as TaskIn) : { pk: line },
    );
}

/**
 * What stands in the box as tasks: a key per line, a JSON task per line, or a JSON list of tasks. Fields that a task does
 * not have itself come from `defaults`.
 * @throws Error that says what to mend
 */
export function readTasks(typed: string, { extra, priority, run_at }: Defaults): TaskIn[] {
  const text = typed.trim();
  const found = tasksOf(text).map((task) => (typeof task === "string" ? { pk: task } : task));
  if (found.length === 0) throw new Error("type at least one task");
  if (found.length > MAX_TASKS)
    throw new Error(`there are ${found.length} tasks; submit at most ${MAX_TASKS} at a time`);
  const given: Partial<TaskIn> = {};
  if (extra.trim() !== "") {
    const value = jsonOf(extra, "extra");
    if (!isObject(value)) throw new Error('extra must be a JSON object: {"…": …}');
    given.extra = value;
  }
  if (priority.trim() !== "") {
    given.priority = Number(priority);
    if (!Number.isInteger(given.priority)) throw new Error("priority must be a whole number");
  }
  if (run_at !== "") given.run_at = new Date(run_at).toISOString();
  return found.map((task) => {
    if (!isObject(task) || typeof task.pk !== "string")
      throw new Error(`every task needs a pk that is text: ${JSON.stringify(task)?.slice(0, 100)}`);
    return { ...given, ...task };
  });
}
