import { z } from "@hono/zod-openapi";

/** What the supervisor of the pipeline sees and does (design/api.md, Supervisor). */

/** `no_worker`: tasks are ready and no live worker may run them. `stuck`: workers are idle and nothing is run. */
export const SUPERVISED_PROBLEMS = ["no_worker", "stuck"] as const;
export type SupervisedProblem = (typeof SUPERVISED_PROBLEMS)[number];

/** `pause` switches the workload off, `reset` resets its failed tasks, `restart` starts dead instances, `report` only tells. */
export const SUPERVISED_ACTIONS = ["pause", "reset", "restart", "report"] as const;
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
