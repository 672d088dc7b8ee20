import type { ColumnKit } from "../kit.pg.ts";

/** What a workload's runs gave to another one, as `rate_minutes.metric`; beside the metrics of the wire. */
export const emitMetric = (to_workload_id: number) => `emit:${to_workload_id}` as const;
/** The workload an emit metric is about; null for every other metric. */
export const emitTarget = (metric: string): number | null => {
  const [, id] = /^emit:(\d+)$/.exec(metric) ?? [];
  return id === undefined ? null : Number(id);
};

/** What is counted as it happens, so that nobody counts rows. Times epoch ms. */
export function defineCounterTables(c: ColumnKit) {
  /** Counters instead of count(*): one row for every workload and control process, summed when read. */
  const workload_stats = c.table(
    "workload_stats",
    {
      workload_id: c.big("workload_id").notNull(),
      node: c.str("node").notNull(),
      ready: c.big("ready").notNull().default(0),
      claimed: c.big("claimed").notNull().default(0),
      failed: c.big("failed").notNull().default(0),
      delayed: c.big("delayed").notNull().default(0),
      /** The last 20 runs as bits, the newest lowest; `last_n` of them count. */
      last_runs: c.int("last_runs").notNull().default(0),
      last_n: c.int("last_n").notNull().default(0),
      last_at: c.time("last_at").notNull().default(0),
    },
    (t) => [c.primaryKey({ columns: [t.workload_id, t.node] })],
  );

  /** Events of a workload in one minute (`minute` is epoch ms of its start). */
  const rate_minutes = c.table(
    "rate_minutes",
    {
      minute: c.time("minute").notNull(),
      workload_id: c.big("workload_id").notNull(),
      metric: c.str("metric").notNull(),
      node: c.str("node").notNull(),
      n: c.big("n").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.minute, t.workload_id, t.metric, t.node] })],
  );

  /**
   * The claims of a rate-limited workload within its last `per_s` seconds, gathered into pieces of that time so that
   * their number is bounded. `at`: the end of the piece, so none is forgotten too early.
   */
  const rate_claims = c.table(
    "rate_claims",
    {
      workload_id: c.big("workload_id").notNull(),
      at: c.time("at").notNull(),
      used: c.int("used").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.workload_id, t.at] })],
  );

  /** Of the version before `rate_claims`, which reads it while a fleet is upgraded one by one: to be dropped with the next one. */
  const rate_windows = c.table(
    "rate_windows",
    {
      workload_id: c.big("workload_id").notNull(),
      started_at: c.time("started_at").notNull(),
      used: c.int("used").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.workload_id] })],
  );

  return { workload_stats, rate_minutes, rate_claims, rate_windows };
}
