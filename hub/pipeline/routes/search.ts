import { createRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { SearchQuery, SearchResult } from "#shared/protocol/schema/search.ts";
import type { PipelineContext } from "../context.ts";
import { searchPipeline } from "../search/search-pipeline.ts";

const search = createRoute({
  method: "get",
  path: "/api/v1/search",
  access: "view",
  tags: ["search"],
  operationId: "searchPipeline",
  summary: "Find workloads, tasks, runs, pull workers and host agents by a few words",
  description:
    "Best first. Tasks are found by key and label, runs by number, key, label and words of their error, others by their names. " +
    "`incomplete` names kinds that could not be searched in time.",
  request: { query: SearchQuery },
  responses: { ...ok(SearchResult), ...fails(422, 503) },
});

/** Search in the pipeline (rules/search#calls). */
export const searchRoutes = (ctx: PipelineContext) =>
  newApp().openapi(search, async (c) =>
    c.json(await searchPipeline(ctx, c.req.valid("query")), 200),
  );
