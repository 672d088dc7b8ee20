import { and, eq, sql } from "drizzle-orm";
import { cleanJson } from "#drizzle/clean.ts";
import type { Conn } from "./conn.ts";
import type { RunsRepo } from "./pipeline-types.ts";

/** The states of many tasks at once, found by their keys: one statement, with one index probe per key. */
export function taskStates({ q, dialect, t: { tasks } }: Conn): RunsRepo["taskStates"] {
  return async (workload_id, pks) => {
    const given = cleanJson([...new Set(pks)]);
    const keys =
      dialect === "postgres"
        ? sql`(select json_array_elements_text(${given}::json))`
        : sql`(select value from json_each(${given}))`;
    return q
      .select({ pk: tasks.pk, state: tasks.state })
      .from(tasks)
      .where(and(eq(tasks.workload_id, workload_id), sql`${tasks.pk} in ${keys}`));
  };
}
