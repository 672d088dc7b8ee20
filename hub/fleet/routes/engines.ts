import { z } from "@hono/zod-openapi";
import { trustedOnly } from "#hub/platform/http/admit.ts";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { Engine, EngineList, PutEngine, ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import type { FleetContext } from "../context.ts";
import {
  deleteEngine,
  getEngine,
  listEngines,
  promoteEngine,
  putEngine,
} from "../registries/engine-records.ts";
import { ENGINE_PURPOSES, resolveEngine } from "../registries/engines.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, SlugParams } from "./params.ts";

const tags = ["engines"];
const params = SlugParams;
const headers = IdempotencyHeader;
const ENGINE = {
  name: "Local model",
  endpoint: "http://127.0.0.1:11434",
  model: "qwen3:8b",
  use_for_codegen: true,
};

const docs = {
  list: createRoute({
    method: "get",
    path: "/engines",
    tags,
    access: "view",
    operationId: "listEngines",
    summary: "List all engines",
    description:
      "The promoted one has `promoted: true`. Keys are never shown, only the names of their variables.",
    request: { query: PageQuery },
    responses: { ...ok(EngineList), ...fails(422, 503) },
  }),
  read: createRoute({
    method: "get",
    path: "/engines/{slug}",
    tags,
    access: "view",
    operationId: "getEngine",
    summary: "Read an engine",
    description: "As it was stored, without its key.",
    request: { params },
    responses: { ...ok(Engine), ...fails(404, 503) },
  }),
  resolve: createRoute({
    method: "get",
    path: "/engines/{slug}/resolve",
    tags,
    access: "worker",
    operationId: "resolveEngine",
    summary: "Everything a worker needs to call an engine, including its key",
    description:
      "With X-Worker-Secret when WORKER_SECRET is set. `auto` is the promoted engine, else the only one; `default` " +
      "is the one used where none is named. 422 when the variable that holds its key is not set.",
    request: {
      params,
      query: z.object({
        purpose: z
          .enum(ENGINE_PURPOSES)
          .default("ask")
          .openapi({ description: "What the engine should do; decides what `default` is" }),
      }),
      headers: z.object({ "x-worker-secret": z.string().optional() }),
    },
    responses: { ...ok(ResolvedEngine), ...fails(401, 403, 404, 422, 503) },
  }),
};

/** Engines, the AI backends (rules/engines#engine-calls). */
export function engineRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const put = createRoute({
    method: "put",
    path: "/engines/{slug}",
    tags,
    middleware,
    access: "operate",
    admin_for: "api_key_env",
    changes: ["engines"],
    operationId: "putEngine",
    summary: "Create or replace an engine",
    description:
      "`endpoint` is a base URL: /v1/chat/completions is appended unless it ends with /chat/completions. `api_key_env` is " +
      "the name of a variable of the hub, never a key.",
    request: { params, headers, ...json(PutEngine, ENGINE) },
    responses: { ...ok(Engine), ...fails(400, 409, 413, 415, 422, 503) },
  });
  const remove = createRoute({
    method: "delete",
    path: "/engines/{slug}",
    tags,
    middleware,
    access: "operate",
    changes: ["engines"],
    operationId: "deleteEngine",
    summary: "Delete an engine",
    description: "When the promoted engine is deleted, none is promoted.",
    request: { params, headers },
    responses: { 204: { description: "Deleted" }, ...fails(404, 409, 413, 422, 503) },
  });
  const promote = createRoute({
    method: "post",
    path: "/engines/{slug}/promote",
    tags,
    middleware,
    access: "operate",
    changes: ["engines"],
    operationId: "promoteEngine",
    summary: "Make this the engine that `auto` prefers",
    description: "No other engine stays promoted.",
    request: { params, headers },
    responses: { ...ok(Engine), ...fails(404, 409, 413, 422, 503) },
  });
  return newApp()
    .openapi(docs.list, async (c) => {
      const { page, next_cursor } = pageOf(
        await listEngines(ctx),
        ({ slug }) => slug,
        c.req.valid("query"),
      );
      return c.json({ engines: page, next_cursor }, 200);
    })
    .openapi(docs.read, async (c) => c.json(await getEngine(ctx, c.req.valid("param").slug), 200))
    .openapi(put, async (c) => {
      const engine = c.req.valid("json");
      // The caller who names the endpoint decides where the key is sent.
      if (engine.api_key_env) await trustedOnly(c, ctx);
      return c.json(await putEngine(ctx, c.req.valid("param").slug, engine), 200);
    })
    .openapi(remove, async (c) => {
      await deleteEngine(ctx, c.req.valid("param").slug);
      return c.body(null, 204);
    })
    .openapi(promote, async (c) => c.json(await promoteEngine(ctx, c.req.valid("param").slug), 200))
    .openapi(docs.resolve, async (c) => {
      c.header("Cache-Control", "no-store");
      const { slug } = c.req.valid("param");
      return c.json(await resolveEngine(ctx, slug, c.req.valid("query").purpose), 200);
    });
}
