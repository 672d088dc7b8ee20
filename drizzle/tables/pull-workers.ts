import type { BrokenSince } from "#shared/protocol/schema/executor.ts";
import type { GpuReading } from "#shared/protocol/schema/pull.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** The workers of the pipeline. Times epoch ms. */
export function definePullWorkerTables(c: ColumnKit) {
  /** A pull worker as it last spoke (rules/pipeline-pull#incarnations). `incarnation` is new at every start of its process. */
  const pull_workers = c.table("pull_workers", {
    worker_id: c.str("worker_id").primaryKey(),
    incarnation: c.str("incarnation").notNull(),
    host: c.str("host").notNull(),
    version: c.str("version").notNull(),
    slots: c.int("slots").notNull(),
    labels: c.json<Record<string, string>>("labels").notNull(),
    /** Slugs it may run; null: all. Set by an operator, so it outlives the process. */
    filter: c.json<string[]>("filter"),
    draining: c.bool("draining").notNull(),
    in_flight: c.int("in_flight").notNull(),
    /** Of the worker and all it started, and of its whole host. */
    cpu_percent: c.float("cpu_percent"),
    host_cpu_percent: c.float("host_cpu_percent"),
    mem_percent: c.float("mem_percent"),
    gpus: c.json<GpuReading[]>("gpus").notNull(),
    /** Workloads whose code it cannot load; null: none. */
    broken: c.json<BrokenSince[]>("broken"),
    started_at: c.time("started_at").notNull(),
    last_heartbeat_at: c.time("last_heartbeat_at").notNull(),
  });

  /** Restarts over SSH of one worker: how many in the hour that runs, and how the last one ended. */
  const worker_restarts = c.table("worker_restarts", {
    worker_id: c.str("worker_id").primaryKey(),
    /** Begin of the hour that is counted. */
    window_at: c.time("window_at").notNull(),
    used: c.int("used").notNull(),
    /** Set while one is under way: it is over by then whatever happens. */
    busy_until: c.time("busy_until"),
    last_at: c.time("last_at").notNull(),
    exit_code: c.int("exit_code"),
    error: c.str("error"),
  });

  return { pull_workers, worker_restarts };
}
