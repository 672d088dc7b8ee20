import type { AgentReport, DesiredInstance } from "#shared/protocol/schema/agent.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** Hosts with their agents, and how busy they were (rules/pipeline-agents#host-agents). Times epoch ms. */
export function defineAgentTables(c: ColumnKit) {
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

  return { agents, gpu_minutes, cpu_minutes };
}
