import { invalid } from "#shared/kit/errors.ts";
import type { JobOptions, SubmitJob } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { hostForJob } from "../registries/hosts.ts";
import { findRecipe } from "../registries/recipe-match.ts";
import { usesRecipes } from "./extras.ts";

/**
 * The options with what the host registry decides at submission: the matching recipe, which the record then shows as
 * `fetch_recipe` (rules/recipes#chosen-at-submission), however the registry changes before a lane is free.
 * @throws AppError invalid naming cookies_from when there is nothing to inject.
 */
export async function withHostOptions(
  ctx: Pick<FleetContext, "db" | "clock">,
  { options, url }: SubmitJob,
): Promise<JobOptions> {
  const from = options.cookies_from;
  if (from !== null && (await hostForJob(ctx, from)).cookies.length === 0)
    throw invalid(
      ["body", "options", "cookies_from"],
      "names a host without cookies: push some with the extension or PUT /hosts/{host}/cookies",
    );
  if (!usesRecipes(options)) return options;
  const { settings } = await hostForJob(ctx, new URL(url).hostname);
  return settings === null
    ? options
    : { ...options, fetch_recipe: findRecipe(settings.recipes, url) };
}
