import type { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { type PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import type { FleetContext } from "../context.ts";
import type { Entry, PutEntry, Registry } from "../registries/slugs.ts";
import type { IdempotentContext } from "./idempotent.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, SlugParams } from "./params.ts";

/** A registry with its texts in the API. */
export interface OfferedRegistry<Fields = object, Query extends PageQuery = PageQuery> {
  registry: Registry<Fields, Query>;
  /** What one entry is called, with a capital letter: the calls are `listPresets`, `getPreset`, `putPreset` and `deletePreset`. */
  name: string;
  /** Its path, the key of its list, its tag, and what pages read again after a change. */
  many: "presets" | "skills" | "conventions";
  entry: z.ZodType<Entry<Fields>>;
  list: { query: z.ZodObject & z.ZodType<Query>; answer: z.ZodType; description: string };
  put: { body: z.ZodType<PutEntry<Fields>>; example: Partial<Fields>; description: string };
}

/** The four calls of a registry (rules/library#registry-calls). */
export function registryRoutes(ctx: FleetContext, offered: OfferedRegistry) {
  const { registry, many } = offered;
  const docs = registryDocs(ctx, offered);
  return newApp()
    .openapi(docs.list, async (c) => {
      const query = c.req.valid("query");
      const all = await registry.list(ctx, query);
      const { page, next_cursor } = pageOf(all, ({ slug }) => slug, query);
      return c.json({ [many]: page, next_cursor }, 200);
    })
    .openapi(docs.read, async (c) =>
      c.json(await registry.get(ctx, c.req.valid("param").slug), 200),
    )
    .openapi(docs.put, async (c) =>
      c.json(await registry.put(ctx, c.req.valid("param").slug, c.req.valid("json")), 200),
    )
    .openapi(docs.remove, async (c) => {
      await registry.delete(ctx, c.req.valid("param").slug);
      return c.body(null, 204);
    });
}

function registryDocs(ctx: IdempotentContext, { name, many, entry, list, put }: OfferedRegistry) {
  const one = name.toLowerCase();
  const tags = [many];
  const reads = { method: "get" as const, access: "view" as const, tags };
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const writes = { access: "operate" as const, changes: [many], tags, middleware };
  const params = SlugParams;
  const headers = IdempotencyHeader;
  return {
    list: createRoute({
      ...reads,
      path: `/${many}`,
      operationId: `list${name}s`,
      summary: `List all ${many}`,
      description: list.description,
      request: { query: list.query },
      responses: { ...ok(list.answer), ...fails(422, 503) },
    }),
    read: createRoute({
      ...reads,
      path: `/${many}/{slug}`,
      operationId: `get${name}`,
      summary: `Read a ${one}`,
      description: "As it was stored.",
      request: { params },
      responses: { ...ok(entry), ...fails(404, 503) },
    }),
    put: createRoute({
      ...writes,
      method: "put",
      path: `/${many}/{slug}`,
      operationId: `put${name}`,
      summary: `Create or replace a ${one}`,
      description: put.description,
      request: { params, headers, ...json(put.body, put.example) },
      responses: { ...ok(entry), ...fails(400, 409, 413, 415, 422, 503) },
    }),
    remove: createRoute({
      ...writes,
      method: "delete",
      path: `/${many}/{slug}`,
      operationId: `delete${name}`,
      summary: `Delete a ${one}`,
      description: "Jobs that were already submitted do not change.",
      request: { params, headers },
      responses: { 204: { description: "Deleted" }, ...fails(404, 409, 413, 422, 503) },
    }),
  };
}
