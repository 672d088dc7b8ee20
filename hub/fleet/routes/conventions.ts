import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { Convention, ConventionList, PutConvention } from "#shared/protocol/schema/convention.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import type { FleetContext } from "../context.ts";
import {
  deleteConvention,
  getConvention,
  listConventions,
  putConvention,
} from "../registries/conventions.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, SlugParams } from "./params.ts";

const tags = ["conventions"];
const params = SlugParams;
const headers = IdempotencyHeader;

/** Conventions: house rules that the planner is given while they are enabled (rules/library#conventions). */
export function conventionRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const list = createRoute({
    ...{ method: "get", path: "/conventions", tags },
    access: "view",
    operationId: "listConventions",
    summary: "List all conventions",
    description: "By slug.",
    request: { query: PageQuery },
    responses: { ...ok(ConventionList), ...fails(422, 503) },
  });
  const read = createRoute({
    ...{ method: "get", path: "/conventions/{slug}", tags },
    access: "view",
    operationId: "getConvention",
    summary: "Read a convention",
    description: "As it was stored.",
    request: { params },
    responses: { ...ok(Convention), ...fails(404, 503) },
  });
  const put = createRoute({
    ...{ method: "put", path: "/conventions/{slug}", tags, middleware },
    access: "operate",
    changes: ["conventions"],
    operationId: "putConvention",
    summary: "Create or replace a convention",
    description: "A convention that is not enabled is kept, but the planner does not get it.",
    request: {
      params,
      headers,
      ...json(PutConvention, {
        title: "Prices",
        text: "Give prices as numbers, without a currency sign.",
      }),
    },
    responses: { ...ok(Convention), ...fails(400, 409, 413, 415, 422, 503) },
  });
  const remove = createRoute({
    ...{ method: "delete", path: "/conventions/{slug}", tags, middleware },
    access: "operate",
    changes: ["conventions"],
    operationId: "deleteConvention",
    summary: "Delete a convention",
    description: "Jobs that were already submitted do not change.",
    request: { params, headers },
    responses: { 204: { description: "Deleted" }, ...fails(404, 409, 413, 422, 503) },
  });
  return newApp()
    .openapi(list, async (c) => {
      const { page, next_cursor } = pageOf(
        await listConventions(ctx),
        ({ slug }) => slug,
        c.req.valid("query"),
      );
      return c.json({ conventions: page, next_cursor }, 200);
    })
    .openapi(read, async (c) => c.json(await getConvention(ctx, c.req.valid("param").slug), 200))
    .openapi(put, async (c) =>
      c.json(await putConvention(ctx, c.req.valid("param").slug, c.req.valid("json")), 200),
    )
    .openapi(remove, async (c) => {
      await deleteConvention(ctx, c.req.valid("param").slug);
      return c.body(null, 204);
    });
}
