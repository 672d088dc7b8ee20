import { createRoute, z } from "@hono/zod-openapi";
import type { HubContext } from "../context.ts";
import { newApp } from "../http/new-app.ts";
import { ok } from "../http/openapi-parts.ts";

const index = createRoute({
  method: "get",
  path: "/",
  tags: ["health"],
  summary: "Where to go from here",
  description: "A small index: the API's explorer, its description and the demo page.",
  responses: {
    ...ok(
      z
        .object({
          name: z.string(),
          version: z.string(),
          links: z.record(z.string(), z.string()),
        })
        .openapi("Index"),
    ),
  },
});

export const rootRoutes = (ctx: HubContext) =>
  newApp().openapi(index, (c) =>
    c.json(
      {
        name: "flotilla",
        version: ctx.version,
        links: {
          docs: "/docs",
          openapi: "/openapi.json",
          health: "/health",
          jobs: "/jobs",
          workers: "/workers",
        },
      },
      200,
    ),
  );
