import { createRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { Figures, FiguresQuery } from "#shared/protocol/schema/figures.ts";
import type { FleetContext } from "../context.ts";
import { getFigures } from "../figures/figures.ts";

const figures = createRoute({
  method: "get",
  path: "/figures",
  access: "view",
  tags: ["figures"],
  operationId: "getFigures",
  summary: "Read what the fleet does, what went wrong and why",
  description:
    "Captures over time by what became of them, hosts that fail or are slow, lanes, queue, storage, and the problems that " +
    "keep captures from going well, the worst first. Everything the first page of the app needs of the fleet in one call; " +
    "an answer is used again for a few seconds.",
  request: { query: FiguresQuery },
  responses: { ...ok(Figures), ...fails(422, 503) },
});

/** GET /figures (rules/figures#figures-of-the-fleet). */
export const figuresRoutes = (ctx: FleetContext) =>
  newApp().openapi(figures, async (c) =>
    c.json(await getFigures(ctx, c.req.valid("query").range), 200),
  );
