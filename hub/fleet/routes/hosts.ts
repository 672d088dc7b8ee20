import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import {
  Host,
  HostList,
  PutHost,
  PutHostCookies,
  SyncCookies,
  SyncedCookies,
} from "#shared/protocol/schema/host.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import { LoginRecipe, Recipe } from "#shared/protocol/schema/recipe.ts";
import type { FleetContext } from "../context.ts";
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
const RECIPE = {
  pattern: "/gallery/*",
  actions: [
    { kind: "click" as const, selector: "#more" },
    { kind: "scroll" as const, amount: 3000 },
  ],
};
const COOKIE = { name: "sid", value: "abc123", domain: "example.org" };

/** Hosts, their recipes and cookies (rules/hosts#host-record). */
export function hostRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const headers = IdempotencyHeader;
  const writeFails = fails(400, 409, 413, 415, 422, 503);
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
      ...json(PutHost, { recipes: [RECIPE], popup_policy: "block" }),
    },
    responses: { ...ok(Host), ...writeFails },
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
  const append = createRoute({
    method: "post",
    path: "/hosts/{host}/recipes",
    access: "operate",
    changes: ["hosts"],
    tags,
    operationId: "addHostRecipe",
    summary: "Append a recipe; creates the host when it does not exist",
    description: "`pattern` is a glob on the path of a URL; the longest one that matches runs.",
    middleware,
    request: { params: HostParams, headers, ...json(Recipe, RECIPE) },
    responses: { 201: ok(Host, "Appended")[200], ...writeFails },
  });
  const removeOne = createRoute({
    method: "delete",
    path: "/hosts/{host}/recipes/{index}",
    access: "operate",
    changes: ["hosts"],
    tags,
    operationId: "deleteHostRecipe",
    summary: "Remove the recipe at an index, counted from 0",
    description: "The recipes after it move up.",
    middleware,
    request: { params: RecipeParams, headers },
    responses: { ...ok(Host), ...fails(404, 409, 413, 422, 503) },
  });
  const login = createRoute({
    method: "put",
    path: "/hosts/{host}/login_recipe",
    access: "operate",
    changes: ["hosts"],
    tags,
    operationId: "setHostLoginRecipe",
    summary: "Set the login recipe; creates the host when it does not exist",
    description: "Run before a job of the host unless `logged_in` is found on the page.",
    middleware,
    request: {
      params: HostParams,
      headers,
      ...json(LoginRecipe, {
        logged_in: "#logout",
        actions: [{ kind: "click", selector: "#log-in" }],
      }),
    },
    responses: { ...ok(Host), ...writeFails },
  });
  const cookies = createRoute({
    method: "put",
    path: "/hosts/{host}/cookies",
    access: "operate",
    changes: ["hosts"],
    tags,
    operationId: "putHostCookies",
    summary: "Replace the cookies of a host; the value *** keeps a stored one",
    description: "They go to every job on that host.",
    middleware,
    request: { params: HostParams, headers, ...json(PutHostCookies, { cookies: [COOKIE] }) },
    responses: { ...ok(Host), ...writeFails },
  });
  const sync = createRoute({
    method: "post",
    path: "/hosts/cookies/sync",
    access: "operate",
    origins: "extensions",
    changes: ["hosts"],
    tags,
    operationId: "syncHostCookies",
    summary: "Add or replace cookies, as the browser extension does",
    description: "Each goes to the host of its domain; the answer counts them by host.",
    middleware,
    request: { headers, ...json(SyncCookies, { scope: "all", cookies: [COOKIE] }) },
    responses: { ...ok(SyncedCookies), ...writeFails },
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
