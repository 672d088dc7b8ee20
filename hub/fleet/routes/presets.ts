import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import { Preset, PresetList, PutPreset } from "#shared/protocol/schema/preset.ts";
import type { FleetContext } from "../context.ts";
import { deletePreset, getPreset, listPresets, putPreset } from "../registries/presets.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, SlugParams } from "./params.ts";

const tags = ["presets"];
const params = SlugParams;
const headers = IdempotencyHeader;

/** Presets: named options for POST /jobs (rules/library#presets). */
export function presetRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const list = createRoute({
    ...{ method: "get", path: "/presets", tags },
    access: "view",
    operationId: "listPresets",
    summary: "List all presets",
    description: "By slug.",
    request: { query: PageQuery },
    responses: { ...ok(PresetList), ...fails(422, 503) },
  });
  const read = createRoute({
    ...{ method: "get", path: "/presets/{slug}", tags },
    access: "view",
    operationId: "getPreset",
    summary: "Read a preset",
    description: "As it was stored.",
    request: { params },
    responses: { ...ok(Preset), ...fails(404, 503) },
  });
  const put = createRoute({
    ...{ method: "put", path: "/presets/{slug}", tags, middleware },
    access: "operate",
    changes: ["presets"],
    operationId: "putPreset",
    summary: "Create or replace a preset",
    description:
      "`options` are some of JobOptions. What a mode requires (a goal, a script) may be left to the job.",
    request: {
      params,
      headers,
      ...json(PutPreset, { name: "Long page", options: { scroll: true, scroll_max: 20_000 } }),
    },
    responses: { ...ok(Preset), ...fails(400, 409, 413, 415, 422, 503) },
  });
  const remove = createRoute({
    ...{ method: "delete", path: "/presets/{slug}", tags, middleware },
    access: "operate",
    changes: ["presets"],
    operationId: "deletePreset",
    summary: "Delete a preset",
    description: "Jobs that were already submitted do not change.",
    request: { params, headers },
    responses: { 204: { description: "Deleted" }, ...fails(404, 409, 413, 422, 503) },
  });
  return newApp()
    .openapi(list, async (c) => {
      const { page, next_cursor } = pageOf(
        await listPresets(ctx),
        ({ slug }) => slug,
        c.req.valid("query"),
      );
      return c.json({ presets: page, next_cursor }, 200);
    })
    .openapi(read, async (c) => c.json(await getPreset(ctx, c.req.valid("param").slug), 200))
    .openapi(put, async (c) =>
      c.json(await putPreset(ctx, c.req.valid("param").slug, c.req.valid("json")), 200),
    )
    .openapi(remove, async (c) => {
      await deletePreset(ctx, c.req.valid("param").slug);
      return c.body(null, 204);
    });
}
