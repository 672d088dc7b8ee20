import { z } from "@hono/zod-openapi";
import { Run } from "./queue.ts";
import { Supervision } from "./supervisor.ts";

/** Dashboard, flow graph and load of workers (rules/pipeline-views#dashboard-overview). */

const MAX_RATE_MINUTES = 2_880;
export const RATE_METRICS = [
  "submitted",
  "claimed",
  "succeeded",
  "failed",
  "expired",
  "emitted",
] as const;
export const RateMetric = z.enum(RATE_METRICS);
export type RateMetric = z.infer<typeof RateMetric>;

export const DashboardOverview = z
  .object({
    running: z.array(z.object({ workload: z.string(), claimed: z.int(), workers: z.int() })),
    /** Newest first, of the last day, without what they printed: that is in `GET /api/v1/runs/{run_id}`. */
    recent_failures: z.array(Run),
    /** Workloads that the supervisor paused or sees a problem with. */
    supervised: z.array(Supervision),
    /** Problems that keep workloads from running as configured. */
    problems: z.array(
      z.object({
        workload: z.string(),
        kind: z.enum(["broken_executor"]),
        message: z.string(),
        since: z.string(),
        workers: z.array(z.string()),
      }),
    ),
    queue_depths: z.array(
      z.object({
        workload: z.string(),
        pending: z.int(),
        claimed: z.int(),
        failed: z.int(),
        /** Age of the oldest task that could run now; null when none could. */
        oldest_pending_s: z.number().nullable(),
        /** Tasks that succeeded, a minute: the mean of the last five whole minutes. */
        done_per_min: z.number(),
      }),
    ),
  })
  .openapi("DashboardOverview");
export type DashboardOverview = z.infer<typeof DashboardOverview>;

/** `runs`: whether each of the last 20 succeeded, the newest last. `success_rate` 0 to 1; null without runs. */
export const RunsSummary = z
  .object({
    workloads: z.array(
      z.object({
        slug: z.string(),
        runs: z.array(z.boolean()),
        success_rate: z.number().nullable(),
      }),
    ),
  })
  .openapi("RunsSummary");
export type RunsSummary = z.infer<typeof RunsSummary>;

const Position = z.strictObject({
  x: z.number().min(-1e6).max(1e6),
  y: z.number().min(-1e6).max(1e6),
});
/** Node ids are `kind:name`, e.g. `workload:thumbnails`. */
export const FlowNode = z
  .object({
    id: z.string(),
    kind: z.enum(["source", "workload", "worker", "plugin"]),
    label: z.string(),
    position: Position,
    stats: z.record(z.string(), z.union([z.number(), z.string(), z.null()])),
  })
  .openapi("FlowNode");
export type FlowNode = z.infer<typeof FlowNode>;
export const FlowEdge = z
  .object({
    id: z.string(),
    source: z.string(),
    target: z.string(),
    kind: z.enum(["submit", "emit", "claim", "executor"]),
    rate_per_min: z.number(),
  })
  .openapi("FlowEdge");
export type FlowEdge = z.infer<typeof FlowEdge>;
export const FlowSnapshot = z
  .object({ nodes: z.array(FlowNode), edges: z.array(FlowEdge) })
  .openapi("FlowSnapshot");
export type FlowSnapshot = z.infer<typeof FlowSnapshot>;

export const RatesQuery = z.object({
  since_min: z.coerce.number().int().min(1).max(MAX_RATE_MINUTES).default(60),
  /** Empty means no filter: every workload, every metric. */
  slug: z.string().max(63).optional(),
  metric: z.enum(["", ...RATE_METRICS]).optional(),
});
/** Points are [epoch ms of the minute's start, events in it]; every minute has one. */
export const FlowRates = z
  .object({
    since_min: z.int(),
    bucket_s: z.literal(60),
    series: z.array(
      z.object({
        slug: z.string(),
        metric: RateMetric,
        /** Minute and value. Tools that know no `prefixItems` read `items`. */
        points: z.array(
          z
            .tuple([z.int(), z.number()])
            .openapi({ items: { type: "number" }, minItems: 2, maxItems: 2 }),
        ),
      }),
    ),
  })
  .openapi("FlowRates");
export type FlowRates = z.infer<typeof FlowRates>;

/** Body and answer of POST /flow/layout. */
export const FlowLayout = z
  .strictObject({
    positions: z
      .record(z.string().min(1).max(300), Position)
      .refine((p) => Object.keys(p).length <= 2_000, "at most 2000 positions"),
  })
  .openapi("FlowLayout");
export type FlowLayout = z.infer<typeof FlowLayout>;

export const WorkersCpu = z
  .object({
    workers: z.array(
      z.object({ id: z.string(), host: z.string(), cpu_percent: z.number().nullable() }),
    ),
    hosts: z.array(z.object({ host: z.string(), cpu_percent: z.number().nullable() })),
    /** The busiest host; null when none reports. */
    cluster_max: z.number().nullable(),
  })
  .openapi("WorkersCpu");
export type WorkersCpu = z.infer<typeof WorkersCpu>;

export const MetricsQuery = z.object({
  minutes: z.coerce.number().int().min(1).max(MAX_RATE_MINUTES).default(60),
});
export const GpuMetrics = z
  .object({
    minutes: z.int(),
    /** How busy each host was, by minute, as its workers reported it. */
    cpu: z.array(
      z.object({
        host: z.string(),
        points: z.array(z.object({ ts: z.string(), cpu_percent: z.number() })),
      }),
    ),
    series: z.array(
      z.object({
        host: z.string(),
        gpu: z.int(),
        name: z.string(),
        points: z.array(
          z.object({
            ts: z.string(),
            util_percent: z.number().nullable(),
            mem_used_mb: z.number().nullable(),
            mem_total_mb: z.number().nullable(),
          }),
        ),
      }),
    ),
  })
  .openapi("GpuMetrics");
export type GpuMetrics = z.infer<typeof GpuMetrics>;
