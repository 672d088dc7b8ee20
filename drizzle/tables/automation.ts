import type { SupervisedAction, SupervisedProblem } from "#shared/protocol/schema/supervisor.ts";
import type { ColumnKit } from "../kit.pg.ts";

/** What the hub does with workloads by itself. Times epoch ms. */
export function defineAutomationTables(c: ColumnKit) {
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

  return { schedules, supervised };
}
