import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import {
  approveUpdate,
  pauseUpdates,
  pinUpdate,
  resumeUpdates,
} from "#hub/platform/rollout/commands.ts";
import { viewUpdates } from "#hub/platform/rollout/view.ts";
import { ApproveUpdate, FleetUpdates, PinUpdate } from "#shared/protocol/schema/updates.ts";
import type { PipelineContext } from "../context.ts";

const path = "/api/v1/updates";
const tags = ["updates"];

const routes = {
  read: createRoute({
    method: "get",
    path,
    tags,
    access: "view",
    operationId: "getUpdates",
    summary: "Read which version the workers should have, and their progress",
    description:
      "Workers go to the hub's version one after the other (SVC_UPDATE_PARALLEL). The first of each kind is a canary: the " +
      "others follow once it is back, healthy, and has done a job. A failure stops the roll-out of that version. `workers` lists those " +
      "that do not have the version they should have, or whose update is not over.",
    responses: ok(FleetUpdates),
  }),
  pause: createRoute({
    method: "post",
    path: `${path}/pause`,
    tags,
    access: "admin",
    changes: ["v1/updates"],
    operationId: "pauseUpdates",
    summary: "Pause updates: no further worker changes its version (administrator)",
    description: "Updates that have begun are completed.",
    responses: { ...ok(FleetUpdates), ...fails(401, 403, 429, 503) },
  }),
  resume: createRoute({
    method: "post",
    path: `${path}/resume`,
    tags,
    access: "admin",
    changes: ["v1/updates"],
    operationId: "resumeUpdates",
    summary: "Continue paused updates (administrator)",
    description: "A roll-out that a failure stopped needs `approve`.",
    responses: { ...ok(FleetUpdates), ...fails(401, 403, 429, 503) },
  }),
  approve: createRoute({
    method: "post",
    path: `${path}/approve`,
    tags,
    access: "admin",
    changes: ["v1/updates"],
    operationId: "approveUpdates",
    summary: "Approve a roll-out that stopped or waits for approval (administrator)",
    description:
      "After a failure, or after the canary if SVC_UPDATE_APPROVAL is `manual`. The approval holds for this version until the next " +
      "failure. Workers that ran the version and went back keep their old one. 409 if `version` is not the one being rolled out.",
    middleware: [jsonBodyLimit],
    request: json(ApproveUpdate, {}),
    responses: { ...ok(FleetUpdates), ...fails(400, 401, 403, 409, 413, 415, 422, 429, 503) },
  }),
  pin: createRoute({
    method: "post",
    path: `${path}/pin`,
    tags,
    access: "admin",
    changes: ["v1/updates"],
    operationId: "pinUpdates",
    summary: "Pin the fleet, or one worker, to a version (administrator)",
    description:
      "Whatever version the hub has. A worker can go back to a version that it still has: its program's own and the one before. " +
      "`version: null` removes the pin. 422 for a version that no hub or worker has or had.",
    middleware: [jsonBodyLimit],
    request: json(PinUpdate, { version: null }),
    responses: { ...ok(FleetUpdates), ...fails(400, 401, 403, 404, 413, 415, 422, 429, 503) },
  }),
};

/** Updates of the workers (rules/updates#steering-updates). */
export function updateRoutes(ctx: Pick<PipelineContext, "rollout" | "clock" | "log">) {
  return newApp()
    .openapi(routes.read, (c) => c.json(viewUpdates(ctx.rollout.look(), ctx.rollout.config), 200))
    .openapi(routes.pause, async (c) => c.json(await pauseUpdates(ctx), 200))
    .openapi(routes.resume, async (c) => c.json(await resumeUpdates(ctx), 200))
    .openapi(routes.approve, async (c) =>
      c.json(await approveUpdate(ctx, c.req.valid("json").version), 200),
    )
    .openapi(routes.pin, async (c) => c.json(await pinUpdate(ctx, c.req.valid("json")), 200));
}
