import type { MiddlewareHandler } from "hono";
import { createRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { jsonLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { RETRY_AFTER_S } from "#hub/platform/http/on-error.ts";
import { ok } from "#hub/platform/http/openapi-parts.ts";
import { keyedCall } from "#hub/platform/idempotency/keyed-call.ts";
import { isoTime, withDeadline } from "#shared/kit/clock.ts";
import { KV_READ_TIMEOUT_MS } from "#shared/protocol/limits.ts";
import { ControlHealth, ControlStatus } from "#shared/protocol/schema/health.ts";
import type { PipelineContext } from "./context.ts";
import { maskDbUrl } from "./mask-db-url.ts";
import { agentRoutes } from "./routes/agents.ts";
import { deployRoutes } from "./routes/deploy.ts";
import { failureRoutes } from "./routes/failures.ts";
import { objectRoutes } from "./routes/objects.ts";
import { pluginStoreRoutes } from "./routes/plugin-store.ts";
import { pluginRoutes } from "./routes/plugins.ts";
import { pullRoutes } from "./routes/pull.ts";
import { pullDaemonRoutes } from "./routes/pull-daemon.ts";
import { scheduleRoutes } from "./routes/schedules.ts";
import { searchRoutes } from "./routes/search.ts";
import { serviceLogRoutes } from "./routes/service-logs.ts";
import { settingRoutes } from "./routes/settings.ts";
import { supervisorRoutes } from "./routes/supervisor.ts";
import { taskImportRoutes } from "./routes/task-import.ts";
import { taskStatusRoutes } from "./routes/task-status.ts";
import { updateRoutes } from "./routes/updates.ts";
import { viewRoutes } from "./routes/views.ts";
import { workloadCodeRoutes } from "./routes/workload-code.ts";
import { MAX_BATCH_BYTES } from "./routes/workload-routes.ts";
import { runRoutes, taskRoutes, workloadRoutes } from "./routes/workloads.ts";

const tags = ["control"];

const health = createRoute({
  method: "get",
  path: "/api/v1/health",
  access: "public",
  tags,
  operationId: "getControlHealth",
  summary: "Health of the control plane",
  description:
    "503 with ok: false when the database does not answer. `degraded` names what does not work and why, as in `/health`: " +
    "a database or an object store that cannot be written to leaves `ok` true, because stored data can still be read. Needs no token.",
  responses: {
    ...ok(ControlHealth),
    503: {
      description: "The database does not answer",
      content: { "application/json": { schema: ControlHealth } },
    },
  },
});
const status = createRoute({
  method: "get",
  path: "/api/v1/status",
  access: "view",
  tags,
  operationId: "getControlStatus",
  summary: "What runs here",
  description: "Passwords in the database's address are masked.",
  responses: ok(ControlStatus),
});

/**
 * The control plane below /api/v1; served alone in control mode, next to the hub in dev mode
 * (rules/pipeline-overview#modes-and-flags).
 */
export function controlRoutes(ctx: PipelineContext) {
  const app = newApp();
  const parts = [
    systemRoutes(ctx),
    workloadRoutes(ctx),
    workloadCodeRoutes(ctx),
    scheduleRoutes(ctx),
    taskRoutes(ctx),
    taskImportRoutes(ctx),
    runRoutes(ctx),
    taskStatusRoutes(ctx),
    failureRoutes(ctx),
    pluginRoutes(ctx),
    pluginStoreRoutes(ctx),
    objectRoutes(ctx),
    viewRoutes(ctx),
    searchRoutes(ctx),
    pullRoutes(ctx),
    pullDaemonRoutes(ctx),
    agentRoutes(ctx),
    supervisorRoutes(ctx),
    settingRoutes(ctx),
    serviceLogRoutes(ctx),
    deployRoutes(ctx),
    updateRoutes(ctx),
  ];
  app.use("/api/v1/*", onceWithKey(ctx));
  for (const part of parts) app.route("/", part);
  return app;
}

/**
 * Calls that accept a key. Those that require a password or a secret do not: anybody who sends the key gets the stored
 * answer.
 */
const KEYED =
  /^\/api\/v1\/((workloads|failures|plugins|flow)(\/|$)|workers\/[^/]+\/(filter|admin-command)$)/;

/** Calls that change something may carry Idempotency-Key (rules/pipeline-api#idempotency-keys). */
function onceWithKey(
  ctx: Pick<PipelineContext, "clock" | "running_calls" | "db">,
): MiddlewareHandler<HttpEnv> {
  const limit = jsonLimit(MAX_BATCH_BYTES);
  const once = keyedCall(ctx);
  return async function onceWithKeyGuard(c, next) {
    const keyed = c.req.header("idempotency-key") !== undefined;
    if (!keyed || c.req.method === "GET" || !KEYED.test(c.req.path)) return next();
    // The whole body is hashed, so its length is checked first.
    return limit(c, async () => {
      const answer = await once(c, next);
      if (answer) c.res = answer;
    });
  };
}

const systemRoutes = ({
  config,
  clock,
  version,
  db,
  stores_health,
  disk_room,
}: Pick<PipelineContext, "clock" | "config" | "db" | "disk_room" | "stores_health" | "version">) =>
  newApp()
    .openapi(health, async (c) => {
      const [pinged, found] = await Promise.allSettled([
        withDeadline("database", KV_READ_TIMEOUT_MS, db.ping(), clock),
        stores_health.degraded(),
      ]);
      const answered = pinged.status === "fulfilled";
      const degraded = found.status === "fulfilled" ? [...found.value] : [];
      if (!answered && !degraded.some(({ part }) => part === "database"))
        degraded.push({ part: "database", detail: "it does not answer" });
      const { disk, shortage } = disk_room;
      if (shortage !== null) degraded.push({ part: "disk", detail: shortage });
      if (!answered) c.header("Retry-After", RETRY_AFTER_S);
      return c.json({ ok: answered, version, degraded, disk }, answered ? 200 : 503);
    })
    .openapi(status, (c) =>
      c.json(
        { version, mode: config.mode, db_url: maskDbUrl(config.db_url), now: isoTime(clock.now()) },
        200,
      ),
    );
