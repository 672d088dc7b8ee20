import type { ExecutorType } from "#shared/protocol/schema/workload.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** Code of workloads that was written in the page, version by version (rules/pipeline-code#versions). Times epoch ms. */
export function defineVersionTables(c: ColumnKit) {
  /** `sha256` and `bytes` are of the code as UTF-8. */
  const workload_versions = c.table(
    "workload_versions",
    {
      workload_id: c.big("workload_id").notNull(),
      version: c.int("version").notNull(),
      executor_type: c.str("executor_type").$type<ExecutorType>().notNull(),
      code: c.str("code").notNull(),
      sha256: c.str("sha256").notNull(),
      bytes: c.int("bytes").notNull(),
      note: c.str("note").notNull(),
      created_by: c.str("created_by").notNull(),
      /** The version that it is a copy of, when it was rolled back to. */
      restored_from: c.int("restored_from"),
      created_at: c.time("created_at").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.workload_id, t.version] })],
  );
  return { workload_versions };
}
