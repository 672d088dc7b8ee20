import type { ListFilters } from "#shared/protocol/schema/saved-list.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** What is kept under a key of its own. */
export function defineKeyTables(c: ColumnKit) {
  const settings = c.table("settings", {
    key: c.str("key").primaryKey(),
    value: c.json<unknown>("value").notNull(),
    updated_at: c.time("updated_at").notNull(),
  });

  /**
   * First answers of calls with an Idempotency-Key (rules/pipeline-api#idempotency-keys), kept 24 h. `answer` is null
   * while the call runs.
   */
  const idempotency_keys = c.table(
    "idempotency_keys",
    {
      key: c.str("key").primaryKey(),
      fingerprint: c.str("fingerprint").notNull(),
      answer: c.json<{ status: number; body: unknown; headers: Record<string, string> }>("answer"),
      created_at: c.time("created_at").notNull(),
      /** The process that runs the call, and until when it is believed to; null in rows of earlier versions. */
      owner: c.str("owner"),
      leased_until: c.time("leased_until"),
    },
    (t) => [c.index("idempotency_created_idx").on(t.created_at)],
  );

  /**
   * The keys of tasks that are taken once (rules/pipeline-tasks#tasks-that-are-taken-once). They stay when the task is gone,
   * for as long as their workload; tasks of every other kind cost nothing here.
   */
  const once_keys = c.table(
    "once_keys",
    {
      workload_id: c.big("workload_id").notNull(),
      pk: c.str("pk").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.workload_id, t.pk] })],
  );
  /** A list with its filters, kept under a name for everybody (rules/saved-lists#what-a-saved-list-is). */
  const saved_lists = c.table(
    "saved_lists",
    {
      page: c.str("page").notNull(),
      name: c.str("name").notNull(),
      filters: c.json<ListFilters>("filters").notNull(),
      /** Who saved it first, as the audit log calls them. */
      saved_by: c.str("saved_by").notNull(),
      created_at: c.time("created_at").notNull(),
      updated_at: c.time("updated_at").notNull(),
    },
    (t) => [c.primaryKey({ columns: [t.page, t.name] })],
  );

  /** Where people put the nodes of the flow graph. */
  const flow_positions = c.table("flow_positions", {
    node_id: c.str("node_id").primaryKey(),
    x: c.float("x").notNull(),
    y: c.float("y").notNull(),
    updated_at: c.time("updated_at").notNull(),
  });

  return { settings, idempotency_keys, once_keys, saved_lists, flow_positions };
}
