import { createRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { JobComparison } from "#shared/protocol/schema/comparison.ts";
import type { FleetContext } from "../context.ts";
import { ComparisonParams } from "./params.ts";

/** What two jobs captured, compared (rules/comparison#compare-two-jobs). */
export function comparisonRoutes(ctx: Pick<FleetContext, "comparisons">) {
  const route = createRoute({
    method: "get",
    path: "/jobs/{id}/diff/{other}",
    access: "view",
    tags: ["job files"],
    operationId: "compareJobs",
    summary: "Compare what two completed jobs captured",
    description:
      "From job `id` to job `other`: title, final URL, HTTP status and visible text of the page, and the assets that are new, gone, changed and unchanged. URLs match exactly, else without parameters that change with every visit. Lists and texts are bounded; the answer says where they are cut.",
    request: { params: ComparisonParams },
    responses: { ...ok(JobComparison), ...fails(404, 409, 503, 504) },
  });
  return newApp().openapi(route, async (c) => {
    const { id, other } = c.req.valid("param");
    return c.json(await ctx.comparisons.byId(id, other), 200);
  });
}
