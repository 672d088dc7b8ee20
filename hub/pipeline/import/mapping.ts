import { invalid } from "#shared/kit/errors.ts";
import { parseJson } from "#shared/kit/json.ts";
import { TaskIn } from "#shared/protocol/schema/queue.ts";
import type { ImportFormat, ImportQuery } from "#shared/protocol/schema/task-import.ts";

/** How a record becomes a task. */
export interface Mapping {
  /** Column of the key; null for JSON lines that are tasks as they stand. */
  key: string | null;
  task(value: Record<string, unknown>): { task: TaskIn } | { error: string };
}

/** Names in `extra` by column; null: all but the key's, as they are called. */
function namesOf(columns: string | undefined): Map<string, string> | null {
  if (columns === undefined || columns.trim() === "") return null;
  if (columns.trimStart().startsWith("{")) {
    const fault = () =>
      invalid(["query", "columns"], 'must be a JSON object of texts: {"column": "name"}');
    let given: unknown;
    try {
      given = parseJson(columns);
    } catch {
      throw fault();
    }
    const pairs = Object.entries(given as Record<string, unknown>);
    if (!pairs.every((pair): pair is [string, string] => typeof pair[1] === "string"))
      throw fault();
    return new Map(pairs);
  }
  return new Map(
    columns
      .split(",")
      .map((one) => one.trim())
      .filter(Boolean)
      .map((one): [string, string] => {
        const sign = one.indexOf("=");
        return sign < 1 ? [one, one] : [one.slice(0, sign).trim(), one.slice(sign + 1).trim()];
      }),
  );
}

const JSON_SCALAR = /^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)$/;
const typedCell = (cell: unknown): unknown =>
  typeof cell === "string" && JSON_SCALAR.test(cell) ? JSON.parse(cell) : cell;

/** A key may be a number in JSON. */
const keyText = (value: unknown): unknown =>
  typeof value === "number" || typeof value === "boolean" ? String(value) : value;

function judge(task: unknown): { task: TaskIn } | { error: string } {
  const parsed = TaskIn.safeParse(task);
  if (parsed.success) return { task: parsed.data };
  const [issue] = parsed.error.issues;
  return { error: `${issue?.path.join(".") || "the task"}: ${issue?.message}` };
}

/**
 * @param columns those of the file; of JSON lines none are known before they are read
 * @throws AppError invalid when the query names a column that a CSV file does not have
 */
export function mappingFor(
  format: ImportFormat,
  columns: readonly string[],
  { key, columns: wanted, typed }: Pick<ImportQuery, "key" | "columns" | "typed">,
): Mapping {
  const names = namesOf(wanted);
  if (format === "csv") {
    const unknown = [key, ...(names?.keys() ?? [])].find(
      (name) => name !== undefined && !columns.includes(name),
    );
    if (unknown !== undefined)
      throw invalid(
        ["query", unknown === key ? "key" : "columns"],
        `the file has no column ${unknown}; it has ${columns.slice(0, 20).join(", ")}`,
      );
  }
  const keyed =
    key ?? (format === "csv" ? (columns.includes("pk") ? "pk" : columns[0]) : undefined);
  // Lines that are tasks may have every field of one.
  if (keyed === undefined && names === null) return { key: null, task: judge };
  const at = keyed ?? "pk";
  const cell = format === "csv" && typed ? typedCell : (value: unknown) => value;
  return {
    key: at,
    task: (value) => {
      if (value[at] === undefined || value[at] === "") return { error: `${at}, its key, is empty` };
      const extra: Record<string, unknown> = {};
      if (names === null) {
        for (const [name, one] of Object.entries(value)) if (name !== at) extra[name] = cell(one);
      } else
        for (const [column, name] of names)
          if (value[column] !== undefined) extra[name] = cell(value[column]);
      const pk = keyText(value[at]);
      return judge(Object.keys(extra).length > 0 ? { pk, extra } : { pk });
    },
  };
}
