import type { AuditEntry } from "#shared/protocol/schema/audit.ts";
import type { DeployOutcome } from "#shared/protocol/schema/operations.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** What operators read and do (rules/pipeline-operations#service-logs). Times epoch ms. */
export function defineOperationsTables(c: ColumnKit) {
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

  return { service_logs, audit, deploys };
}
