import type { Metrics } from "#hub/platform/metrics/metrics.ts";
import { createRoute } from "./create-route.ts";
import { newApp } from "./new-app.ts";
import { fails, streamed } from "./openapi-parts.ts";

const metricsRoute = createRoute({
  method: "get",
  path: "/metrics",
  access: "view",
  tags: ["health"],
  operationId: "getMetrics",
  summary: "Read the metrics of this process, for Prometheus",
  description:
    "The text format of Prometheus. Each process tells of itself: scrape every hub, not the router before them. " +
    "An answer is used again for 3 s.",
  responses: {
    200: {
      description: "The metrics",
      content: { "text/plain": { schema: { type: "string" } as const } },
    },
    ...fails(503),
  },
});

/** GET /metrics (rules/metrics#access). */
export const metricsRoutes = ({ metrics }: { readonly metrics: Metrics }) =>
  newApp().openapi(metricsRoute, async (c) =>
    streamed(c.body(await metrics.text(), 200, { "Content-Type": metrics.content_type })),
  );
