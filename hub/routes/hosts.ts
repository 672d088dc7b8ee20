import { createRoute } from "@hono/zod-openapi";
import {
  Host,
  HostList,
  PutHost,
  PutHostCookies,
  SyncCookies,
  SyncedCookies,
} from "#shared/schema/host.ts";
import { LoginRecipe, Recipe } from "#shared/schema/recipe.ts";
import type { HubContext } from "../context.ts";
import { jsonBodyLimit } from "../http/guards.ts";
import { newApp } from "../http/new-app.ts";
import { fails, json, ok } from "../http/openapi-parts.ts";
import {
  addRecipe,
  deleteHost,
  getHost,
  listHosts,
  putCookies,
  putHost,
  removeRecipe,
  setLoginRecipe,
  syncCookies,
} from "../registries/hosts.ts";
import { idempotent } from "./idempotent.ts";
import { HostParams, IdempotencyHeader, RecipeParams } from "./params.ts";

const tags = ["hosts"];

/** Hosts, their recipes and cookies (fleet spec §2.7, §4.4; design/api.md). */
export function hostRoutes(ctx: HubContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const headers = IdempotencyHeader;
  const writeFails = fails(400, 409, 413, 415, 422, 503);
  const list = createRoute({
    method: "get",
    path: "/hosts",
    tags,
    summary: "List all hosts with their settings",
    responses: { ...ok(HostList), ...fails(503) },
  });
  const read = createRoute({
    method: "get",
    path: "/hosts/{host}",
    tags,
    summary: "Read all recipes and settings of a host",
    request: { params: HostParams },
    responses: { ...ok(Host), ...fails(404, 503) },
  });
  const put = createRoute({
    method: "put",
    path: "/hosts/{host}",
    tags,
    summary: "Replace all settings of a host; without cookies those stay",
    middleware,
    request: { params: HostParams, headers, ...json(PutHost) },
    responses: { ...ok(Host), ...writeFails },
  });
  const remove = createRoute({
    method: "delete",
    path: "/hosts/{host}",
    tags,
    summary: "Forget a host with its recipes and cookies",
    middleware,
    request: { params: HostParams, headers },
    responses: { 204: { description: "Forgotten" }, ...fails(404, 409, 413, 422, 503) },
  });
  const append = createRoute({
    method: "post",
    path: "/hosts/{host}/recipes",
    tags,
    summary: "Append a recipe; the host is made when it is not there",
    middleware,
    request: { params: HostParams, headers, ...json(Recipe) },
    responses: { 201: ok(Host, "Appended")[200], ...writeFails },
  });
  const removeOne = createRoute({
    method: "delete",
    path: "/hosts/{host}/recipes/{index}",
    tags,
    summary: "Remove the recipe at an index, counted from 0",
    middleware,
    request: { params: RecipeParams, headers },
    responses: { ...ok(Host), ...fails(404, 409, 413, 422, 503) },
  });
  const login = createRoute({
    method: "put",
    path: "/hosts/{host}/login_recipe",
    tags,
    summary: "Set the login recipe; the host is made when it is not there",
    middleware,
    request: { params: HostParams, headers, ...json(LoginRecipe) },
    responses: { ...ok(Host), ...writeFails },
  });
  const cookies = createRoute({
    method: "put",
    path: "/hosts/{host}/cookies",
    tags,
    summary: "Replace the cookies of a host; the value *** keeps a stored one",
    middleware,
    request: { params: HostParams, headers, ...json(PutHostCookies) },
    responses: { ...ok(Host), ...writeFails },
  });
  const sync = createRoute({
    method: "post",
    path: "/hosts/cookies/sync",
    tags,
    summary: "Add or replace cookies, as the browser extension does",
    middleware,
    request: { headers, ...json(SyncCookies) },
    responses: { ...ok(SyncedCookies), ...writeFails },
  });
  return newApp()
    .openapi(list, async (c) => c.json({ hosts: await listHosts(ctx) }, 200))
    .openapi(read, async (c) => c.json(await getHost(ctx, c.req.valid("param").host), 200))
    .openapi(put, async (c) =>
      c.json(await putHost(ctx, c.req.valid("param").host, c.req.valid("json")), 200),
    )
    .openapi(remove, async (c) => {
      await deleteHost(ctx, c.req.valid("param").host);
      return c.body(null, 204);
    })
    .openapi(append, async (c) =>
      c.json(await addRecipe(ctx, c.req.valid("param").host, c.req.valid("json")), 201),
    )
    .openapi(removeOne, async (c) => {
      const { host, index } = c.req.valid("param");
      return c.json(await removeRecipe(ctx, host, index), 200);
    })
    .openapi(login, async (c) =>
      c.json(await setLoginRecipe(ctx, c.req.valid("param").host, c.req.valid("json")), 200),
    )
    .openapi(cookies, async (c) =>
      c.json(await putCookies(ctx, c.req.valid("param").host, c.req.valid("json").cookies), 200),
    )
    .openapi(sync, async (c) =>
      c.json({ hosts: await syncCookies(ctx, c.req.valid("json")) }, 200),
    );
}
