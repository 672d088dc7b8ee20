import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import {
  DashboardOverview,
  FlowLayout,
  FlowRates,
  FlowSnapshot,
  GpuMetrics,
  MetricsQuery,
  RatesQuery,
  RunsSummary,
  WorkersCpu,
} from "#shared/protocol/schema/flow.ts";
import type { PipelineContext } from "../context.ts";
import { getOverview, getRunsSummary } from "../flow/dashboard.ts";
import { getSnapshot, resetLayout, saveLayout } from "../flow/flow-graph.ts";
import { getRates } from "../flow/flow-rates.ts";
import { getGpuMetrics, getWorkersCpu } from "../flow/load.ts";

const routes = {
  cpu: createRoute({
    method: "get",
    path: "/api/v1/workers/cpu",
    access: "view",
    tags: ["pull workers"],
    operationId: "getPullWorkerCpu",
    summary: "Read the CPU use of workers, of hosts and of the busiest host",
    description: "From the last heartbeats of present workers.",
    responses: ok(WorkersCpu),
  }),
  gpus: createRoute({
    method: "get",
    path: "/api/v1/workers/metrics",
    access: "view",
    tags: ["pull workers"],
    operationId: "getPullWorkerMetrics",
    summary: "Read CPU and GPU use by minute",
    description:
      "`cpu` has the hosts of pull workers; `series` the GPUs of hosts with nvidia-smi, and is empty elsewhere.",
    request: { query: MetricsQuery },
    responses: { ...ok(GpuMetrics), ...fails(422) },
  }),
  overview: createRoute({
    method: "get",
    path: "/api/v1/dashboard/overview",
    access: "view",
    tags: ["dashboard"],
    operationId: "getOverview",
    summary: "Read what runs, what failed recently and how long the queues are",
    description: "Everything a first page needs in one call.",
    responses: ok(DashboardOverview),
  }),
  summary: createRoute({
    method: "get",
    path: "/api/v1/dashboard/workloads-runs-summary",
    access: "view",
    tags: ["dashboard"],
    operationId: "getRunsSummary",
    summary: "Read the results of the last 20 runs of every workload",
    description: "Newest last, with the share of successes.",
    responses: ok(RunsSummary),
  }),
  snapshot: createRoute({
    method: "get",
    path: "/api/v1/flow/snapshot",
    access: "view",
    tags: ["flow"],
    operationId: "getFlowSnapshot",
    summary: "Read the flow graph: sources, workloads, plugins, workers and the tasks between them",
    description: "Nodes and edges in the shape that @xyflow/react draws, with saved positions.",
    responses: ok(FlowSnapshot),
  }),
  rates: createRoute({
    method: "get",
    path: "/api/v1/flow/rates",
    access: "view",
    tags: ["flow"],
    operationId: "getFlowRates",
    summary: "Read events per minute, for at most 2,880 minutes",
    description: "One series for each workload and metric, with one value per minute.",
    request: { query: RatesQuery },
    responses: { ...ok(FlowRates), ...fails(404, 422) },
  }),
  layout: createRoute({
    method: "post",
    path: "/api/v1/flow/layout",
    access: "operate",
    changes: ["v1/flow"],
    tags: ["flow"],
    operationId: "saveFlowLayout",
    summary: "Save positions of nodes of the flow graph",
    description: "Answers with every saved position. Other nodes stay where they are.",
    middleware: [jsonBodyLimit],
    request: json(FlowLayout, { positions: { "workload:thumbnails": { x: 120, y: 40 } } }),
    responses: { ...ok(FlowLayout), ...fails(400, 409, 413, 415, 422) },
  }),
  reset: createRoute({
    method: "delete",
    path: "/api/v1/flow/layout",
    access: "operate",
    changes: ["v1/flow"],
    tags: ["flow"],
    operationId: "deleteFlowLayout",
    summary: "Delete every saved position of the flow graph",
    description: "The snapshot arranges nodes in columns again: sources, workloads, workers.",
    responses: { ...ok(FlowLayout), ...fails(409, 422) },
  }),
};

/** Load of workers, dashboard and flow graph (rules/pipeline-views#dashboard-overview, rules/pipeline-views#flow-snapshot). */
export function viewRoutes(ctx: Pick<PipelineContext, "db" | "clock" | "wall_jumps" | "pipeline">) {
  return newApp()
    .openapi(routes.cpu, async (c) => c.json(await getWorkersCpu(ctx), 200))
    .openapi(routes.gpus, async (c) =>
      c.json(await getGpuMetrics(ctx, c.req.valid("query").minutes), 200),
    )
    .openapi(routes.overview, async (c) => c.json(await getOverview(ctx), 200))
    .openapi(routes.summary, async (c) => c.json(await getRunsSummary(ctx), 200))
    .openapi(routes.snapshot, async (c) => c.json(await getSnapshot(ctx), 200))
    .openapi(routes.rates, async (c) => c.json(await getRates(ctx, c.req.valid("query")), 200))
    .openapi(routes.layout, async (c) => c.json(await saveLayout(ctx, c.req.valid("json")), 200))
    .openapi(routes.reset, async (c) => c.json(await resetLayout(ctx), 200));
}
