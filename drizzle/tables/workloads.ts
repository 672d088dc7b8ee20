import type {
  Backoff,
  ExecutorConfig,
  ExecutorType,
  RateLimit,
} from "#shared/protocol/schema/workload.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** What people set up of the pipeline (rules/pipeline-workloads#fields-of-a-workload). Times epoch ms. */
export function defineWorkloadTables(c: ColumnKit) {
  const workloads = c.table(
    "workloads",
    {
      workload_id: c.key("workload_id"),
      slug: c.str("slug").notNull(),
      name: c.str("name").notNull(),
      description: c.str("description").notNull(),
      enabled: c.bool("enabled").notNull(),
      supervisor_enabled: c.bool("supervisor_enabled").notNull(),
      executor_type: c.str("executor_type").$type<ExecutorType>().notNull(),
      executor_config: c.json<ExecutorConfig>("executor_config").notNull(),
      priority: c.int("priority").notNull(),
      batch_size: c.int("batch_size").notNull(),
      lease_secs: c.int("lease_secs").notNull(),
      max_attempts: c.int("max_attempts").notNull(),
      timeout_s: c.float("timeout_s"),
      host_affinity: c.json<string[]>("host_affinity").notNull(),
      backoff: c.json<Backoff>("backoff").notNull(),
      rate_limit: c.json<RateLimit>("rate_limit"),
      max_in_flight: c.int("max_in_flight"),
      emits: c.json<string[]>("emits").notNull(),
      schedule: c.str("schedule"),
      schedule_tz: c.str("schedule_tz").notNull(),
      /** The number of its newest version of code; 0: it never had any. */
      code_version: c.int("code_version").notNull().default(0),
      /** What that version is as a plugin (shared/archive/content-hash.ts); null while it runs no code of its own. */
      code_sha256: c.str("code_sha256"),
      created_at: c.time("created_at").notNull(),
      updated_at: c.time("updated_at").notNull(),
    },
    (t) => [c.uniqueIndex("workloads_slug_idx").on(t.slug)],
  );

  return { workloads };
}
