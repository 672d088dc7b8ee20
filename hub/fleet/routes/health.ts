import { createRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { RETRY_AFTER_S } from "#hub/platform/http/on-error.ts";
import { ok } from "#hub/platform/http/openapi-parts.ts";
import { withDeadline } from "#shared/kit/clock.ts";
import { KV_READ_TIMEOUT_MS } from "#shared/protocol/limits.ts";
import { type Degraded, Health } from "#shared/protocol/schema/health.ts";
import type { FleetContext } from "../context.ts";
import { stoppingOf } from "../links/drain.ts";
import { countFleet } from "../links/view.ts";

const health = createRoute({
  method: "get",
  path: "/health",
  access: "public",
  tags: ["health"],
  operationId: "getHealth",
  summary: "Is the hub healthy?",
  description:
    "`degraded` names what does not work and why: a database or an object store that cannot write, because its disk " +
    "is full or read-only, is `degraded` with 200, because what is stored can be read, and so is a disk that is short; one that does not answer is " +
    "503. A result is reused for 5 s. `stopping`: the hub was asked to stop and still serves, but assigns nothing. " +
    "Needs no token.",
  responses: {
    ...ok(Health),
    503: {
      description: "The database or the worker registry does not answer",
      content: { "application/json": { schema: Health } },
    },
  },
});

/** GET /health (rules/operations#health). */
export const healthRoutes = (ctx: FleetContext) =>
  newApp().openapi(health, async (c) => {
    const [store, fleet, stores] = await Promise.allSettled([
      withDeadline("database", KV_READ_TIMEOUT_MS, ctx.db.ping(), ctx.clock),
      countFleet(ctx),
      ctx.stores_health.degraded(),
    ]);
    const answers = store.status === "fulfilled" && fleet.status === "fulfilled";
    if (!answers) c.header("Retry-After", RETRY_AFTER_S);
    const degraded: Degraded[] = stores.status === "fulfilled" ? [...stores.value] : [];
    const add = (part: Degraded["part"], detail: string) => {
      if (!degraded.some((one) => one.part === part)) degraded.push({ part, detail });
    };
    if (store.status === "rejected") add("database", "it does not answer");
    if (fleet.status === "rejected") add("worker_registry", "it does not answer");
    const { disk, shortage } = ctx.disk_room;
    if (shortage !== null) add("disk", shortage);
    const body = {
      status: degraded.length === 0 ? ("ok" as const) : ("degraded" as const),
      store: store.status === "fulfilled" ? ctx.db.dialect : "error",
      workers: fleet.status === "fulfilled" ? fleet.value.workers : 0,
      lanes: fleet.status === "fulfilled" ? fleet.value.lanes : { total: 0, busy: 0 },
      version: ctx.version,
      degraded,
      disk,
      stopping: stoppingOf(ctx),
    };
    return c.json(body, answers ? 200 : 503);
  });
