import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { Host } from "#shared/protocol/schema/host.ts";
import { LoginRecipe, Recipe } from "#shared/protocol/schema/recipe.ts";
import type { FleetContext } from "../context.ts";
import { addRecipe, removeRecipe, setLoginRecipe } from "../registries/hosts.ts";
import { idempotent } from "./idempotent.ts";
import { HostParams, IdempotencyHeader, RecipeParams } from "./params.ts";

const tags = ["hosts"];
export const RECIPE_EXAMPLE = {
  pattern: "/gallery/*",
  actions: [
    { kind: "click" as const, selector: "#more" },
    { kind: "scroll" as const, amount: 3000 },
  ],
};

/** What is done on the pages of a host (rules/hosts#host-record). */
export function hostRecipeRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const headers = IdempotencyHeader;
  const writeFails = fails(400, 409, 413, 415, 422, 503);
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
    request: { params: HostParams, headers, ...json(Recipe, RECIPE_EXAMPLE) },
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
  return newApp()
    .openapi(append, async (c) =>
      c.json(await addRecipe(ctx, c.req.valid("param").host, c.req.valid("json")), 201),
    )
    .openapi(removeOne, async (c) => {
      const { host, index } = c.req.valid("param");
      return c.json(await removeRecipe(ctx, host, index), 200);
    })
    .openapi(login, async (c) =>
      c.json(await setLoginRecipe(ctx, c.req.valid("param").host, c.req.valid("json")), 200),
    );
}
