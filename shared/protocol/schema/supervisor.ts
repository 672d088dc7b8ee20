import { z } from "@hono/zod-openapi";

/** What the supervisor of the pipeline sees and does (rules/pipeline-supervision#problems-it-reports). */

/**
 * While tasks are ready: `no_worker`, no live worker may run them; `dead_instances`, their agents gave up on
 * some that may run them; `broken_executor`, their code does not load on a worker; `stuck`, workers are idle and
 * nothing runs.
 */
const SUPERVISED_PROBLEMS = ["no_worker", "dead_instances", "broken_executor", "stuck"] as const;
export type SupervisedProblem = (typeof SUPERVISED_PROBLEMS)[number];

/**
 * `pause` switches the workload off, `reset` retries its failed tasks, `restart` starts dead instances, `report` only
 * reports.
 */
const SUPERVISED_ACTIONS = ["pause", "reset", "restart", "report"] as const;
export type SupervisedAction = (typeof SUPERVISED_ACTIONS)[number];

/** Answer of GET /workloads/{slug}/supervisor. */
export const Supervision = z
  .object({
    workload: z.string(),
    supervisor_enabled: z.boolean(),
    /** Set while it is paused by the supervisor. */
    paused_at: z.string().nullable(),
    problem: z.enum(SUPERVISED_PROBLEMS).nullable(),
    problem_since: z.string().nullable(),
    /** The last intervention. */
    action: z.enum(SUPERVISED_ACTIONS).nullable(),
    reason: z.string().nullable(),
    action_at: z.string().nullable(),
  })
  .openapi("Supervision");
export type Supervision = z.infer<typeof Supervision>;
