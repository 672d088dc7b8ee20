import type { AgentReport, DesiredInstance } from "#shared/protocol/schema/agent.ts";
import type { AuditEntry } from "#shared/protocol/schema/audit.ts";
import type { DeployOutcome } from "#shared/protocol/schema/operations.ts";
import type { SupervisedAction, SupervisedProblem } from "#shared/protocol/schema/supervisor.ts";
import type { ColumnKit } from "../kit.pg.ts";

/**
 * What the control plane keeps beside the queue: plugins, agents, logs and deploys (rules/pipeline-plugins#state,
 * rules/pipeline-agents#host-agents, rules/pipeline-operations#service-logs). Times epoch ms.
 */
export function defineOperationsTables(c: ColumnKit) {
  const plugin_state = c.table(
    "plugin_state",
    {
      slug: c.str("slug").notNull(),
      key: c.str("key").notNull(),
      value: c.json<{ value: unknown }>("value").notNull(),
      updated_at: c.time("updated_at").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.slug, t.key] })],
  );

  /** The bytes are in the object store under `object_key`, another one with every write: a blob never changes under a reader. */
  const plugin_blobs = c.table(
    "plugin_blobs",
    {
      slug: c.str("slug").notNull(),
      key: c.str("key").notNull(),
      mime: c.str("mime").notNull(),
      size: c.big("size").notNull(),
      sha256: c.str("sha256").notNull(),
      object_key: c.str("object_key").notNull(),
      updated_at: c.time("updated_at").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.slug, t.key] })],
  );

  /** A host's agent: what should run there, and what it last said runs there. `revision` grows with every change of `desired`. */
  const agents = c.table("agents", {
    host: c.str("host").primaryKey(),
    /** Kept by the agent over its restarts: a second agent on a host is told apart by it. */
    agent_id: c.str("agent_id"),
    desired: c.json<DesiredInstance[]>("desired").notNull(),
    revision: c.big("revision").notNull(),
    report: c.json<AgentReport>("report"),
    last_seen_at: c.time("last_seen_at"),
  });

  /** One reading of one GPU per minute, the last one told. */
  const gpu_minutes = c.table(
    "gpu_minutes",
    {
      minute: c.time("minute").notNull(),
      host: c.str("host").notNull(),
      gpu: c.int("gpu").notNull(),
      name: c.str("name").notNull(),
      util_percent: c.float("util_percent"),
      mem_used_mb: c.float("mem_used_mb"),
      mem_total_mb: c.float("mem_total_mb"),
    },
    (t) => [c.primaryKey({ columns: [t.minute, t.host, t.gpu] })],
  );

  /** How busy a host was: its first reading of each minute. */
  const cpu_minutes = c.table(
    "cpu_minutes",
    {
      minute: c.time("minute").notNull(),
      host: c.str("host").notNull(),
      cpu_percent: c.float("cpu_percent").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.minute, t.host] })],
  );

  /** `level`: 10 debug, 20 info, 30 warn, 40 error. */
  const service_logs = c.table(
    "service_logs",
    {
      log_id: c.key("log_id"),
      ts: c.time("ts").notNull(),
      host: c.str("host").notNull(),
      service: c.str("service").notNull(),
      level: c.int("level").notNull(),
      message: c.str("message").notNull(),
      fields: c.json<Record<string, unknown>>("fields").notNull(),
    },
    (t) => [c.index("service_logs_ts_idx").on(t.ts)],
  );

  /** Calls that changed something or were refused; `times` of those that were refused again and again. */
  const audit = c.table(
    "audit",
    {
      audit_id: c.key("audit_id"),
      at: c.time("at").notNull(),
      hub: c.str("hub").notNull(),
      caller_kind: c.str("caller_kind").$type<AuditEntry["caller"]["kind"]>().notNull(),
      caller_name: c.str("caller_name"),
      role: c.str("role"),
      token_id: c.str("token_id"),
      address: c.str("address").notNull(),
      method: c.str("method").notNull(),
      route: c.str("route"),
      path: c.str("path").notNull(),
      status: c.int("status").notNull(),
      error: c.str("error"),
      times: c.int("times").notNull(),
    },
    (t) => [c.index("audit_at_idx").on(t.at, t.audit_id)],
  );

  /** `running` is 1 while it runs and null afterwards: its unique index lets one run at a time. */
  const deploys = c.table(
    "deploys",
    {
      deploy_id: c.key("deploy_id"),
      target: c.str("target").notNull(),
      args: c.json<string[]>("args").notNull(),
      running: c.int("running"),
      /** Process that runs it; a deploy of a process that is gone is ended by the next one. */
      node: c.str("node").notNull(),
      started_at: c.time("started_at").notNull(),
      /** When its process last said that it runs. */
      beat_at: c.time("beat_at"),
      finished_at: c.time("finished_at"),
      /** Null while it runs. */
      outcome: c.str("outcome").$type<DeployOutcome>(),
      exit_code: c.int("exit_code"),
      error: c.str("error"),
      log: c.str("log").notNull(),
    },
    (t) => [c.uniqueIndex("deploys_running_idx").on(t.running)],
  );

  /** Where people put the nodes of the flow graph. */
  const flow_positions = c.table("flow_positions", {
    node_id: c.str("node_id").primaryKey(),
    x: c.float("x").notNull(),
    y: c.float("y").notNull(),
    updated_at: c.time("updated_at").notNull(),
  });

  /** Next time of every schedule; moved on by one conditional update, which decides who submits its task. */
  const schedules = c.table(
    "schedules",
    {
      workload_id: c.big("workload_id").notNull(),
      /** The expression and zone it was reckoned with: another one begins anew. */
      spec: c.str("spec").notNull(),
      next_at: c.time("next_at").notNull(),
      /** Until then one control process submits the tick; one that died in the middle leaves it to the next. */
      taken_until: c.time("taken_until").notNull().default(0),
    },
    (t) => [c.primaryKey({ columns: [t.workload_id] })],
  );

  /**
   * What the supervisor saw of a workload and did with it (rules/pipeline-supervision#one-decision). `seq` grows with
   * every change and decides which of several control processes acts.
   */
  const supervised = c.table(
    "supervised",
    {
      workload_id: c.big("workload_id").notNull(),
      seq: c.big("seq").notNull().default(0),
      /** Set while it is paused by the supervisor. */
      paused_at: c.time("paused_at"),
      /** Newest run when it last did something: the same runs never count twice. */
      last_run_id: c.big("last_run_id").notNull(),
      /** False from a pause until the failed tasks were reset: once. */
      reset: c.bool("reset").notNull(),
      /** What is wrong now, and since when; `told`: it was acted on. */
      problem: c.str("problem").$type<SupervisedProblem>(),
      problem_at: c.time("problem_at"),
      told: c.bool("told").notNull().default(false),
      /** The last intervention. */
      action: c.str("action").$type<SupervisedAction>(),
      reason: c.str("reason"),
      action_at: c.time("action_at"),
    },
    (t) => [c.primaryKey({ columns: [t.workload_id] })],
  );

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

  return {
    plugin_state,
    plugin_blobs,
    agents,
    gpu_minutes,
    cpu_minutes,
    service_logs,
    audit,
    deploys,
    flow_positions,
    schedules,
    supervised,
    worker_restarts,
  };
}
