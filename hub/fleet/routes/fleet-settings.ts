import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { FleetSettings, PatchFleetSettings } from "#shared/protocol/schema/fleet-settings.ts";
import type { FleetContext } from "../context.ts";
import { patchFleetSettings, readFleetSettings } from "../registries/fleet-settings.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader } from "./params.ts";

const tags = ["settings"];

/** Settings of the fleet (rules/settings#change-settings). */
export function fleetSettingRoutes(ctx: FleetContext) {
  const read = createRoute({
    method: "get",
    path: "/settings",
    tags,
    access: "view",
    operationId: "getFleetSettings",
    summary: "The fleet's current settings, and what each key means",
    description:
      "`schema` is the JSON schema of PATCH, with a description and a default for each key.",
    responses: { ...ok(FleetSettings), ...fails(503) },
  });
  const patch = createRoute({
    method: "patch",
    path: "/settings",
    tags,
    access: "admin",
    until_password: "operate",
    changes: ["settings"],
    operationId: "updateFleetSettings",
    summary: "Change some of the settings; null restores the default",
    description:
      "All of the given keys change, or none. A change takes effect at every hub within a second. Requires the " +
      "administrator's password where there is one.",
    middleware: [jsonBodyLimit, idempotent(ctx)],
    request: {
      headers: IdempotencyHeader,
      ...json(PatchFleetSettings, { retention_days: 30, webhook_url: null }),
    },
    responses: { ...ok(FleetSettings), ...fails(400, 401, 409, 413, 415, 422, 429, 503) },
  });
  return newApp()
    .openapi(read, async (c) => c.json(await readFleetSettings(ctx), 200))
    .openapi(patch, async (c) => c.json(await patchFleetSettings(ctx, c.req.valid("json")), 200));
}
