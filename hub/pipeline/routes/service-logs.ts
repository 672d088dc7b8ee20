import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { LogPage, LogQuery, LogsShipped, ShipLogs } from "#shared/protocol/schema/operations.ts";
import type { PipelineContext } from "../context.ts";
import { listLogs, storeLogs } from "../operations/service-logs.ts";

const path = "/api/v1/service-logs";
const tags = ["service logs"];
const SHIPPED = {
  host: "gpu-1",
  service: "worker",
  logs: [
    {
      ts: "2026-01-01T00:00:00.000Z",
      level: "info" as const,
      message: "pull worker started",
      fields: { slots: 4 },
    },
  ],
};

const routes = {
  list: createRoute({
    method: "get",
    path,
    tags,
    access: "view",
    operationId: "listServiceLogs",
    summary: "What hubs, control planes and workers logged, newest first",
    description: "Filters combine; `next_cursor` is the `cursor` of the next page.",
    request: { query: LogQuery },
    responses: { ...ok(LogPage), ...fails(422) },
  }),
  ship: createRoute({
    method: "post",
    path,
    tags,
    access: "worker",
    changes: ["v1/service-logs"],
    operationId: "reportServiceLogs",
    summary: "Send a worker's log lines",
    description:
      "For the worker's daemon. Lines are kept for a limited time and in a limited number.",
    middleware: [jsonBodyLimit],
    request: json(ShipLogs, SHIPPED),
    responses: { ...ok(LogsShipped), ...fails(400, 401, 413, 415, 422, 503) },
  }),
};

/** Service logs (rules/pipeline-operations#service-logs). */
export function serviceLogRoutes(ctx: Pick<PipelineContext, "clock" | "config" | "db">) {
  return newApp()
    .openapi(routes.list, async (c) => c.json(await listLogs(ctx, c.req.valid("query")), 200))
    .openapi(routes.ship, async (c) => c.json(await storeLogs(ctx, c.req.valid("json")), 200));
}
