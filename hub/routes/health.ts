import { createRoute } from "@hono/zod-openapi";
import { KV_READ_TIMEOUT_MS } from "#shared/limits.ts";
import { Health } from "#shared/schema/health.ts";
import { within } from "../cluster/deadline.ts";
import type { HubContext } from "../context.ts";
import { countWorkers } from "../fleet/view.ts";
import { newApp } from "../http/new-app.ts";
import { RETRY_AFTER_S } from "../http/on-error.ts";
import { ok } from "../http/openapi-parts.ts";

const health = createRoute({
  method: "get",
  path: "/health",
  tags: ["health"],
  summary: "Is the hub well?",
  description: "503 with the same body when the database does not answer. Open without a token.",
  responses: {
    ...ok(Health),
    503: {
      description: "The database or the worker registry does not answer",
      content: { "application/json": { schema: Health } },
    },
  },
});

/** GET /health (fleet spec §2.6). */
export const healthRoutes = (ctx: HubContext) =>
  newApp().openapi(health, async (c) => {
    const [store, workers] = await Promise.allSettled([
      within(ctx.clock, "database", KV_READ_TIMEOUT_MS, ctx.db.ping()),
      countWorkers(ctx),
    ]);
    const well = store.status === "fulfilled" && workers.status === "fulfilled";
    if (!well) c.header("Retry-After", RETRY_AFTER_S);
    const body = {
      status: well ? ("ok" as const) : ("degraded" as const),
      store: store.status === "fulfilled" ? ctx.db.dialect : "error",
      workers: workers.status === "fulfilled" ? workers.value : 0,
      version: ctx.version,
    };
    return c.json(body, well ? 200 : 503);
  });
