import { pgKit } from "./kit.pg.ts";
import { defineTables } from "./tables.ts";

export const {
  jobs,
  assets,
  job_events,
  workers,
  settings,
  idempotency_keys,
  hosts,
  profiles,
  pull_workers,
  workloads,
  tasks,
  runs,
  run_logs,
  workload_stats,
  rate_minutes,
  rate_windows,
} = defineTables(pgKit);
