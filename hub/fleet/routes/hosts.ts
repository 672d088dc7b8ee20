import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { Host, HostList, PutHost } from "#shared/protocol/schema/host.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import type { FleetContext } from "../context.ts";
import { deleteHost, getHost, listHosts, putHost } from "../registries/hosts.ts";
import { RECIPE_EXAMPLE } from "./host-recipes.ts";
import { idempotent } from "./idempotent.ts";
import { HostParams, IdempotencyHeader } from "./params.ts";

const tags = ["hosts"];

const list = createRoute({
  method: "get",
  path: "/hosts",
  access: "view",
  tags,
  operationId: "listHosts",
  summary: "List all hosts with their settings",
  description: "Cookie values are shown as `***`.",
  request: { query: PageQuery },
  responses: { ...ok(HostList), ...fails(422, 503) },
});
const read = createRoute({
  method: "get",
  path: "/hosts/{host}",
  access: "view",
  tags,
  operationId: "getHost",
  summary: "Read all recipes and settings of a host",
  description: "Cookie values are shown as `***`.",
  request: { params: HostParams },
  responses: { ...ok(Host), ...fails(404, 503) },
});

/** What is set for a host (rules/hosts#host-record). */
export function hostRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const headers = IdempotencyHeader;
  const put = createRoute({
    method: "put",
    path: "/hosts/{host}",
    access: "operate",
    changes: ["hosts"],
    tags,
    operationId: "putHost",
    summary: "Replace all settings of a host; without `cookies`, the stored ones stay",
    description:
      "A cookie whose value is `***` keeps the stored value, so that you can send back what you read.",
    middleware,
    request: {
      params: HostParams,
      headers,
      ...json(PutHost, { recipes: [RECIPE_EXAMPLE], popup_policy: "block" }),
    },
    responses: { ...ok(Host), ...fails(400, 409, 413, 415, 422, 503) },
  });
  const remove = createRoute({
    method: "delete",
    path: "/hosts/{host}",
    access: "operate",
    changes: ["hosts"],
    tags,
    operationId: "deleteHost",
    summary: "Forget a host with its recipes and cookies",
    description: "Jobs that are already running keep what they were given.",
    middleware,
    request: { params: HostParams, headers },
    responses: { 204: { description: "Forgotten" }, ...fails(404, 409, 413, 422, 503) },
  });
  return newApp()
    .openapi(list, async (c) => {
      const { page, next_cursor } = pageOf(
        await listHosts(ctx),
        ({ host }) => host,
        c.req.valid("query"),
      );
      return c.json({ hosts: page, next_cursor }, 200);
    })
    .openapi(read, async (c) => c.json(await getHost(ctx, c.req.valid("param").host), 200))
    .openapi(put, async (c) =>
      c.json(await putHost(ctx, c.req.valid("param").host, c.req.valid("json")), 200),
    )
    .openapi(remove, async (c) => {
      await deleteHost(ctx, c.req.valid("param").host);
      return c.body(null, 204);
    });
}
