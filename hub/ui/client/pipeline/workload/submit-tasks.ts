import { isObject } from "#shared/kit/is-object.ts";
import { MAX_BATCH_ITEMS } from "#shared/protocol/limits.ts";
import type { TaskIn } from "#shared/protocol/schema/queue.ts";
import { type Faults, faultIn } from "../../forms/faults.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };

const RULES = rulesOf("TaskIn");

interface Defaults {
  /** JSON text of what every task carries. */
  extra: string;
  priority: string;
  /** Of a `datetime-local` field. */
  run_at: string;
}
export interface Typed extends Defaults {
  /** The tasks. */
  text: string;
}
interface Read<T> {
  value: T;
  faults: Faults;
}

function jsonOf(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (err) {
    throw new Error(`${what} is not JSON: ${(err as Error).message}`);
  }
}

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

/** What every task carries that does not say otherwise. */
function readDefaults({ extra, priority, run_at }: Defaults): Read<Partial<TaskIn>> {
  const given: Partial<TaskIn> = {};
  const faults: Faults = {};
  try {
    if (extra.trim() !== "") given.extra = objectOf(extra);
  } catch (err) {
    faults.extra = (err as Error).message;
  }
  if (priority.trim() !== "") {
    given.priority = Number(priority);
    const fault = faultIn(RULES.priority, given.priority);
    if (fault !== undefined) faults.priority = fault;
  }
  if (run_at !== "") given.run_at = new Date(run_at).toISOString();
  return { value: given, faults };
}

function objectOf(text: string): Record<string, unknown> {
  const value = jsonOf(text, "it");
  if (!isObject(value)) throw new Error('must be a JSON object: {"…": …}');
  return value;
}

/** @throws Error that says what to correct */
function tasksIn(typed: string): TaskIn[] {
  const found = tasksOf(typed.trim()).map((task) =>
    typeof task === "string" ? { pk: task } : task,
  );
  if (found.length === 0) throw new Error("type at least one task");
  if (found.length > MAX_BATCH_ITEMS)
    throw new Error(`there are ${found.length} tasks; submit at most ${MAX_BATCH_ITEMS} at a time`);
  const wrong = found.find((task) => !isObject(task) || typeof task.pk !== "string");
  if (wrong !== undefined)
    throw new Error(`every task needs a pk that is text: ${JSON.stringify(wrong)?.slice(0, 100)}`);
  return found;
}

/**
 * What stands in the box as tasks: a key per line, a JSON task per line, or a JSON list of tasks. Fields that a task does
 * not have itself come from the others of the form. With what is wrong, by field.
 */
export function readTasks({ text, ...defaults }: Typed): Read<TaskIn[]> {
  const { value: given, faults } = readDefaults(defaults);
  try {
    return { value: tasksIn(text).map((task) => ({ ...given, ...task })), faults };
  } catch (err) {
    return { value: [], faults: { ...faults, text: (err as Error).message } };
  }
}
