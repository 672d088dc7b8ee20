import { sql } from "drizzle-orm";
import type { BrokenSince, LogLine } from "#shared/protocol/schema/executor.ts";
import type { GpuReading } from "#shared/protocol/schema/pull.ts";
import type {
  Backoff,
  ExecutorConfig,
  ExecutorType,
  RateLimit,
} from "#shared/protocol/schema/workload.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** `tasks.state` as stored. On the wire `pending` is ready and delayed together (rules/pipeline-queue#states-of-a-task). */
export const TASK_STATE = { ready: 0, claimed: 1, failed: 2, delayed: 3 } as const;

/** `runs.outcome` as stored, in the order of the wire's names. */
export const RUN_OUTCOMES = [
  "success",
  "error",
  "timeout",
  "lease_expired",
  "crashed",
  "cancelled",
] as const;

/** What a workload's runs gave to another one, as `rate_minutes.metric`; beside the metrics of the wire. */
export const emitMetric = (to_workload_id: number) => `emit:${to_workload_id}` as const;
/** The workload an emit metric is about; null for every other metric. */
export const emitTarget = (metric: string): number | null => {
  const [, id] = /^emit:(\d+)$/.exec(metric) ?? [];
  return id === undefined ? null : Number(id);
};

/** The workload pipeline's tables (rules/pipeline-overview#what-the-service-does). Times epoch ms. */
export function defineQueueTables(c: ColumnKit) {
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

  /**
   * The queue. A task leaves it when it succeeds or is cancelled; its runs stay. `epoch` is the fence: odd while claimed,
   * even otherwise, never reset. `attempt` is consumed at claim. `worker` is the incarnation that holds it.
   */
  const tasks = c.table(
    "tasks",
    {
      task_id: c.key("task_id"),
      workload_id: c.big("workload_id").notNull(),
      state: c.int("state").notNull(),
      priority: c.int("priority").notNull(),
      attempt: c.int("attempt").notNull().default(0),
      max_attempts: c.int("max_attempts").notNull(),
      /** Its bound is the workload's as it is now; `max_attempts` is what that was when the task came. */
      follows_workload: c.bool("follows_workload").notNull().default(false),
      crash_count: c.int("crash_count").notNull().default(0),
      epoch: c.big("epoch").notNull().default(0),
      worker: c.str("worker"),
      worker_id: c.str("worker_id"),
      claimed_at: c.time("claimed_at"),
      lease_until: c.time("lease_until"),
      deadline_at: c.time("deadline_at"),
      run_at: c.time("run_at").notNull(),
      pk: c.str("pk").notNull(),
      extra: c.json<unknown>("extra"),
      last_error: c.str("last_error"),
      /** Of the failure of its last attempt (rules/failures#fingerprints), beside `last_error`. */
      fingerprint: c.str("fingerprint"),
      created_at: c.time("created_at").notNull(),
    },
    (t) => [
      c.uniqueIndex("tasks_pk_idx").on(t.workload_id, t.pk),
      c
        .index("tasks_ready_idx")
        .on(t.workload_id, sql`${t.priority} desc`, t.task_id)
        .where(sql`state = 0`),
      c.index("tasks_lease_idx").on(t.lease_until).where(sql`state = 1`),
      c.index("tasks_due_idx").on(t.run_at).where(sql`state = 3`),
      c.index("tasks_delayed_idx").on(t.workload_id, t.task_id).where(sql`state = 3`),
      c.index("tasks_failed_idx").on(t.workload_id, t.task_id).where(sql`state = 2`),
      // Tasks that never failed pay nothing for it.
      c
        .index("tasks_fingerprint_idx")
        .on(t.fingerprint, t.task_id)
        .where(sql`fingerprint is not null`),
    ],
  );

  /** One row for every attempt that ended (rules/pipeline-runs#fields-of-a-run). (task_id, epoch) names an attempt forever. */
  const runs = c.table(
    "runs",
    {
      run_id: c.key("run_id"),
      workload_id: c.big("workload_id").notNull(),
      task_id: c.big("task_id").notNull(),
      pk: c.str("pk").notNull(),
      attempt: c.int("attempt").notNull(),
      epoch: c.big("epoch").notNull(),
      outcome: c.int("outcome").notNull(),
      worker_id: c.str("worker_id"),
      started_at: c.time("started_at").notNull(),
      finished_at: c.time("finished_at").notNull(),
      duration_ms: c.big("duration_ms").notNull(),
      output: c.json<unknown>("output"),
      error: c.str("error"),
      truncated: c.bool("truncated").notNull().default(false),
      /** Null for a success, a cancelled run, and what was recorded before there were fingerprints. */
      fingerprint: c.str("fingerprint"),
    },
    (t) => [
      c.uniqueIndex("runs_attempt_idx").on(t.task_id, t.epoch),
      c.index("runs_workload_idx").on(t.workload_id, t.run_id),
      // Failures among millions of successes; successes pay nothing for it.
      // All that grouping them reads, because a row holds what the run put out.
      c
        .index("runs_failed_idx")
        .on(t.finished_at, t.run_id, t.fingerprint, t.workload_id, t.worker_id, t.outcome)
        .where(sql`outcome <> 0`),
      c
        .index("runs_fingerprint_idx")
        .on(t.fingerprint, t.run_id)
        .where(sql`fingerprint is not null`),
      c.index("runs_workload_failed_idx").on(t.workload_id, t.run_id).where(sql`outcome <> 0`),
      c.index("runs_failed_pk_idx").on(t.pk).where(sql`outcome <> 0`),
    ],
  );

  /** What a run printed; most print nothing and have no row. */
  const run_logs = c.table(
    "run_logs",
    {
      run_id: c.big("run_id").notNull(),
      stdout: c.str("stdout").notNull(),
      stderr: c.str("stderr").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.run_id] })],
  );

  /**
   * What an attempt said of itself while it ran: how far it is, and lines of its log. By attempt and not by run, so that the
   * last words of a worker that died are those of the run that its lease's end records. Most attempts say nothing.
   */
  const run_notes = c.table(
    "run_notes",
    {
      task_id: c.big("task_id").notNull(),
      epoch: c.big("epoch").notNull(),
      /** 0 to 1, null when only words came, and those words. */
      progress: c.float("progress"),
      progress_text: c.str("progress_text"),
      /** The last lines, and how many came before them. */
      lines: c.json<LogLine[]>("lines").notNull(),
      dropped: c.int("dropped").notNull(),
      /** Of the worker: what is told late does not undo what is newer. */
      seq: c.int("seq").notNull(),
      updated_at: c.time("updated_at").notNull(),
    },
    (t) => [
      c.primaryKey({ columns: [t.task_id, t.epoch] }),
      c.index("run_notes_updated_idx").on(t.updated_at),
    ],
  );

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

  return {
    pull_workers,
    workloads,
    tasks,
    runs,
    run_logs,
    run_notes,
    workload_stats,
    rate_minutes,
    rate_claims,
    rate_windows,
  };
}
