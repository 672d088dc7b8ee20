import { createRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { SearchQuery, SearchResult } from "#shared/protocol/schema/search.ts";
import type { FleetContext } from "../context.ts";
import { searchFleet } from "../search/search-fleet.ts";

const search = createRoute({
  method: "get",
  path: "/search",
  access: "view",
  tags: ["search"],
  operationId: "searchFleet",
  summary: "Find jobs, sessions, workers, hosts and what else the fleet knows by a few words",
  description:
    "Best first. Jobs are found by id and by words of their title, URL, error, labels and answer, others by their names. " +
    "`incomplete` names kinds that could not be searched in time.",
  request: { query: SearchQuery },
  responses: { ...ok(SearchResult), ...fails(422, 503) },
});

/** Search in the fleet (rules/search#calls). */
export const searchRoutes = (ctx: FleetContext) =>
  newApp().openapi(search, async (c) => c.json(await searchFleet(ctx, c.req.valid("query")), 200));
